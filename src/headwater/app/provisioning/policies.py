"""The IAM permissions that a configuration needs, by role."""

from collections.abc import Mapping

from headwater.config.settings import Settings
from headwater.errors import UsageError
from headwater.sources.provisioner import Role


def build_policies(settings: Settings) -> Mapping[Role, Mapping[str, object]]:
    """Return IAM policies by role (`set-up`, `ingest`, `serve`). Raises `UsageError` for another source.

    Asks AWS for the caller's identity; if unknown, account and region are `*`.
    """
    source = settings.source
    if source.type != "s3":
        raise UsageError(
            f"a source of type {source.type!r} needs no IAM policies of AWS",
            hint="only sources of type s3 need them",
        )
    from headwater.sources.s3.provisioning.provisioner import build_source_policies

    return build_source_policies(source, settings.lake)
