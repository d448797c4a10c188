"""The files of a table: current, superseded, replaced and uncommitted ones."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from headwater.errors import LakeError
from headwater.lake.inspection.actions import list_replaced
from headwater.lake.inspection.file_names import DataFileName, parse_data_file_name
from headwater.lake.inspection.timeline import TableTimeline
from headwater.lake.layout import TableAddress
from headwater.lake.options import DEFAULT_SMALL_FILE_LIMIT, SMALL_FILE_LIMIT_OPTION
from headwater.lake.table_files import StoredFile

SliceState = Literal["current", "superseded", "replaced"]


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file; `path` is relative to the table, `size` in bytes, `instant` the requested time of its
    action."""

    path: str
    size: int
    instant: str


@dataclass(frozen=True, slots=True)
class FileSlice:
    """A file slice: a base file, if any, and the log files on top of it.

    `instant` is that of the base file, else of the first log. `bytes` is what a snapshot query reads, without
    CDC files.

    A slice is `current` (in the latest snapshot), `superseded` (by a newer slice) or `replaced` (the group
    left the table). `rows` is None if not requested or not countable. `is_small` marks a current slice whose
    base file, or logs without one, are below the limit.
    """

    partition: str
    file_id: str
    instant: str
    state: SliceState
    base_file: DataFile | None
    log_files: tuple[DataFile, ...]
    cdc_files: tuple[DataFile, ...]
    bytes: int
    rows: int | None = None
    is_small: bool = False

    @property
    def files(self) -> tuple[DataFile, ...]:
        """All files of the slice."""
        return (*((self.base_file,) if self.base_file else ()), *self.log_files, *self.cdc_files)


@dataclass(frozen=True, slots=True)
class LayoutTotals:
    """The totals of a table in bytes on disk.

    `current_bytes` belong to the latest snapshot. `older_bytes` belong to superseded and replaced slices,
    which cleaning removes. `cdc_bytes` belong to CDC files. `uncommitted_bytes` belong to pending actions or
    are left by killed writers.
    """

    partitions: int
    file_groups: int
    base_files: int
    log_files: int
    current_bytes: int
    older_slices: int
    older_bytes: int
    cdc_bytes: int
    uncommitted_files: int
    uncommitted_bytes: int
    small_files: int


@dataclass(frozen=True, slots=True)
class TableLayout:
    """The file slices, older ones on request. `problems` name corrupt actions that may hide replaced
    groups."""

    small_file_limit: int
    totals: LayoutTotals
    slices: tuple[FileSlice, ...]
    uncommitted: tuple[DataFile, ...]
    problems: tuple[str, ...]


def parse_small_file_limit(write_options: Mapping[str, str]) -> int:
    """Return the size in bytes below which a base file receives new rows, from the table's write options."""
    text = write_options.get(SMALL_FILE_LIMIT_OPTION, "")
    return int(text) if text.isdecimal() else DEFAULT_SMALL_FILE_LIMIT


def read_layout(
    address: TableAddress,
    *,
    older: bool = False,
    rows: bool = False,
    merged: bool = False,
    small_file_limit: int = DEFAULT_SMALL_FILE_LIMIT,
) -> TableLayout:
    """Read the current layout of a table.

    `older` includes slices that are not current. `rows` reads the footer of each base file without logs;
    `merged` also reads slices with logs in full. Raises `TableNotFoundError`, `TableUnsupportedError` and
    `LakeError`.
    """
    timeline = TableTimeline(address)
    slices, uncommitted, problems = read_slices(timeline)
    slices = [_mark_small(one, small_file_limit) for one in slices]
    totals = _add_up(slices, uncommitted)
    kept = slices if older else [one for one in slices if one.state == "current"]
    if rows or merged:
        kept = _count_rows(timeline, kept, merged=merged)
    return TableLayout(small_file_limit, totals, tuple(kept), tuple(uncommitted), tuple(problems))


def read_slices(timeline: TableTimeline) -> tuple[list[FileSlice], list[DataFile], list[str]]:
    """Read all slices, sorted by partition, group and age, the files of incomplete actions, and problems.

    Problems name corrupt actions that may hide replaced groups. Raises the errors of `read_layout`.
    """
    # Read the timeline first: a concurrent commit can then add surplus files, but no rows can be missing.
    commits = CompletionTimes(timeline)
    replaced, problems = _read_replaced(timeline)
    return *_build_slices(timeline.folder.list_data_files(), commits, replaced), problems


class CompletionTimes:
    """The completed actions and their completion times."""

    def __init__(self, timeline: TableTimeline) -> None:
        self._completed = {i.requested: i.completed for i in timeline.completed_writes}
        # A commit with a savepoint may stay active long after its neighbours were archived.
        saved = {i.requested for i in timeline.active if i.action == "savepoint"}
        begun = (i.requested for i in timeline.active if i.is_write and i.requested not in saved)
        self._start = min(begun, default="9")

    def find_completion(self, instant: str) -> str | None:
        """Return the completion time, or None if the action is incomplete. An archived action counts as
        completed at its request."""
        if instant in self._completed:
            return self._completed[instant]
        return instant if instant < self._start else None


