"""Plans what a consumer of a table must read since the last commit it has processed. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol


class WriteCommit(Protocol):
    """A completed write of the table."""

    @property
    def completed(self) -> str:
        """The completion time in Hudi's form."""
        ...

    @property
    def action(self) -> str:
        """`commit`, `deltacommit` or `replacecommit`."""
        ...


@dataclass(frozen=True, slots=True)
class ChangePlan:
    """What to read. `changes` are rows of the commits in (after, upto]; `has_deletes` if keys were deleted.

    `all` reads every row, for the `reason`. `nothing` means that there is no newer commit.
    """

    kind: Literal["nothing", "changes", "all"]
    after: str = ""
    upto: str = ""
    has_deletes: bool = False
    reason: str = ""


def plan_changes(
    commits: Sequence[WriteCommit],
    as_of: str,
    *,
    is_same_selection: bool,
    count_deletes: Callable[[str, str], int],
    has_archived: Callable[[str], bool],
) -> ChangePlan:
    """Plan the read since `as_of`, the last processed commit, empty for none.

    `commits` are those of the active timeline in order of completion. `is_same_selection` is False if the
    consumer has changed its selection of rows or columns since. `has_archived` says whether a commit
    completed after a time has been archived.
    """
    if not commits:
        return ChangePlan("nothing", as_of, as_of)
    upto = commits[-1].completed
    new = [commit for commit in commits if commit.completed > as_of]
    if not as_of:
        reason = "none of it has been processed yet"
    elif not is_same_selection:
        upto, reason = max(as_of, upto), "the selection of its rows or columns has changed"
    elif upto < as_of:
        reason = "the table is older than the last processed commit"
    elif not new:
        return ChangePlan("nothing", as_of, as_of)
    elif all(commit.completed != as_of for commit in commits):
        # Archived, or removed by a restore, whose rows no later commit reports.
        reason = "the last processed commit is no longer on the timeline"
    elif has_archived(as_of):
        reason = "a commit that was in progress for long has been archived"
    elif any(commit.action == "replacecommit" for commit in new):
        reason = "a commit replaced whole file groups"
    else:
        return ChangePlan("changes", as_of, upto, count_deletes(as_of, upto) > 0)
    return ChangePlan("all", as_of, upto, True, reason)
