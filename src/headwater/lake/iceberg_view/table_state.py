"""Which commit of a table base files alone represent, and which files those are. Pure."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from headwater.lake.inspection.layout import DataFile, FileSlice
from headwater.lake.timeline.instants import Instant

FindCompletion = Callable[[str], str | None]
"""Returns when the action requested at a time completed; None if it has not."""


@dataclass(frozen=True, slots=True)
class TableState:
    """The rows of a table when a commit had completed, as base files without logs.

    `requested` and `completed` are the times of that commit, in Hudi's form.
    """

    requested: str
    completed: str
    files: tuple[DataFile, ...]


def find_newest_state(
    slices: Iterable[FileSlice], writes: Sequence[Instant], find_completion: FindCompletion, retained: str
) -> TableState | None:
    """Return the newest state that base files represent; None if each one needs log files.

    `slices` are all slices, sorted by group and age; `writes` the completed ones, in order of completion.
    `retained` is the request of the oldest commit whose files the cleaner has kept; empty if it kept all.
    """
    # A group that was replaced is in no state since its replacement.
    current = (one for one in slices if one.state != "replaced")
    groups = [list(members) for _, members in groupby(current, key=lambda one: (one.partition, one.file_id))]
    replaced = max((one.completed for one in writes if one.action == "replacecommit"), default="")
    for write in reversed(writes):
        if write is not writes[-1] and (write.completed < replaced or write.requested < retained):
            continue
        files = _select_files(groups, write.completed, find_completion)
        if files is not None:
            return TableState(write.requested, write.completed, tuple(sorted(files, key=lambda f: f.path)))
    return None


def _select_files(
    groups: Iterable[Sequence[FileSlice]], until: str, find_completion: FindCompletion
) -> list[DataFile] | None:
    """Return the base files with the rows of all writes that completed by a time; None if logs have some."""
    files = []
    for group in groups:
        selected = _select_file(group, until, find_completion)
        if selected == "logs":
            return None
        if selected is not None:
            files.append(selected)
    return files


def _select_file(
    group: Sequence[FileSlice], until: str, find_completion: FindCompletion
) -> DataFile | Literal["logs"] | None:
    """Return the base file with the rows of a file group at a time, `logs` if only log files have all of
    them, or None if the group had no rows yet."""

    def is_complete(file: DataFile) -> bool:
        completed = find_completion(file.instant)
        return completed is not None and completed <= until

    begun = [at for at, one in enumerate(group) if one.base_file and is_complete(one.base_file)]
    # A group may begin with logs, before its first base file.
    start = begun[-1] if begun else 0
    for at in range(start, len(group)):
        merged = [is_complete(log) for log in group[at].log_files]
        if not any(merged):
            return group[at].base_file if begun or at > start else None
        if not all(merged):
            break
        # A compaction merges all logs of a slice: the next base file has these rows, too, and no others. It
        # may have completed after other commits wrote logs on top of it.
    return "logs"
