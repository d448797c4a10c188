"""The events table, as in `headwater.capture.events_table`: rejects duplicates and reads pages in order."""

from collections.abc import Collection, Iterator, Sequence
from itertools import compress
from operator import attrgetter
from typing import NamedTuple

from headwater.capture.captured_event import CapturedEvent
from headwater.capture.position import BEGINNING, Position
from headwater.capture.seen_events import SeenEvents, find_window
from headwater.capture.stored_event import EventPage, StoredEvent
from headwater.errors import LakeError
from headwater.ingest.planning.outdated import ContentWrite
from headwater.ingest.planning.puts import count_puts
from simulator.bugs import Bugs
from simulator.outside.hudi import Commit, HudiTable, Write


class EventRow(NamedTuple):
    """A captured event and its index among the rows of its commit."""

    captured: CapturedEvent
    batch_index: int


class OpenAppend(NamedTuple):
    """A commit that is requested but not completed."""

    requested: str
    kept: list[CapturedEvent]
    ids: list[tuple[int, str]]


class SimulatedEventsTable:
    """One process's view of the events table; its memory holds the ids the process knows."""

    def __init__(self, table: HudiTable[EventRow], bugs: Bugs) -> None:
        self._table = table
        self._bugs = bugs
        self._seen = self._build_seen()

    def _build_seen(self) -> SeenEvents:
        return SeenEvents((lambda _windows: ()) if "ids_not_loaded" in self._bugs else self._load_ids)

    def append(self, batch: Sequence[CapturedEvent]) -> int:
        """Commits new events; returns their number."""
        ids = [(find_window(captured.moment), captured.event.event_id) for captured in batch]
        is_new = self._seen.keep_new(ids)
        if "duplicates_not_refused" in self._bugs:
            is_new = [True] * len(ids)
        kept = list(compress(batch, is_new))
        if kept:
            rows = [(c.event.event_id, EventRow(c, at)) for at, c in enumerate(kept)]
            try:
                self._table.write(Write(rows, insert=True, metadata={"events": str(len(kept))}))
            except LakeError:
                if "ids_kept_after_failure" not in self._bugs:
                    self._seen.forget()
                raise
            self._seen.add(list(compress(ids, is_new)))
        return len(kept)

    def open_append(self, batch: Sequence[CapturedEvent]) -> "OpenAppend":
        """Requests a commit as a concurrent writer does; it completes after the other writer's."""
        ids = [(find_window(captured.moment), captured.event.event_id) for captured in batch]
        is_new = self._seen.keep_new(ids)
        kept = list(compress(batch, is_new))
        return OpenAppend(self._table.open_concurrent(), kept, list(compress(ids, is_new)))

    def finish_append(self, opened: "OpenAppend") -> int:
        if opened.kept:
            rows = [(c.event.event_id, EventRow(c, at)) for at, c in enumerate(opened.kept)]
            self._table.complete(opened.requested, Write(rows, insert=True))
            self._seen.add(opened.ids)
        return len(opened.kept)

    def _load_ids(self, windows: Collection[int]) -> Iterator[tuple[int, str]]:
        for row in self._table.peek():
            window = find_window(row.captured.moment)
            if window in windows:
                yield window, row.captured.event.event_id

    def read_after(self, position: Position, max_events: int) -> EventPage:
        """Reads whole commits, about `max_events` events, at least one commit."""
        timeline = self._table.load_timeline()
        commits = list(timeline.commits)
        if "archived_events_skipped" not in self._bugs:
            commits += timeline.list_archived()
        pending = sorted(
            (c for c in commits if self._find_position(c) > position), key=attrgetter("completed")
        )
        if not pending:
            return EventPage((), position, more=False)
        chosen = self._choose(pending, max_events)
        return self._read_page(chosen, position, len(pending) > len(chosen))

    def _choose(self, pending: Sequence[Commit], max_events: int) -> list[Commit]:
        chosen: list[Commit] = []
        total = 0
        for commit in pending:
            total += len(self._table.inserted[commit.requested])
            if chosen and total > max_events:
                break
            chosen.append(commit)
        return chosen

    def _read_page(self, commits: Sequence[Commit], position: Position, more: bool) -> EventPage:
        events = [
            to_stored(row, self._find_position(commit))
            for commit, rows in self._table.read_commits(commits).items()
            for row in rows
        ]
        behind = sorted((s for s in events if s.position > position), key=lambda stored: stored.position)
        return EventPage(tuple(behind), max(map(self._find_position, commits)), more)

    def find_events(self, event_ids: Collection[str]) -> dict[str, StoredEvent]:
        return {s.event_id: s for s in self.iter_all() if s.event_id in event_ids}

    def find_newest(self) -> Position:
        commits = self._table.load_timeline().commits
        return max(map(self._find_position, commits)) if commits else BEGINNING

    def _find_position(self, commit: Commit) -> Position:
        """Returns the offset after all events of the commit."""
        return Position(commit.requested if "position_by_request" in self._bugs else commit.completed)

    def count_puts(self, key: str, writes: Sequence[ContentWrite]) -> dict[str, int]:
        """Counts the puts of each content of an object, by version."""
        return count_puts((stored for stored in self.iter_all() if stored.event.key == key), writes)

    def iter_all(self) -> list[StoredEvent]:
        """Returns every event in order of offset."""
        commits = (*self._table.archived, *self._table.active)
        found = self._table.read_commits(commits)
        return [to_stored(row, self._find_position(commit)) for commit, rows in found.items() for row in rows]


def to_stored(row: EventRow, commit_position: Position) -> StoredEvent:
    captured = row.captured
    position = Position(commit_position.completed, row.batch_index)
    return StoredEvent(
        captured.event.event_id, captured.event, captured.received_at, captured.source, position
    )
