"""The events table: every committed event, appended by capture and read by any number of tables."""

import threading
import time
import uuid
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import reduce
from itertools import compress
from operator import or_
from typing import Any

import pandas as pd
from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F

from headwater.capture.captured_event import CapturedEvent
from headwater.capture.division import Division
from headwater.capture.event_rows import (
    EPOCH,
    EVENTS_SCHEMA,
    select_history_columns,
    select_read_columns,
    select_windows,
    to_arrow,
    to_stored_event,
)
from headwater.capture.event_tail import EventTail
from headwater.capture.position import BEGINNING, END, EventRange, Position, parse_instant
from headwater.capture.seen_events import SeenEvents, find_window
from headwater.capture.shards import SEEN_KEY
from headwater.capture.shared_ids import SharedIds
from headwater.capture.stored_event import EventPage, StoredEvent
from headwater.lake.commit_signal import CommitSignal
from headwater.lake.jvm import explained_lake
from headwater.lake.local_frames import load_arrow
from headwater.lake.options import WriteOptions
from headwater.lake.queries.instants import format_instant
from headwater.lake.table import Table
from headwater.lake.timeline import Commit, find_just_before
from headwater.observability.tracing.traces import is_traced, link_commits, note_commit, record_span

_SETTLE = timedelta(minutes=10)
"""After this time, a commit of another process has been requested, if its clock is not far behind."""


@dataclass(frozen=True, slots=True)
class AppendResult:
    """The result of a batch: `events` rows written, `duplicates` already in the table."""

    events: int
    duplicates: int
    seconds: float


