"""Determines which past states of a table can be read, and plans steps between them. Pure.

Hudi reads a past state by the requested time of its latest commit, but readers track completion times. Both
orders agree except while writers overlap. A `Cut` is a state on which they agree.
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
    """The history on a timeline. All instants have 17 digits.

    `commits` are completed writes that changed rows, by completion, as far back as requested; those up to
    `newest_archived` are archived. `pending` are incomplete. Snapshots of commits requested before
    `earliest_retained` have lost files; it is empty if the table was never cleaned.

    Each of `restores` holds the completion time of a restore and the requested time of the oldest commit that
    it removed. `has_change_log` is whether the table keeps a change log (CDC).
    `is_merge_on_read` is the type of the table.
    """

    path: str
    commits: tuple[Commit, ...]
    pending: tuple[str, ...] = ()
    earliest_retained: str = ""
    restores: tuple[tuple[str, str], ...] = ()
    newest_archived: str = ""
    is_utc: bool = True
    has_change_log: bool = False
    is_merge_on_read: bool = False
    record_key: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class Cut:
    """All commits completed by `completed`, which are exactly those requested by `requested`.

    Both are empty before the first commit.
    """

    completed: str = ""
    requested: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """The transition from one cut to another by these commits; `snapshots` are the two to compare."""

    before: Cut
    after: Cut
    commits: tuple[Commit, ...]
    snapshots: tuple[str, str]


def find_past(history: TableHistory, instant: str) -> str:
    """Return the snapshot at an instant: of the commit requested then, else of all completed by then.

    Raises `InstantUnavailableError` with the readable range, also for instants before the first commit.
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
    """Return the requested time of a complete snapshot that shows the state of a cut.

    Raises `InstantUnavailableError` with the earliest readable instant.
    """
    found = _find_complete(history, cut)
    if not found:
        _refuse(history, cut)
    return found


def _find_complete(history: TableHistory, cut: Cut) -> str:
    """Return the complete snapshot of a cut, or an empty string.

    Retained history may start between the cut and the next commit that changes rows, for example at a
    compaction with the same rows.
    """
    later = min((c.requested for c in history.commits if c.requested > cut.requested), default=_NEVER)
    snapshot = max(cut.requested, history.earliest_retained)
    return snapshot if snapshot < later else ""


def find_cut(history: TableHistory, instant: str) -> Cut:
    """Return the commits completed by an instant, whether or not that state is readable.

    Raises `InstantUnavailableError` if writers overlapped, or if a restore removed that state.
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
            f"{history.path}: two writers overlapped at {describe_instant(instant)}, so their commits cannot "
            "be separated",
            hint=f"the last readable instant before it is {possible}",
        )
    return cut


def list_cuts(history: TableHistory) -> list[Cut]:
    """List all states in order, except during overlapping writes and those that may still change.

    A pending commit may already have a completion time that is not yet visible.
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
    """Plan the way from `since` to `until` (default: now) as one step, or one step per commit.

    Commits whose snapshots have lost files are merged with the next one. Raises `InstantUnavailableError` if
    the state at `since` or `until` is unavailable.
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
    complete = [(cut, found) for cut in ends if (found := _find_complete(history, cut))]
    chosen = complete if per_commit else complete[-1:]
    return [
        Step(before, after, _list_between(history, before, after), (shows_before, shows_after))
        for (before, shows_before), (after, shows_after) in pairwise([(start, begin), *chosen])
    ]


def check_change_log(history: TableHistory, since: str) -> Cut:
    """Return where a read of the change log starts. Raises `InstantUnavailableError` if the log starts later.

    Hudi silently omits changes of commits that were archived or have lost files.
    """
    start = find_cut(history, since)
    if start.completed < history.newest_archived:
        active = [c for c in history.commits if c.completed >= history.newest_archived]
        raise InstantUnavailableError(
            f"{history.path}: the change log reaches back only to {_describe(active[0])}, not to "
            f"{describe_instant(start.completed) if start.completed else 'the first commit'}",
            hint=f"use --since {active[0].completed}; older changes are available without --cdc",
        )
    if start.requested or any(commit.requested < history.earliest_retained for commit in history.commits):
        find_snapshot(history, start)
    return start


def _list_between(history: TableHistory, before: Cut, after: Cut) -> tuple[Commit, ...]:
    return tuple(c for c in history.commits if before.completed < c.completed <= after.completed)


def _refuse(history: TableHistory, cut: Cut) -> NoReturn:
    cuts = (Cut(commit.completed, commit.requested) for commit in history.commits)
    earliest = next((found for found in cuts if _find_complete(history, found)), None)
    asked = describe_instant(cut.completed) if cut.completed else "its first commit"
    complete = describe_instant(earliest.completed) if earliest else "none"
    raise InstantUnavailableError(
        f"{history.path}: files of the state at {asked} have been cleaned; the earliest readable "
        f"instant is {complete}",
        hint=f"changes since `{EARLIEST}` are always available, except with --cdc; a longer retention keeps "
        "older states",
    )


def _check_restores(history: TableHistory, instant: str) -> None:
    for completed, oldest in history.restores:
        if oldest <= instant < completed:
            raise InstantUnavailableError(
                f"{history.path}: a restore at {describe_instant(completed)} reverted the state at "
                f"{describe_instant(instant)}",
                hint=f"start at {completed} or later; `{EARLIEST}` starts with all current rows",
            )


def _describe(commit: Commit) -> str:
    return describe_instant(commit.completed)
