"""Where one table lies and how it is reached: what everything that looks after a table is given."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headwater.lake.layout import find_table

if TYPE_CHECKING:
    from headwater.config.settings import Settings


@dataclass(frozen=True, slots=True)
class TableAddress:
    """`storage_options` are those of readers without a JVM; empty for a folder."""

    name: str
    path: str
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)


def find_address(settings: "Settings", name: str) -> TableAddress:
    """The address of a table of the configuration, or of one of headwater's own (`events`, `ledger`, ...).

    Raises `UsageError` with the nearest name for an unknown one.
    """
    from headwater.lake.s3 import build_storage_options

    path = find_table(settings, name)
    return TableAddress(name, path, build_storage_options(settings.lake, settings.lake_storage))
