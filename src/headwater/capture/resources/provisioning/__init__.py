"""Provisioners by source type. To add one: add a file, a line in the table, one in the contract test."""

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, cast

from headwater.capture.resources.provisioning.protocol import BuildProvisioner, Provisioner, ProvisioningScope
from headwater.errors import UsageError

if TYPE_CHECKING:
    from headwater.config.source import SourceConfig

__all__ = ["Provisioner", "ProvisioningScope", "build_provisioner"]

_PROVISIONERS: Mapping[str, tuple[str, str]] = {
    "local": ("headwater.capture.resources.provisioning.local", "build_local_provisioner"),
    "s3": ("headwater.capture.resources.provisioning.aws", "build_aws_provisioner"),
}


def build_provisioner(
    source: "SourceConfig", lake: str, scope: ProvisioningScope | None = None
) -> Provisioner:
    """Builds the provisioner of a source; imports vendor libraries only when chosen.

    Raises `UsageError` for a type that has none, `ConfigError` if no region is found.
    """
    entry = _PROVISIONERS.get(source.type)
    if entry is None:
        hint = f"one of {', '.join(_PROVISIONERS)}"
        raise UsageError(f"nothing can be set up for sources of type {source.type!r}", hint=hint)
    module, function = entry
    build = cast(BuildProvisioner, getattr(import_module(module), function))
    return build(source, lake, scope or ProvisioningScope())
