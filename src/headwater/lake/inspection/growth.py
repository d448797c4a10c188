"""How a table grew: bytes and rows of its newest state after each commit, from what the commits tell."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from headwater.errors import LakeError
from headwater.lake.inspection.actions import iter_write_stats, list_replaced
from headwater.lake.inspection.file_names import parse_data_file_name
from headwater.lake.inspection.timeline import TableTimeline
from headwater.lake.layout import TableAddress
from headwater.lake.timeline.files import Metadata
from headwater.lake.timeline.instants import Instant, parse_time, sort_by_completion


@dataclass(frozen=True, slots=True)
class GrowthPoint:
    """The table after one commit: what a snapshot read then, older states not counted.

    `rows_are_exact` is false once a log holds rows of which Hudi does not say whether they are new.
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
    """A point a commit, oldest first, archived ones included; `problems` are the commits that cannot be read,
    which the points do not count."""

    points: tuple[GrowthPoint, ...]
    problems: tuple[str, ...]


def read_growth(address: TableAddress) -> Growth:
    """Reads every commit, archived ones too. Raises `TableNotFoundError`, `TableUnsupportedError` and
    `LakeError`."""
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
    """The file groups of the newest state, as the commits seen so far have left them."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str, str], _Group] = {}

    def apply(self, instant: Instant, metadata: Metadata) -> None:
        """Take the next commit, in order of completion."""
        for replaced in list_replaced(metadata):
            self._groups.pop(replaced, None)
        for partition, stat in iter_write_stats(metadata):
            name = parse_data_file_name(stat["path"].rpartition("/")[2])
            if name is None:
                continue
            group = self._groups.setdefault((partition, name.file_id), _Group())
            if name.kind == "base":
                group.size, group.rows = _count(stat, "fileSizeInBytes"), _count(stat, "numWrites")
                # What was written while a compaction ran is not in the base file that it made.
                group.logs = [log for log in group.logs if log.completed > name.instant]
            elif name.kind == "log":
                group.logs.append(_build_log(instant, stat))

    def build_point(self, instant: Instant, metadata: Metadata, zone: str) -> GrowthPoint:
        """The sums now."""
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
    # An update in a log may be of a key that is new, a delete of one that is not there: a bucket index does
    # not look.
    is_exact = not _count(stat, "numUpdateWrites") and not deleted
    return _Log(instant.completed, _count(stat, "fileSizeInBytes"), inserted - deleted, is_exact)


def _count(stat: Mapping[str, Any], name: str) -> int:
    return stat.get(name) or 0
