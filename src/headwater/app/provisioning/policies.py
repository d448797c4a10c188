"""The permissions that a configuration needs, by role."""

from collections.abc import Mapping

from headwater.app.scope import choose_sources
from headwater.config.settings import Settings
from headwater.errors import UsageError
from headwater.sources import registry
from headwater.sources.provisioner import Role


def build_policies(settings: Settings, only: str = "") -> Mapping[Role, Mapping[str, object]]:
    """Return IAM policies of AWS, or permissions of Google's custom roles, by role, of one source.

    An unknown account, region or project is `*`. Raises `UsageError` for another source,
    and for several sources unless `only` names one: they may be in different accounts.
    """
    chosen = choose_sources(settings, only)
    if len(chosen) > 1:
        names = ", ".join(str(source.name) for source in chosen)
        raise UsageError("there are several sources", hint=f"choose one with --source: {names}")
    return registry.build_policies(chosen[0], settings.lake)
