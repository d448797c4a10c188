"""The events table: every committed event, appended by capture and read by any number of tables."""

import logging
import threading
import time
import uuid
from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.capture.captured_event import CapturedEvent
from headwater.capture.event_rows import (
    EVENTS_SCHEMA,
    select_history_columns,
    select_read_columns,
    to_arrow,
    to_stored_event,
)
from headwater.capture.position import BEGINNING, Position
from headwater.capture.seen_events import SeenEvents
from headwater.capture.stored_event import EventPage, StoredEvent, build_page
from headwater.errors import LakeError
from headwater.lake.jvm import explained_lake
from headwater.lake.local_frames import load_arrow
from headwater.lake.options import WriteOptions
from headwater.lake.table import Table
from headwater.lake.timeline import Commit, Timeline, find_just_before

_log = logging.getLogger(__name__)

_CACHED_EVENTS = 50_000
_MAX_COMMITS_A_PAGE = 1_000
_UNKNOWN = "9" * 17
"""Later than every completion time."""


@dataclass(frozen=True, slots=True)
class AppendResult:
    """The result of a batch: `events` rows written, `duplicates` already in the table."""

    events: int
    duplicates: int
    seconds: float


class EventsTable:
    """Append-only changelog of the bucket. One writer at a time; readers from any thread or process."""

    def __init__(self, spark: SparkSession, path: str, metadata: Mapping[str, str] | None = None) -> None:
        """Opens the table at `path`; `metadata` is stored with every commit."""
        self._spark = spark
        self.path = path
        self._metadata = metadata or {}
        self._table = Table(spark, path)
        self._seen = SeenEvents(self._load_ids)
        self._write_lock = threading.Lock()
        self._tail = _Tail()
        self._changed = threading.Condition()
        self._appends = 0
        self._refreshed_at = time.monotonic()
        self._exists = self._table.load_timeline().has_commits()
        if self._exists:
            self._tail.restart(self._newest_commit())

    def append(self, batch: Sequence[CapturedEvent]) -> AppendResult:
        """Commits the events that are not in the table yet, all or none. Raises `LakeError`.

        An empty batch, or one with known events only, makes no commit.
        """
        started = time.monotonic()
        with self._write_lock, explained_lake(self._table.path):
            ids = [(captured.day, captured.event.event_id) for captured in batch]
            is_new = self._seen.keep_new(ids)
            kept = list(compress(batch, is_new))
            if kept:
                try:
                    self._commit(kept)
                except Exception:
                    # The commit may be complete despite the error, so the known ids are read from the table
                    # again.
                    self._seen.forget()
                    self._tail.forget()
                    raise
                self._seen.add(list(compress(ids, is_new)))
        if kept:
            self.wake()
        return AppendResult(len(kept), len(batch) - len(kept), time.monotonic() - started)

    def _commit(self, batch: Sequence[CapturedEvent]) -> None:
        batch_id = uuid.uuid4().hex
        frame = load_arrow(self._spark, to_arrow(batch), EVENTS_SCHEMA).coalesce(1)
        options = WriteOptions(
            table_name="events",
            operation="bulk_insert",
            record_key=("event_id",),
            partition=("event_day",),
            changelog=True,
            commit_metadata={**self._metadata, "batch_id": batch_id, "events": str(len(batch))},
        )
        self._table.write(frame, options)
        self._exists = True
        commit = self._find_batch(batch_id)
        self._tail.add(
            commit,
            [
                StoredEvent(
                    c.event.event_id, c.event, c.received_at, c.source, Position(commit.completed, at)
                )
                for at, c in enumerate(batch)
            ],
        )

    def _find_batch(self, batch_id: str) -> Commit:
        timeline = self._table.load_timeline()
        for commit in reversed(timeline.commits):
            if timeline.read_own_metadata(commit).get("batch_id") == batch_id:
                return commit
        raise AssertionError(f"the commit of batch {batch_id} is not on the timeline")

    def read_after(self, position: Position, max_events: int) -> EventPage:
        """Reads the events after `position`: whole commits, about `max_events` rows, at least one commit.

        Ends at the newest completed commit, so it never waits. An offset older than the active timeline
        also reads the archived commits after it, and no file of another commit.
        """
        cached = self._tail.read_after(position, max_events)
        if cached is not None:
            return cached
        if not self._exists and not self._table.load_timeline().has_commits():
            return EventPage((), position, more=False)
        self._exists = True
        timeline = self._table.load_timeline()
        try:
            return self._read_after(timeline, position, max_events)
        except LakeError:
            # Archival during the read moves the instants to another file.
            if self._table.load_timeline().commits[:1] == timeline.commits[:1]:
                raise
            return self.read_after(position, max_events)

    def _read_after(self, timeline: Timeline, position: Position, max_events: int) -> EventPage:
        with explained_lake(self._table.path):
            chosen, promised, more = _choose_commits(timeline, position, max_events)
            if not chosen:
                return EventPage((), position, more=False)
            events = self._read_commits(chosen, promised)
        return build_page(events, position, Position(chosen[-1].completed), more=more)

    def _read_commits(self, commits: Sequence[Commit], promised: int) -> list[StoredEvent]:
        """Reads all events of the commits. Raises `LakeError` for fewer than `promised`, the recorded count.

        Hudi's incremental read may return fewer rows, even none, without an error: apache/hudi issue 20286.
        """
        after, upto = find_just_before(commits[0].completed), commits[-1].completed
        events = self._collect(self._table.read_commits(after, upto), commits)
        if len(events) >= promised:
            return events
        _log.warning(
            "the events table: an incremental read gave %d of %d events; it is read in full",
            len(events),
            promised,
        )
        events = self._collect(self._read_in_full(commits), commits)
        if len(events) < promised:
            raise LakeError(
                f"{self._table.path}: the commits completed from {commits[0].completed} to {upto} hold "
                f"{promised:,} events, and {len(events):,} can be read",
                hint="has a file of the table been removed? bring it back; or remove the events table, and "
                "let `headwater reconcile` build it anew from the source",
            )
        return events

    def _read_in_full(self, commits: Sequence[Commit]) -> DataFrame:
        wanted = [commit.requested for commit in commits]
        return self._table.read().where(F.col("_hoodie_commit_time").isin(wanted))

    def _collect(self, frame: DataFrame, commits: Sequence[Commit]) -> list[StoredEvent]:
        """Collects the events of the commits in order of offset."""
        completed = {commit.requested: commit.completed for commit in commits}
        rows = frame.select("_hoodie_commit_time", *select_read_columns()).collect()
        return sorted(
            (to_stored_event(row, completed[row[0]]) for row in rows if row[0] in completed),
            key=lambda stored: stored.position,
        )

    def find_events(self, event_ids: Collection[str]) -> dict[str, StoredEvent]:
        """Finds events by id in any partition; scans the whole table."""
        if not event_ids or self._is_empty():
            return {}
        with explained_lake(self._table.path):
            wanted = self._spark.createDataFrame(pd.DataFrame({"event_id": sorted(event_ids)}))
            found = self._table.read().join(F.broadcast(wanted), on="event_id", how="left_semi")
            rows = found.select("_hoodie_commit_time", *select_read_columns()).collect()
            timeline = self._table.load_timeline()
            completed = {commit.requested: commit.completed for commit in timeline.commits}
            if any(row[0] not in completed for row in rows):
                completed |= {commit.requested: commit.completed for commit in timeline.list_archived()}
        return {row["event_id"]: to_stored_event(row, completed[row[0]]) for row in rows}

    def iter_keys_after(self, position: Position, bucket: str) -> Iterator[str]:
        """Yields keys of the bucket's events after the offset, sorted and distinct, in constant memory."""
        if self._is_empty():
            return
        timeline = self._table.load_timeline()
        commits = list(timeline.commits)
        if not commits or position.completed < commits[0].completed:
            commits += timeline.list_archived()
        within = [commit.requested for commit in commits if commit.completed == position.completed]
        behind = [commit.requested for commit in commits if commit.completed > position.completed]
        requested = F.col("_hoodie_commit_time")
        is_behind = requested.isin(behind) | (
            requested.isin(within) & (F.col("batch_index") > position.batch_index)
        )
        with explained_lake(self._table.path):
            found = self._table.read().where((F.col("bucket") == bucket) & is_behind).select("key").distinct()
            yield from (row["key"] for row in found.orderBy("key").toLocalIterator(prefetchPartitions=True))

    def read_history(self, bucket: str, key: str) -> list[dict[str, Any]]:
        """Returns all events of one object, in the object's order, with `select_history_columns`."""
        if self._is_empty():
            return []
        with explained_lake(self._table.path):
            found = self._table.read().where((F.col("bucket") == bucket) & (F.col("key") == F.lit(key)))
            order = (F.coalesce("order_key", F.lit("")), F.col("event_time"), F.col("event_id"))
            rows = found.orderBy(*order).select(*select_history_columns()).collect()
        return [row.asDict() for row in rows]

    def find_newest(self) -> Position:
        """Returns the offset after every event committed so far."""
        if not self._exists and not self._table.load_timeline().has_commits():
            return BEGINNING
        newest = self._newest_commit()
        return Position(newest.completed) if newest else BEGINNING

    def find_metadata(self, key: str) -> str | None:
        """Returns the value of `key` in the newest active commit that carries it, or None."""
        timeline = self._table.load_timeline()
        commit = timeline.find_commit(key) if timeline.exists() else None
        return None if commit is None else timeline.read_own_metadata(commit)[key]

    def has_events_of(self, bucket: str) -> bool:
        """True if the table has an event of that bucket."""
        events = self.read_snapshot()
        return events is not None and not events.where(F.col("bucket") == bucket).isEmpty()

    def read_snapshot(self) -> DataFrame | None:
        """Returns all committed events as a lazy frame with all columns; None before the first one."""
        if self._is_empty():
            return None
        return self._table.read()

    @property
    def appends(self) -> int:
        """Returns the number of commits by this process, for use with `wait`."""
        return self._appends

    def wait(self, seen: int, timeout: float) -> None:
        """Blocks until `appends` exceeds `seen`, another thread calls `wake`, or `timeout` seconds passed."""
        with self._changed:
            self._changed.wait_for(lambda: self._appends > seen, timeout)

    def wake(self) -> None:
        """Wakes all waiting readers, as at the end of a run."""
        with self._changed:
            self._appends += 1
            self._changed.notify_all()

    def refresh(self, at_most_every: float = 0) -> None:
        """Detects commits of other processes, at most once per `at_most_every` seconds."""
        now = time.monotonic()
        if now - self._refreshed_at < at_most_every:
            return
        self._refreshed_at = now
        if not self._exists:
            self._exists = self._table.load_timeline().has_commits()
        newest = self._newest_commit() if self._exists else None
        with self._write_lock:
            if newest and self._tail.is_behind(newest):
                self._seen.forget()
                self._tail.restart(newest)

    def _newest_commit(self) -> Commit | None:
        commits = self._table.load_timeline().commits
        return commits[-1] if commits else None

    def _is_empty(self) -> bool:
        return not self._table.load_timeline().has_commits()

    def _load_ids(self, days: Collection[str]) -> dict[str, list[str]]:
        if self._is_empty():
            return {}
        wanted = self._table.read().where(F.col("event_day").isin(list(days)))
        rows = wanted.select("event_day", "event_id").toPandas()
        return {str(day): list(ids) for day, ids in rows.groupby("event_day")["event_id"]}


