"""`EventTail`: reads the events after an offset, the newest ones from memory."""

import logging
import threading
import time
from collections import defaultdict, deque
from collections.abc import Collection, Sequence
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from headwater.capture.division import DividedEvents, Division
from headwater.capture.event_rows import build_window, select_read_columns, to_stored_event
from headwater.capture.position import BEGINNING, Position
from headwater.capture.shards import SharedCommit, build_shared_commit, find_overlap, find_repeated
from headwater.capture.stored_event import EventPage, StoredEvent, build_page
from headwater.errors import LakeError
from headwater.lake.jvm import explained_lake
from headwater.lake.table import Table
from headwater.lake.timeline import Commit, Timeline, find_just_before

_log = logging.getLogger(__name__)

_CACHED_EVENTS = 50_000
_CACHED_SECONDS = 120.0
"""Tables are rarely further behind; without this limit, memory would grow for an hour at 20 events/s."""
_MAX_COMMITS_A_PAGE = 1_000
LATEST = "9" * 17
"""Later than every completion time."""


class StoredId(NamedTuple):
    """The id of an event, with its window (see `seen_events`) and the completion time of its commit."""

    completed: str
    window: int
    event_id: str


class _CachedCommit(NamedTuple):
    """A commit of this process, and when it was added, by the monotonic clock."""

    commit: Commit
    events: DividedEvents
    added: float

    @property
    def size(self) -> int:
        return len(self.events.events)


