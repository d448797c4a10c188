"""Which past states of a table can still be told, and what lies between two of them. Pure.

A past state is read by the time its newest commit was requested, but what a reader has seen is told by the
times commits completed. Both say the same except while writers overlap; a `Cut` is a state where they do.
"""

from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import NoReturn

from headwater.errors import InstantUnavailableError
from headwater.lake.queries.instants import EARLIEST, describe_instant
from headwater.lake.timeline import Commit

_NEVER = "9" * 17


@dataclass(frozen=True, slots=True)
class TableHistory:
    """What a timeline tells. All instants are 17 digits.

    `commits` completed and changed rows, by completion, as far back as was asked for; those up to
    `newest_archived` have left the active timeline. `pending` were requested and have not completed.
    Snapshots of commits requested before `earliest_retained` have lost files; empty when nothing was ever
    cleaned. Each of `restores` is when a restore completed and when the oldest commit that it took back was
    requested. `has_change_log`: the table keeps one (CDC).
    """

    path: str
    commits: tuple[Commit, ...]
    pending: tuple[str, ...] = ()
    earliest_retained: str = ""
    restores: tuple[tuple[str, str], ...] = ()
    newest_archived: str = ""
    is_utc: bool = True
    has_change_log: bool = False
    record_key: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class Cut:
    """All commits completed by `completed`, which are all that were requested by `requested`.

    Both are empty before the first commit.
    """

    completed: str = ""
    requested: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """What the table becomes from one cut to another, by these commits; `snapshots` are read for the two."""

    before: Cut
    after: Cut
    commits: tuple[Commit, ...]
    snapshots: tuple[str, str]


def find_past(history: TableHistory, instant: str) -> str:
    """The snapshot as of an instant: of the commit that was requested just then, else all completed by then.

    Raises `InstantUnavailableError` with what can be told, also for before the first commit.
    """
    named = next((commit for commit in history.commits if commit.requested == instant), None)
    cut = Cut(named.completed, named.requested) if named else find_cut(history, instant)
    if not cut.requested:
        first = (
            f"the first commit completed at {_describe(history.commits[0])}" if history.commits else "none"
        )
        raise InstantUnavailableError(
            f"{history.path}: there is no commit up to {describe_instant(instant)}", hint=first
        )
    return find_snapshot(history, cut)


def find_snapshot(history: TableHistory, cut: Cut) -> str:
    """Which snapshot is whole and shows the state of a cut, by the time its commit was requested.

    Raises `InstantUnavailableError` with the earliest instant that can be told.
    """
    found = _find_whole(history, cut)
    if not found:
        _refuse(history, cut)
    return found


def _find_whole(history: TableHistory, cut: Cut) -> str:
    """Empty for none. What is retained may begin between the cut and the next commit that changes rows: with
    a compaction, say, which shows the same rows.
    """
    later = min((c.requested for c in history.commits if c.requested > cut.requested), default=_NEVER)
    snapshot = max(cut.requested, history.earliest_retained)
    return snapshot if snapshot < later else ""


def find_cut(history: TableHistory, instant: str) -> Cut:
    """All commits completed by an instant; nothing is said of whether that state can be read.

    Raises `InstantUnavailableError` where writers overlapped, or a restore took back what was there then.
    """
    _check_restores(history, instant)
    done = [commit for commit in history.commits if commit.completed <= instant]
    if not done:
        return Cut()
    cut = Cut(done[-1].completed, max(commit.requested for commit in done))
    if any(commit.requested < cut.requested for commit in history.commits[len(done) :]):
        earlier = [found for found in list_cuts(history) if found.completed <= instant]
        possible = describe_instant(earlier[-1].completed) if earlier else EARLIEST
        raise InstantUnavailableError(
            f"{history.path}: at {describe_instant(instant)} two writers were at work, and that state was "
            "not kept by itself",
            hint=f"the one before it is {possible}",
        )
    return cut


def list_cuts(history: TableHistory) -> list[Cut]:
    """All states in order, but those amidst writers that overlapped and those that a pending one may join.

    A pending commit may have its time of completion already, and be about to show it.
    """
    requested = [commit.requested for commit in history.commits]
    newest = accumulate(requested, max)
    oldest_later = list(accumulate(reversed(requested), min, initial=_NEVER))[-2::-1]
    first_pending = min(history.pending, default=_NEVER)
    return [
        Cut(commit.completed, upto)
        for commit, upto, later in zip(history.commits, newest, oldest_later, strict=True)
        if upto < later and commit.completed < first_pending
    ]


def plan_steps(history: TableHistory, since: str, until: str, *, per_commit: bool) -> list[Step]:
    """The way from `since` to `until` (now, if empty) as one step, or as one step a commit.

    Commits whose states have lost files are taken together with the next one. Raises
    `InstantUnavailableError` when the state at `since` or `until` cannot be told.
    """
    start = find_cut(history, since)
    begin = find_snapshot(history, start) if start.requested else ""
    last = find_cut(history, until) if until else None
    ends = [
        cut
        for cut in list_cuts(history)
        if cut.requested > start.requested and (last is None or cut.completed <= last.completed)
    ]
    if not ends:
        return []
    find_snapshot(history, ends[-1])
    whole = [(cut, found) for cut in ends if (found := _find_whole(history, cut))]
    chosen = whole if per_commit else whole[-1:]
    return [
        Step(before, after, _list_between(history, before, after), (shows_before, shows_after))
        for (before, shows_before), (after, shows_after) in pairwise([(start, begin), *chosen])
    ]


def check_change_log(history: TableHistory, since: str) -> Cut:
    """Where a read of the change log begins. Raises `InstantUnavailableError` when it does not reach back.

    Hudi would leave out, without a word, the changes of commits that have left the timeline or lost files.
    """
    start = find_cut(history, since)
    if start.completed < history.newest_archived:
        active = [c for c in history.commits if c.completed >= history.newest_archived]
        raise InstantUnavailableError(
            f"{history.path}: the change log reaches back to {_describe(active[0])}, not to "
            f"{describe_instant(start.completed) if start.completed else 'the first commit'}",
            hint=f"--since {active[0].completed}; without --cdc changes are told from further back",
        )
    if start.requested or any(commit.requested < history.earliest_retained for commit in history.commits):
        find_snapshot(history, start)
    return start


def _list_between(history: TableHistory, before: Cut, after: Cut) -> tuple[Commit, ...]:
    return tuple(c for c in history.commits if before.completed < c.completed <= after.completed)


def _refuse(history: TableHistory, cut: Cut) -> NoReturn:
    cuts = (Cut(commit.completed, commit.requested) for commit in history.commits)
    earliest = next((found for found in cuts if _find_whole(history, found)), None)
    asked = describe_instant(cut.completed) if cut.completed else "its first commit"
    whole = describe_instant(earliest.completed) if earliest else "none"
    raise InstantUnavailableError(
        f"{history.path}: files of the state at {asked} have been cleaned away; the earliest instant still "
        f"whole is {whole}",
        hint=f"changes since `{EARLIEST}` are always told, but for --cdc; cleaned less, a table keeps more",
    )


def _check_restores(history: TableHistory, instant: str) -> None:
    for completed, oldest in history.restores:
        if oldest <= instant < completed:
            raise InstantUnavailableError(
                f"{history.path}: a restore at {describe_instant(completed)} took back what was there at "
                f"{describe_instant(instant)}",
                hint=f"ask from {completed} on; `{EARLIEST}` begins with everything that is there now",
            )


def _describe(commit: Commit) -> str:
    return describe_instant(commit.completed)