class _Tail:
    """Caches the newest commits of this process, so that new events are not read back from disk.

    Holds every commit completed after `_since`; returns None for an earlier offset.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._since = ""
        self._newest = ""
        self._commits: deque[tuple[Commit, list[StoredEvent]]] = deque()
        self._size = 0

    def restart(self, newest: Commit | None) -> None:
        with self._lock:
            self._commits.clear()
            self._size = 0
            self._since = self._newest = newest.completed if newest else ""

    def forget(self) -> None:
        """Drops the cache if a commit may be missing: everything up to the next one is read from disk."""
        with self._lock:
            self._commits.clear()
            self._size = 0
            self._since = _UNKNOWN

    def add(self, commit: Commit, events: list[StoredEvent]) -> None:
        with self._lock:
            if self._since == _UNKNOWN:
                self._since = self._newest = commit.completed
                return
            self._commits.append((commit, events))
            self._newest = commit.completed
            self._size += len(events)
            while self._size > _CACHED_EVENTS and len(self._commits) > 1:
                oldest, dropped = self._commits.popleft()
                self._size -= len(dropped)
                self._since = oldest.completed

    def is_behind(self, newest: Commit) -> bool:
        with self._lock:
            return newest.completed > self._newest

    def read_after(self, position: Position, max_events: int) -> EventPage | None:
        with self._lock:
            whole = Position(self._since) if self._since else BEGINNING
            if position < whole or (not self._since and not self._commits):
                return None
            found: list[StoredEvent] = []
            end = position
            for commit, events in self._commits:
                if not _is_behind(commit, position):
                    continue
                if found and len(found) + len(events) > max_events:
                    return EventPage(tuple(found), end, more=True)
                found += [stored for stored in events if stored.position > position]
                end = Position(commit.completed)
            return EventPage(tuple(found), end, more=False)


def _is_behind(commit: Commit, position: Position) -> bool:
    """True if the commit may hold events after the offset."""
    return Position(commit.completed) > position


def _choose_commits(
    timeline: Timeline, position: Position, max_events: int
) -> tuple[list[Commit], int, bool]:
    """Chooses the first commits after the offset: about `max_events` events, at least one commit.

    Returns them with their recorded number of events, and whether there are more.
    """
    chosen: list[Commit] = []
    total = 0
    for commit, metadata in timeline.iter_metadata(find_just_before(position.completed)):
        if not _is_behind(commit, position):
            continue
        events = int(metadata.get("events", "0"))
        if chosen and (total + events > max_events or len(chosen) == _MAX_COMMITS_A_PAGE):
            return chosen, total, True
        chosen.append(commit)
        total += events
    return chosen, total, False