class EventsTable:
    """Append-only change log of the bucket. Readers in any thread or process.

    One process appends, or several that `share` it: then an event may be stored twice, but is read once. See
    `shards`.
    """

    def __init__(
        self,
        spark: SparkSession,
        path: str,
        metadata: Mapping[str, str] | None = None,
        division: Division | None = None,
    ) -> None:
        """Open the table at `path`; `metadata` is stored with every commit. `division` is for `select`."""
        self._spark = spark
        self.path = path
        self._metadata = metadata or {}
        self._table = Table(spark, path)
        self._seen = SeenEvents(self._load_ids)
        self._write_lock = threading.Lock()
        self._tail = EventTail(self._table, division)
        self._shared: SharedIds | None = None
        self.signal = CommitSignal(self._detect_commits)

    def share(self) -> None:
        """Expect other processes to append, too. Call it before the first append."""
        self._shared = SharedIds(self._table, self._tail)
        self._tail.forget()

    def create(self) -> None:
        """Create the table, with a commit without events, unless it exists. Raises `LakeError`."""
        if self._is_empty():
            frame = load_arrow(self._spark, to_arrow([]), EVENTS_SCHEMA)
            self._table.write(frame, self._build_options({"events": "0"}))

    def append(self, batch: Sequence[CapturedEvent]) -> AppendResult:
        """Commit the events that are not in the table yet, all or none. Raises `LakeError`.

        An empty batch, or one with known events only, makes no commit.
        """
        started = time.monotonic()
        with self._write_lock, explained_lake(self._table.path):
            ids = [(find_window(captured.moment), captured.event.event_id) for captured in batch]
            try:
                is_new = self._find_new(ids)
                kept = list(compress(batch, is_new))
                if kept:
                    self._commit(kept)
                    self._seen.add(list(compress(ids, is_new)))
            except Exception:
                # The commit may be complete despite the error, and ids of other processes may have been read
                # but not added: the known ids are read from the table again.
                self._seen.forget()
                self._tail.forget()
                raise
        if kept:
            self.signal.wake()
        return AppendResult(len(kept), len(batch) - len(kept), time.monotonic() - started)

    def _find_new(self, ids: Sequence[tuple[int, str]]) -> list[bool]:
        if self._shared and ids:
            self._seen.add(self._shared.read_new())
        return self._seen.keep_new(ids)

    def _commit(self, batch: Sequence[CapturedEvent]) -> None:
        batch_id = uuid.uuid4().hex
        frame = load_arrow(self._spark, to_arrow(batch), EVENTS_SCHEMA).coalesce(1)
        metadata = {"batch_id": batch_id, "events": str(len(batch))}
        if self._shared:
            metadata[SEEN_KEY] = self._shared.seen
        self._table.write(frame, self._build_options(metadata))
        commit = self._find_batch(batch_id)
        note_commit("events", instant=commit.requested, completed=commit.completed)
        if self._shared:
            self._shared.note_own(commit)
            return
        self._tail.add(
            commit,
            [
                StoredEvent(
                    c.event.event_id, c.event, c.received_at, c.source, Position(commit.completed, at)
                )
                for at, c in enumerate(batch)
            ],
        )

    def _build_options(self, metadata: Mapping[str, str]) -> WriteOptions:
        return WriteOptions(
            table_name="events",
            operation="bulk_insert",
            record_key=("event_id",),
            partition=("event_day",),
            changelog=True,
            commit_metadata={**self._metadata, **metadata},
        )

    def _find_batch(self, batch_id: str) -> Commit:
        timeline = self._table.load_timeline()
        for commit in reversed(timeline.commits):
            if timeline.read_own_metadata(commit).get("batch_id") == batch_id:
                return commit
        raise AssertionError(f"the commit of batch {batch_id} is not on the timeline")

    def select(self, beginnings: Collection[str]) -> "SelectedEvents":
        """Return the events as a table reads them whose keys begin with one of these."""
        return SelectedEvents(self, frozenset(beginnings))

    def read_after(
        self, position: Position, max_events: int, beginnings: Collection[str] | None = None
    ) -> EventPage:
        """See `EventTail.read_after`."""
        started = time.monotonic()
        page = self._tail.read_after(position, max_events, beginnings)
        if page.events:
            _trace_read(page, time.monotonic() - started)
        return page

    def find_events(self, event_ids: Collection[str]) -> dict[str, StoredEvent]:
        """Find events by id in any partition; scans the whole table."""
        if not event_ids or self._is_empty():
            return {}
        with explained_lake(self._table.path):
            wanted = self._spark.createDataFrame(pd.DataFrame({"event_id": sorted(event_ids)}))
            found = self._table.read().join(F.broadcast(wanted), on="event_id", how="left_semi")
            rows = found.select("_hoodie_commit_time", *select_read_columns()).collect()
            completed = self._table.load_timeline().find_completions({row[0] for row in rows})
        return {row["event_id"]: to_stored_event(row, completed[row[0]]) for row in rows}

    def iter_keys_after(self, position: Position, bucket: str) -> Iterator[str]:
        """Yield keys of the bucket's events after the offset, sorted and distinct, in constant memory."""
        return (key for key, _ in self._iter_newest([EventRange(position, END)], bucket))

    def iter_newest_in(self, ranges: Sequence[EventRange], bucket: str) -> Iterator[tuple[str, datetime]]:
        """Yield keys of the bucket's events in any of the ranges, sorted and distinct, in constant memory,
        each with the time of the newest commit that has one.
        """
        return ((key, parse_instant(newest)) for key, newest in self._iter_newest(ranges, bucket))

    def iter_event_times(self, until: Position, bucket: str) -> Iterator[tuple[str, datetime]]:
        """Yield keys of events up to the offset as `iter_newest_in`, with the time of the newest event."""
        if until > BEGINNING:
            time_of_event = F.unix_micros("event_time")
            for key, newest in self._iter_newest([EventRange(BEGINNING, until)], bucket, time_of_event):
                yield key, EPOCH + timedelta(microseconds=newest)

    def _iter_newest(
        self, ranges: Sequence[EventRange], bucket: str, time_of: Column | None = None
    ) -> Iterator[tuple[str, Any]]:
        if not ranges or self._is_empty():
            return
        is_within = reduce(or_, map(self._is_in, ranges))
        newest = F.max(F.col("_hoodie_commit_time") if time_of is None else time_of).alias("newest")
        with explained_lake(self._table.path):
            events = self._table.read().where((F.col("bucket") == bucket) & is_within)
            found = events.groupBy("key").agg(newest).orderBy("key")
            for row in found.toLocalIterator(prefetchPartitions=True):
                yield row["key"], row["newest"]

    def _is_in(self, events: EventRange) -> Column:
        is_after = self._is_after(events.after)
        return is_after if events.until == END else is_after & ~self._is_after(events.until)

    def _is_after(self, position: Position) -> Column:
        """Return whether an event is after the offset, as a Spark column."""
        commits = self._table.load_timeline().list_in_progress(position.completed)
        within = [commit.requested for commit in commits if commit.completed == position.completed]
        behind = [commit.requested for commit in commits if commit.completed > position.completed]
        requested = F.col("_hoodie_commit_time")
        return (
            (requested > position.completed)
            | requested.isin(behind)
            | (requested.isin(within) & (F.col("batch_index") > position.batch_index))
        )

    def iter_objects(self, bucket: str, objects: DataFrame) -> Iterator[tuple[Row, list[StoredEvent]]]:
        """Yield each row of `objects`, which has a column `key`, with the object's events; in key order.

        Objects without events are omitted. Scans the whole table. Raises `LakeError`.
        """
        if self._is_empty():
            return
        with explained_lake(self._table.path):
            stored = F.struct("_hoodie_commit_time", *select_read_columns())
            of_bucket = self._table.read().where(F.col("bucket") == bucket)
            wanted = of_bucket.select("key", stored.alias("event")).join(objects.select("key"), "key")
            by_key = wanted.groupBy("key").agg(F.collect_list("event").alias("events"))
            for row in by_key.join(objects, "key").orderBy("key").toLocalIterator(prefetchPartitions=True):
                # The time of the request: these events are not read by position.
                yield row, [to_stored_event(one, one["_hoodie_commit_time"]) for one in row["events"]]

    def find_last_key(self, bucket: str, prefix: str, before: str) -> str | None:
        """Return the last key of the bucket with this prefix and before this text. Scans the keys."""
        if self._is_empty():
            return None
        with explained_lake(self._table.path):
            key = F.col("key")
            found = self._table.read().where((F.col("bucket") == bucket) & key.startswith(prefix))
            (row,) = found.where(key < before).agg(F.max("key").alias("last")).collect()
            return None if row["last"] is None else str(row["last"])

    def read_history(self, bucket: str, key: str) -> list[dict[str, Any]]:
        """Return all events of one object, in the object's order, with `select_history_columns` and the
        completion time of the commit, `completed`."""
        if self._is_empty():
            return []
        with explained_lake(self._table.path):
            found = self._table.read().where((F.col("bucket") == bucket) & (F.col("key") == F.lit(key)))
            order = (F.coalesce("order_key", F.lit("")), F.col("event_time"), F.col("event_id"))
            rows = found.orderBy(*order).select(*select_history_columns()).collect()
            completed = self._table.load_timeline().find_completions({row["commit"] for row in rows})
        return [{**row.asDict(), "completed": completed[row["commit"]]} for row in rows]

    def find_newest(self) -> Position:
        """Return the offset after every event committed so far."""
        newest = self._tail.find_newest()
        return Position(newest.completed) if newest else BEGINNING

    def find_completed(self, requested: str, batch_index: int) -> Position:
        """Return the offset after an event of the commit requested at that time."""
        return Position(self._table.load_timeline().find_completions({requested})[requested], batch_index)

    def find_settled(self, now: datetime) -> str:
        """Return a requested time up to which no further commit can appear.

        Clocks of processes that share the table may differ.
        """
        active = self._table.load_timeline().active
        pending = [found.requested for found in active if found.is_write and found.state != "completed"]
        return min([format_instant(now - _SETTLE), *map(find_just_before, pending)])

    def find_metadata(self, key: str) -> Mapping[str, str] | None:
        """Return the metadata of the newest active commit that carries `key`, or None."""
        timeline = self._table.load_timeline()
        commit = timeline.find_commit(key) if timeline.exists() else None
        return None if commit is None else timeline.read_own_metadata(commit)

    def has_events_of(self, bucket: str) -> bool:
        """True if the table has an event of that bucket."""
        events = self.read_snapshot()
        return events is not None and not events.where(F.col("bucket") == bucket).isEmpty()

    def read_snapshot(self) -> DataFrame | None:
        """Return all committed events as a lazy frame with all columns; None before the first one."""
        if self._is_empty():
            return None
        return self._table.read()

    def read_range(self, events: EventRange) -> DataFrame | None:
        """Return the events in a range as a lazy frame with all columns; None before the first one."""
        found = self.read_snapshot()
        return None if found is None else found.where(self._is_in(events))

    def append_frame(self, frame: DataFrame, events: int) -> None:
        """Commit so many rows of `EVENTS_SCHEMA`, of which the table has none. Raises `LakeError`."""
        with self._write_lock, explained_lake(self._table.path):
            self._table.write(frame, self._build_options({"events": str(events)}))
            self._seen.forget()
            self._tail.forget()
        self.signal.wake()

    def _detect_commits(self) -> None:
        """Drop what is remembered of the table if another process has committed to it."""
        if self._shared:
            return  # `append` looks for commits, and nothing else is remembered
        newest = self._tail.find_newest()
        with self._write_lock:
            if newest and self._tail.is_behind(newest):
                self._seen.forget()
                self._tail.restart(newest)

    def _is_empty(self) -> bool:
        return not self._table.load_timeline().has_commits()

    def _load_ids(self, windows: Collection[int]) -> Iterator[tuple[int, str]]:
        if self._is_empty():
            return
        with explained_lake(self._table.path):
            stored = select_windows(self._table.read(), windows)
            # Text, and only some of it at once: Spark limits what the driver may collect.
            pieces = stored.groupBy("window", F.substring("event_id", 1, 2)).agg(
                F.concat_ws("", F.collect_list("event_id")).alias("ids")
            )
            for row in pieces.select("window", "ids").toLocalIterator(prefetchPartitions=True):
                yield row["window"], row["ids"]


@dataclass(frozen=True, slots=True)
class SelectedEvents:
    """The events table without most events of other tables."""

    events: EventsTable
    beginnings: frozenset[str]

    def read_after(self, position: Position, max_events: int) -> EventPage:
        """See `EventTail.read_after`."""
        return self.events.read_after(position, max_events, self.beginnings)


def _trace_read(page: EventPage, seconds: float) -> None:
    """Add the read to the trace of the batch, and link it to those of the commits read.

    A read without events starts no trace: a table that waits for events reads several times a second.
    """
    if is_traced():
        record_span("read events", ago=seconds, events=len(page.events), end=page.end.to_text())
        link_commits("events", sorted({stored.position.completed for stored in page.events}))
