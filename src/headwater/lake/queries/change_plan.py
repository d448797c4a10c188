"""What of a table its follower has to look at, when it has seen the table as of one commit. Pure."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol


class WriteCommit(Protocol):
    """A completed write of the table."""

    @property
    def completed(self) -> str:
        """When, as Hudi writes it."""
        ...

    @property
    def action(self) -> str:
        """`commit`, `deltacommit` or `replacecommit`."""
        ...


@dataclass(frozen=True, slots=True)
class ChangePlan:
    """`changes`: rows of the commits in (after, upto], and when `has_deletes`, which keys are gone. `all`:
    every row, for the `reason`. `nothing`: there is no newer commit."""

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
) -> ChangePlan:
    """`commits` are those of the active timeline in order of completion, `as_of` is which of them was
    seen last; empty for none. `is_same_selection`: as much of each row is taken as then."""
    if not commits:
        return ChangePlan("nothing", as_of, as_of)
    upto = commits[-1].completed
    if not as_of:
        return ChangePlan("all", "", upto, True, "nothing of it was taken in yet")
    if not is_same_selection:
        return ChangePlan("all", as_of, max(as_of, upto), True, "what is taken from it has changed")
    if upto < as_of:
        return ChangePlan("all", as_of, upto, True, "the table is older than what was taken in of it")
    new = [commit for commit in commits if commit.completed > as_of]
    if not new:
        return ChangePlan("nothing", as_of, as_of)
    if all(commit.completed != as_of for commit in commits):
        # Archived, or taken back by a restore, whose rows no later commit tells of.
        return ChangePlan("all", as_of, upto, True, "the commit that was seen last has left the timeline")
    if any(commit.action == "replacecommit" for commit in new):
        return ChangePlan("all", as_of, upto, True, "files were replaced as a whole")
    return ChangePlan("changes", as_of, upto, count_deletes(as_of, upto) > 0)
