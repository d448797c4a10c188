"""The permissions that a configuration needs, by role."""

from collections.abc import Mapping

from headwater.config.settings import Settings
from headwater.sources import registry
from headwater.sources.provisioner import Role


def build_policies(settings: Settings) -> Mapping[Role, Mapping[str, object]]:
    """Return IAM policies of AWS, or permissions of Google's custom roles, by role.

    An unknown account, region or project is `*`. Raises `UsageError` for another source.
    """
    return registry.build_policies(settings.source, settings.lake)
