"""Judges whether a copy of a table is complete, although cleans deleted files while it was made. Pure."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from headwater.lake.timeline.instants import Instant


@dataclass(frozen=True, slots=True)
class Clean:
    """A clean that is not part of a copy; `deletes` are names of files of the copied state.

    Names are unique in a table.
    States from `earliest` (requested time) on remain readable; empty if the policy does not determine it.
    """

    instant: Instant
    deletes: frozenset[str]
    earliest: str

    @property
    def is_completed(self) -> bool:
        """True if all of the files are deleted."""
        return self.instant.state == "completed"


@dataclass(frozen=True, slots=True)
class Verdict:
    """`problem` says why the copy is incomplete, empty for a complete one.

    `cleans` then belong to the copy, too: they explain why older states lack files.
    """

    problem: str = ""
    cleans: tuple[Clean, ...] = ()


def build_clean(instant: Instant, plan: Mapping[str, Any] | None, is_part: Callable[[str], bool]) -> Clean:
    """Build a clean from its plan; `is_part` returns whether a file name belongs to the copied state."""
    known = plan or {}
    planned = known.get("filePathsToBeDeletedPerPartition") or {}
    names = {str(file["filePath"]).rpartition("/")[2] for files in planned.values() for file in files}
    earliest = known.get("earliestInstantToRetain")
    return Clean(instant, frozenset(filter(is_part, names)), str(earliest["timestamp"]) if earliest else "")


def judge_copy(
    newest: str, copied: Collection[str], absent: Collection[str], cleans: Iterable[Clean]
) -> Verdict:
    """Judge the copy of the state of the commit requested at `newest`.

    `copied` and `absent` are names of files: those copied, and those deleted before they could be. `cleans`
    are all that were requested since the state was read. A clean matters only if it deletes files that the
    copy lacks; the copy is complete if that concerns no state as of `newest` or later.
    """
    have = set(copied)
    relevant = tuple(clean for clean in cleans if not clean.deletes <= have)
    explained = {name for clean in relevant for name in clean.deletes}
    if unknown := sorted(set(absent) - explained):
        return Verdict(f"{unknown[0]} was deleted while the table was copied")
    for clean in relevant:
        at = clean.instant.requested
        if not clean.is_completed:
            return Verdict(f"clean {at} is deleting files")
        if not clean.earliest or clean.earliest > newest:
            return Verdict(f"clean {at} deleted files of commit {newest}")
    return Verdict("", relevant)


def list_new_cleans(active: Iterable[Instant], known: Collection[Instant]) -> Sequence[Instant]:
    """Return cleans in any state that are not among the completed actions of a copy."""
    have = {(i.requested, i.action) for i in known}
    return [i for i in active if i.action == "clean" and (i.requested, i.action) not in have]