class EventTail:
    """The incremental read of the events table. Use from any thread.

    The newest commits of this process are kept in memory, so that new events are not read back from disk:
    every commit completed after `_since`. An earlier offset is read from the table.
    """

    def __init__(self, table: Table, division: Division | None = None) -> None:
        self._table = table
        self._division = division
        self._lock = threading.Lock()
        self._since = ""
        self._newest = ""
        self._commits: deque[_CachedCommit] = deque()
        self._size = 0
        self.restart(self.find_newest())

    def find_newest(self) -> Commit | None:
        """Return the newest commit that may have events; None before the first one."""
        timeline = self._table.load_timeline()
        commits = reversed(timeline.commits) if timeline.exists() else ()
        # A clustering moves events to other files, and adds none.
        return next((commit for commit in commits if commit.action != "replacecommit"), None)

    def restart(self, newest: Commit | None) -> None:
        """Drop everything; commits after `newest` will be added."""
        with self._lock:
            self._commits.clear()
            self._size = 0
            self._since = self._newest = newest.completed if newest else ""

    def forget(self) -> None:
        """Drop everything if a commit may be missing: all up to the next one is read from the table."""
        with self._lock:
            self._commits.clear()
            self._size = 0
            self._since = LATEST

    def add(self, commit: Commit, events: Sequence[StoredEvent]) -> None:
        """Add a commit of this process."""
        with self._lock:
            if self._since == LATEST:
                self._since = self._newest = commit.completed
                return
            now = time.monotonic()
            self._commits.append(_CachedCommit(commit, DividedEvents(events, self._division), now))
            self._newest = commit.completed
            self._size += len(events)
            while len(self._commits) > 1 and self._is_oldest_dropped(now):
                oldest = self._commits.popleft()
                self._size -= oldest.size
                self._since = oldest.commit.completed

    def _is_oldest_dropped(self, now: float) -> bool:
        return self._size > _CACHED_EVENTS or now - self._commits[0].added > _CACHED_SECONDS

    def is_behind(self, newest: Commit) -> bool:
        """True if another process made the newest commit of the table."""
        with self._lock:
            return newest.completed > self._newest

    def read_after(
        self, position: Position, max_events: int, beginnings: Collection[str] | None = None
    ) -> EventPage:
        """Read the events after `position`: whole commits, about `max_events` rows, at least one commit.

        Ends at the newest completed commit, so it never waits. An offset older than the active timeline
        also reads the archived commits after it, and no file of another commit. For a table whose keys begin
        with one of `beginnings`, most events of other tables are omitted.
        """
        cached = self._read_cached(position, max_events, beginnings)
        if cached is not None:
            return cached
        timeline = self._table.load_timeline()
        try:
            return self._read_table(timeline, position, max_events)
        except LakeError:
            # Archival during the read moves the instants to another file.
            if self._table.load_timeline().commits[:1] == timeline.commits[:1]:
                raise
            return self.read_after(position, max_events, beginnings)

    def _read_cached(
        self, position: Position, max_events: int, beginnings: Collection[str] | None
    ) -> EventPage | None:
        with self._lock:
            whole = Position(self._since) if self._since else BEGINNING
            if position < whole or (not self._since and not self._commits):
                return None
            found: list[StoredEvent] = []
            end, omitted = position, 0
            for cached in self._commits:
                commit = cached.commit
                if not _is_behind(commit, position):
                    continue
                events = cached.events.select(beginnings)
                if found and len(found) + len(events) > max_events:
                    return EventPage(tuple(found), end, more=True, omitted=omitted)
                omitted += cached.size - len(events)
                is_whole = commit.completed > position.completed
                found += events if is_whole else [stored for stored in events if stored.position > position]
                end = Position(commit.completed)
            return EventPage(tuple(found), end, more=False, omitted=omitted)

    def _read_table(self, timeline: Timeline, position: Position, max_events: int) -> EventPage:
        if not timeline.has_commits():
            return EventPage((), position, more=False)
        with explained_lake(self._table.path):
            chosen, promised, more = _choose_commits(timeline, position, max_events)
            if not chosen:
                return EventPage((), position, more=False)
            commits = list(chosen)
            events = self._read_commits(commits, promised)
            events = self._drop_repeated(timeline, list(chosen.values()), events)
        return build_page(events, position, Position(commits[-1].completed), more=more)

    def _drop_repeated(
        self, timeline: Timeline, commits: Sequence[SharedCommit], events: list[StoredEvent]
    ) -> list[StoredEvent]:
        """Drop events that another process committed while a commit was made."""
        since = find_overlap(commits)
        if since is None:
            return events
        ids: defaultdict[str, set[str]] = defaultdict(set)
        for stored in events:
            ids[stored.position.completed].add(stored.event_id)
        for found in self.read_ids(timeline, since, commits[0].completed):
            ids[found.completed].add(found.event_id)
        repeated = find_repeated(commits, ids)
        return [e for e in events if e.event_id not in repeated.get(e.position.completed, ())]

    def read_ids(
        self, timeline: Timeline, after: str, before: str, but: Collection[str] = ()
    ) -> list[StoredId]:
        """Return the ids of the commits completed between the two times, without those completed at `but`."""
        chosen: list[Commit] = []
        promised = 0
        for commit, metadata in timeline.iter_metadata(after):
            if commit.completed < before and commit.completed not in but and metadata.get("events") != "0":
                chosen.append(commit)
                promised += int(metadata.get("events", "0"))
        if not chosen:
            return []
        columns = (build_window(), F.col("event_id"))
        return [
            StoredId(completed, row[1], row[2])
            for completed, row in self._read_rows(chosen, after, promised, columns)
        ]

    def _read_commits(self, commits: Sequence[Commit], promised: int) -> list[StoredEvent]:
        """Read all events of the commits in order of offset; errors as in `_read_rows`."""
        after = find_just_before(commits[0].completed)
        found = self._read_rows(commits, after, promised, select_read_columns())
        events = [to_stored_event(row, completed) for completed, row in found]
        return sorted(events, key=lambda stored: stored.position)

    def _read_rows(
        self, commits: Sequence[Commit], after: str, promised: int, columns: Sequence[Column]
    ) -> list[tuple[str, Row]]:
        """Read rows of the commits, each with the completion time of its commit.

        The incremental read opens no files but theirs. It fails once clustering has moved their rows to other
        files, and it may return fewer rows, even none, without an error: apache/hudi issue 20286. Then the
        files of the whole table are read, without most of their row groups. Raises `LakeError` for fewer than
        `promised` rows, the recorded count.
        """
        completed = {commit.requested: commit.completed for commit in commits}

        def collect(frame: DataFrame) -> list[tuple[str, Row]]:
            rows = frame.select("_hoodie_commit_time", *columns).collect()
            return [(completed[row[0]], row) for row in rows if row[0] in completed]

        found: list[tuple[str, Row]] = []
        try:
            with explained_lake(self._table.path):
                found = collect(self._table.read_commits(after, commits[-1].completed))
        except LakeError as error:
            _log.debug("events table: %s; reading in full", error.message)
        else:
            if len(found) < promised:
                text = "events table: incremental read returned %d of %d events; reading in full"
                _log.warning(text, len(found), promised)
        if len(found) < promised:
            wanted = F.col("_hoodie_commit_time").isin(list(completed))
            found = collect(self._table.read().where(wanted))
        if len(found) < promised:
            raise self._build_loss(commits, promised, len(found))
        return found

    def _build_loss(self, commits: Sequence[Commit], promised: int, found: int) -> LakeError:
        return LakeError(
            f"{self._table.path}: the commits completed from {commits[0].completed} to "
            f"{commits[-1].completed} contain {promised:,} events, but only {found:,} can be read",
            hint="restore the missing files of the table, or remove the events table and rebuild it "
            "from the source with `headwater reconcile`",
        )


def _is_behind(commit: Commit, position: Position) -> bool:
    """True if the commit may hold events after the offset."""
    return Position(commit.completed) > position


def _choose_commits(
    timeline: Timeline, position: Position, max_events: int
) -> tuple[dict[Commit, SharedCommit], int, bool]:
    """Choose the first commits after the offset: about `max_events` events, at least one commit.

    Returns them with their recorded number of events, and whether there are more.
    """
    chosen: dict[Commit, SharedCommit] = {}
    total = 0
    for commit, metadata in timeline.iter_metadata(find_just_before(position.completed)):
        if not _is_behind(commit, position):
            continue
        events = int(metadata.get("events", "0"))
        if chosen and (total + events > max_events or len(chosen) == _MAX_COMMITS_A_PAGE):
            return chosen, total, True
        chosen[commit] = build_shared_commit(commit.completed, metadata)
        total += events
    return chosen, total, False
