"""Validates Hudi's metadata table against the files in storage, and rebuilds it."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from headwater.errors import UsageError
from headwater.lake.inspection.file_names import parse_data_file_name
from headwater.lake.jvm import explained_lake
from headwater.lake.options import TABLE_PROPERTY_KEYS, building_options, list_kept_partitions
from headwater.lake.service_table import ServiceTable

Listing = Mapping[str, int]
"""File sizes in bytes by path relative to the table."""


@dataclass(frozen=True, slots=True)
class MetadataCheck:
    """The result of a validation; `files` counts the files in the metadata table.

    All paths are relative to the table. `lost` are listed but not stored. `unknown` are stored by a completed
    write but not listed. `resized` differ in size.
    """

    files: int
    lost: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    resized: tuple[str, ...] = ()

    @property
    def is_good(self) -> bool:
        """True if the metadata table matches the stored files."""
        return not (self.lost or self.unknown or self.resized)


@dataclass(frozen=True, slots=True)
class MetadataBuilt:
    """The partitions of the metadata table before and after a rebuild; a dry run derives the latter from the
    configuration. `seconds` is the wall-clock time."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    seconds: float = 0.0


def compare_listings(listed: Listing, stored: Listing, is_done: Callable[[str], bool]) -> MetadataCheck:
    """Compare both listings. Pure.

    `is_done` returns whether the write requested at an instant completed; files of other writes are ignored.
    """
    return MetadataCheck(
        files=len(listed),
        lost=tuple(sorted(set(listed) - set(stored))),
        unknown=tuple(sorted(path for path in set(stored) - set(listed) if _is_of(path, is_done))),
        resized=tuple(sorted(path for path in set(stored) & set(listed) if stored[path] != listed[path])),
    )


def _is_of(path: str, is_done: Callable[[str], bool]) -> bool:
    name = parse_data_file_name(path.rpartition("/")[2])
    return name is not None and is_done(name.instant)


def validate_metadata(table: ServiceTable) -> MetadataCheck:
    """Validate the metadata table; writes nothing. Raises `UsageError` if there is none, and `LakeError`."""
    if not list_metadata_partitions(table):
        raise UsageError(
            f"table {table.address.name} has no metadata table",
            hint="set `metadata_table: true` in its configuration: its writes then maintain one",
        )
    with table.open_client({}) as client:
        listed, stored = table.java.list_files(client)
    active = table.load_timeline().active
    completed = frozenset(instant.requested for instant in active if instant.state == "completed")
    first = min(completed, default="")
    return compare_listings(listed, stored, lambda instant: instant in completed or instant < first)


def rebuild_metadata(table: ServiceTable, *, dry_run: bool = False) -> MetadataBuilt:
    """Delete the metadata table, if any, and rebuild it and its indexes from the table's files.

    Raises `UsageError` for a table whose next write would delete it again, and `LakeError`.
    """
    kept = list_kept_partitions(table.extra)
    if not kept:
        raise UsageError(
            f"table {table.address.name} is configured without a metadata table: its next write would "
            "remove it",
            hint="set `metadata_table: true`",
        )
    before = list_metadata_partitions(table)
    if dry_run:
        return MetadataBuilt(before, tuple(sorted(kept | set(before))))
    started = time.monotonic()
    with table.open_client(building_options(table.extra)) as client:
        table.java.delete_metadata(client, table.load_meta_client())
    with table.open_client(building_options(table.extra)) as client:
        table.java.build_metadata(client)
    return MetadataBuilt(before, list_metadata_partitions(table), time.monotonic() - started)


def list_metadata_partitions(table: ServiceTable) -> tuple[str, ...]:
    """Return the partitions of the table's metadata table; none without one. Raises `LakeError`."""
    meta_client = table.load_meta_client()
    with explained_lake(table.address.path):
        properties = table.java.read_map(meta_client.getTableConfig().propsMap())
    text = properties.get(TABLE_PROPERTY_KEYS["metadata_partitions"], "")
    return tuple(sorted(name for name in text.split(",") if name))
