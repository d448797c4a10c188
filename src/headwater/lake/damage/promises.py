"""The files that commits recorded for the latest snapshot, with their sizes. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from headwater.lake.inspection.actions import iter_write_stats, list_replaced
from headwater.lake.inspection.file_names import parse_data_file_name
from headwater.lake.timeline.file_layout import Metadata
from headwater.lake.timeline.instants import Instant


@dataclass(frozen=True, slots=True)
class PromisedFile:
    """A file that a commit recorded and readers of the latest snapshot need.

    `path` is relative to the table, `size` is in bytes, `rows` are the rows written to it. `instant` is the
    requested time of the action.
    """

    path: str
    kind: Literal["base", "log"]
    group: tuple[str, str]
    size: int
    rows: int
    instant: str
    completed: str


@dataclass(frozen=True, slots=True)
class SkippedBlocks:
    """A compaction that skipped corrupt log blocks; `path` is its output file.

    The output lacks the contents of these blocks.
    """

    instant: str
    path: str
    blocks: int


@dataclass(slots=True)
class _Group:
    base: PromisedFile | None = None
    logs: list[PromisedFile] = field(default_factory=list)


class Promises:
    """The latest snapshot according to the commits added so far."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str, str], _Group] = {}
        self.skipped: list[SkippedBlocks] = []

    @property
    def files(self) -> list[PromisedFile]:
        """Return all files, sorted by path."""
        groups = self._groups.values()
        found = [file for group in groups for file in (group.base, *group.logs) if file is not None]
        return sorted(found, key=lambda file: file.path)

    def add(self, instant: Instant, metadata: Metadata) -> None:
        """Add the next commit, in order of completion."""
        for replaced in list_replaced(metadata):
            self._groups.pop(replaced, None)
        for partition, stat in iter_write_stats(metadata):
            if blocks := _count(stat, "totalCorruptLogBlock"):
                self.skipped.append(SkippedBlocks(instant.requested, stat["path"], blocks))
            file = _build_file(instant, partition, stat)
            if file is None:
                continue
            group = self._groups.setdefault(file.group, _Group())
            if file.kind == "log":
                _append_log(group.logs, file)
                continue
            group.base = file
            # The compacted base file lacks rows that were written while the compaction ran.
            group.logs = [log for log in group.logs if log.completed > instant.requested]


def _append_log(logs: list[PromisedFile], file: PromisedFile) -> None:
    """Append a log file; before table version 8, several commits append to one file."""
    for at, known in enumerate(logs):
        if known.path == file.path:
            logs[at] = replace(file, size=max(known.size, file.size), rows=known.rows + file.rows)
            return
    logs.append(file)


def _build_file(instant: Instant, partition: str, stat: Mapping[str, Any]) -> PromisedFile | None:
    name, size = parse_data_file_name(stat["path"].rpartition("/")[2]), _count(stat, "fileSizeInBytes")
    # Other writers may omit the size. CDC files are not part of the snapshot.
    if name is None or name.kind == "cdc" or not size:
        return None
    return PromisedFile(
        path=stat["path"],
        kind=name.kind,
        group=(partition, name.file_id),
        size=size + _count(stat, "logOffset"),
        rows=_count(stat, "numWrites") + (_count(stat, "numDeletes") if name.kind == "log" else 0),
        instant=instant.requested,
        completed=instant.completed,
    )


def _count(stat: Mapping[str, Any], name: str) -> int:
    return stat.get(name) or 0
