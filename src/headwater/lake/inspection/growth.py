"""The growth of a table: bytes and rows of the latest snapshot after each commit, from commit metadata."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from headwater.errors import LakeError
from headwater.lake.inspection.actions import iter_write_stats, list_replaced
from headwater.lake.inspection.file_names import parse_data_file_name
from headwater.lake.inspection.timeline import TableTimeline
from headwater.lake.layout import TableAddress
from headwater.lake.timeline.file_layout import Metadata
from headwater.lake.timeline.instants import Instant, parse_time, sort_by_completion


@dataclass(frozen=True, slots=True)
class GrowthPoint:
    """The size of the snapshot after one commit, without older file slices.

    `rows_are_exact` is false once a log contains rows that may be inserts or updates.
    """

    instant: str
    completed_at: datetime | None
    operation: str | None
    bytes: int
    rows: int
    rows_are_exact: bool
    file_groups: int


@dataclass(frozen=True, slots=True)
class Growth:
    """One point per commit, oldest first, including archived commits. `problems` are unreadable commits,
    which the points omit."""

    points: tuple[GrowthPoint, ...]
    problems: tuple[str, ...]


def read_growth(address: TableAddress) -> Growth:
    """Read the growth from all commits, including archived ones.

    Raises `TableNotFoundError`, `TableUnsupportedError` and `LakeError`.
    """
    timeline = TableTimeline(address)
    archived = [i for i in timeline.archived if i.is_write]
    found = timeline.read_metadata(sort_by_completion([*archived, *timeline.completed_writes]))
    state = _State()
    points, problems = [], []
    for instant, metadata in found.items():
        if isinstance(metadata, LakeError):
            problems.append(metadata.message)
            continue
        state.apply(instant, metadata)
        points.append(state.build_point(instant, metadata, timeline.zone))
    return Growth(tuple(points), tuple(problems))


@dataclass(slots=True)
class _Log:
    completed: str
    size: int
    rows_added: int
    is_exact: bool


@dataclass(slots=True)
class _Group:
    size: int = 0
    rows: int = 0
    logs: list[_Log] = field(default_factory=list)


class _State:
    """The file groups of the snapshot after the commits applied so far."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str, str], _Group] = {}

    def apply(self, instant: Instant, metadata: Metadata) -> None:
        """Apply the next commit, in order of completion."""
        for replaced in list_replaced(metadata):
            self._groups.pop(replaced, None)
        for partition, stat in iter_write_stats(metadata):
            name = parse_data_file_name(stat["path"].rpartition("/")[2])
            if name is None:
                continue
            group = self._groups.setdefault((partition, name.file_id), _Group())
            if name.kind == "base":
                group.size, group.rows = _count(stat, "fileSizeInBytes"), _count(stat, "numWrites")
                # The compacted base file lacks rows that were written while the compaction ran.
                group.logs = [log for log in group.logs if log.completed > name.instant]
            elif name.kind == "log":
                group.logs.append(_build_log(instant, stat))

    def build_point(self, instant: Instant, metadata: Metadata, zone: str) -> GrowthPoint:
        """Return the current sums."""
        groups = self._groups.values()
        logs = [log for group in groups for log in group.logs]
        operation = metadata.get("operationType")
        return GrowthPoint(
            instant=instant.requested,
            completed_at=parse_time(instant.completed, zone),
            operation=str(operation).lower() if operation else None,
            bytes=sum(group.size for group in groups) + sum(log.size for log in logs),
            rows=sum(group.rows for group in groups) + sum(log.rows_added for log in logs),
            rows_are_exact=all(log.is_exact for log in logs),
            file_groups=len(groups),
        )


def _build_log(instant: Instant, stat: Mapping[str, Any]) -> _Log:
    inserted, deleted = _count(stat, "numInserts"), _count(stat, "numDeletes")
    # A bucket index does not look up keys. An update in a log may insert a new key, and a delete may name an
    # absent one.
    is_exact = not _count(stat, "numUpdateWrites") and not deleted
    return _Log(instant.completed, _count(stat, "fileSizeInBytes"), inserted - deleted, is_exact)


def _count(stat: Mapping[str, Any], name: str) -> int:
    return stat.get(name) or 0
