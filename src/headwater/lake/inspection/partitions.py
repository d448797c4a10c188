"""Summarizes a table's partitions: bytes, rows, files and last write."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from headwater.lake.inspection.layout import FileSlice, TableLayout, read_layout
from headwater.lake.inspection.timeline import TableTimeline
from headwater.lake.layout import TableAddress
from headwater.lake.options import DEFAULT_SMALL_FILE_LIMIT
from headwater.lake.timeline.instants import parse_time


@dataclass(frozen=True, slots=True)
class PartitionSummary:
    """The latest snapshot of one partition; `partition` is its relative path, empty without partitions.

    `rows` is None if unknown without reading logs, or if a file lacks the count. `last_instant` is the
    requested time of the action that wrote the newest file.
    """

    partition: str
    rows: int | None
    bytes: int
    file_groups: int
    log_files: int
    small_files: int
    last_instant: str
    last_written_at: datetime | None


def list_partitions(
    address: TableAddress, *, merged: bool = False, small_file_limit: int = DEFAULT_SMALL_FILE_LIMIT
) -> list[PartitionSummary]:
    """List partitions with current files by name; reads the footers of base files.

    `merged` also reads slices with logs in full. Raises `TableNotFoundError`, `TableUnsupportedError` and
    `LakeError`.
    """
    layout = read_layout(address, rows=True, merged=merged, small_file_limit=small_file_limit)
    return build_partitions(layout, TableTimeline(address).zone)


def build_partitions(layout: TableLayout, zone: str) -> list[PartitionSummary]:
    """Summarize partitions from the current slices of a layout; `zone` is the zone of its instants."""
    slices: dict[str, list[FileSlice]] = {}
    for one in layout.slices:
        if one.state == "current":
            slices.setdefault(one.partition, []).append(one)
    return [_build_partition(name, found, zone) for name, found in sorted(slices.items())]


def _build_partition(name: str, slices: Sequence[FileSlice], zone: str) -> PartitionSummary:
    rows = [one.rows for one in slices]
    known = [count for count in rows if count is not None]
    newest = max(file.instant for one in slices for file in one.files)
    return PartitionSummary(
        partition=name,
        rows=sum(known) if len(known) == len(rows) else None,
        bytes=sum(one.bytes for one in slices),
        file_groups=len(slices),
        log_files=sum(len(one.log_files) for one in slices),
        small_files=sum(one.is_small for one in slices),
        last_instant=newest,
        last_written_at=parse_time(newest, zone),
    )