_Named = tuple[StoredFile, DataFileName]


def _build_slices(
    files: Iterable[StoredFile], commits: CompletionTimes, replaced: set[tuple[str, str]]
) -> tuple[list[FileSlice], list[DataFile]]:
    """Return the slices, sorted by partition, group and age, and the files of incomplete actions."""
    groups: dict[tuple[str, str], list[_Named]] = {}
    uncommitted = []
    for file in files:
        name = parse_data_file_name(file.name)
        if name is None:
            continue
        if commits.find_completion(name.instant) is None:
            uncommitted.append(_build_file((file, name)))
        else:
            groups.setdefault((file.folder, name.file_id), []).append((file, name))
    slices = [
        one
        for group, members in sorted(groups.items())
        for one in _build_group(group, members, commits, is_replaced=group in replaced)
    ]
    return slices, sorted(uncommitted, key=lambda file: file.path)


def _build_group(
    group: tuple[str, str], members: Sequence[_Named], commits: CompletionTimes, *, is_replaced: bool
) -> list[FileSlice]:
    bases = {name.instant: (file, name) for file, name in members if name.kind == "base"}
    completed = {name.instant: commits.find_completion(name.instant) or name.instant for _, name in members}
    first_base = min(bases, default="9")
    # A group can start with logs, and can end up with only CDC files.
    before = [
        name.instant
        for _, name in members
        if (name.kind == "log" and completed[name.instant] < first_base) or not bases
    ]
    starts = sorted({*bases, *([min(before)] if before else ())})
    of_slice: dict[str, list[_Named]] = {start: [] for start in starts}
    for file, name in members:
        if name.kind != "base":
            # A log belongs to the latest base file that was requested before the log completed.
            found = bisect_right(starts, completed[name.instant]) - 1
            of_slice[starts[max(0, found)]].append((file, name))
    states: dict[str, SliceState] = dict.fromkeys(starts, "replaced" if is_replaced else "superseded")
    if not is_replaced:
        states[starts[-1]] = "current"
    return [_build_slice(group, start, states[start], bases.get(start), of_slice[start]) for start in starts]


def _build_slice(
    group: tuple[str, str], instant: str, state: SliceState, base: _Named | None, others: Sequence[_Named]
) -> FileSlice:
    base_file, logs = _build_file(base) if base else None, _list_kind(others, "log")
    return FileSlice(
        *group,
        instant=instant,
        state=state,
        base_file=base_file,
        log_files=logs,
        cdc_files=_list_kind(others, "cdc"),
        bytes=sum(file.size for file in (base_file, *logs) if file),
    )


def _list_kind(members: Iterable[_Named], kind: str) -> tuple[DataFile, ...]:
    found = (_build_file(member) for member in members if member[1].kind == kind)
    return tuple(sorted(found, key=lambda file: (file.instant, file.path)))


def _build_file(member: _Named) -> DataFile:
    file, name = member
    return DataFile(file.path, file.size, name.instant)


def _read_replaced(timeline: TableTimeline) -> tuple[set[tuple[str, str]], list[str]]:
    found = timeline.read_metadata(i for i in timeline.completed_writes if i.action == "replacecommit")
    replaced: set[tuple[str, str]] = set()
    problems = []
    for metadata in found.values():
        if isinstance(metadata, LakeError):
            problems.append(metadata.message)
        else:
            replaced |= list_replaced(metadata)
    return replaced, problems


def _mark_small(one: FileSlice, limit: int) -> FileSlice:
    size = one.base_file.size if one.base_file else one.bytes
    return replace(one, is_small=one.state == "current" and size < limit)


def _count_rows(timeline: TableTimeline, slices: Sequence[FileSlice], *, merged: bool) -> list[FileSlice]:
    wanted = [one.base_file.path for one in slices if one.base_file and not one.log_files]
    footers = timeline.folder.count_file_rows(wanted)

    def count(one: FileSlice) -> int | None:
        base = one.base_file.path if one.base_file else ""
        if one.log_files:
            logs = [log.path for log in one.log_files]
            return timeline.folder.count_merged_rows(base, logs) if merged else None
        return footers.get(base)

    return [replace(one, rows=count(one)) for one in slices]


def _add_up(slices: Sequence[FileSlice], uncommitted: Sequence[DataFile]) -> LayoutTotals:
    current = [one for one in slices if one.state == "current"]
    older = [one for one in slices if one.state != "current"]
    return LayoutTotals(
        partitions=len({one.partition for one in current}),
        file_groups=len(current),
        base_files=sum(one.base_file is not None for one in current),
        log_files=sum(len(one.log_files) for one in current),
        current_bytes=sum(one.bytes for one in current),
        older_slices=len(older),
        older_bytes=sum(one.bytes for one in older),
        cdc_bytes=sum(file.size for one in slices for file in one.cdc_files),
        uncommitted_files=len(uncommitted),
        uncommitted_bytes=sum(file.size for file in uncommitted),
        small_files=sum(one.is_small for one in current),
    )
