"""The objects of a bucket according to the events table: one row per object, sorted, of any number.

The newest event by order key decides, or a newer listing's observation. So an overwrite whose notification
was lost is known from the listing that found it, and is not reported again every day. Objects that a table
observed after all their events are also compared, because their removal may have been lost. So are objects of
which a table read another content than the listed one: it may have been deleted since, with every event lost.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta, timezone
from functools import reduce
from typing import Protocol

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.capture.captured_event import CapturedEvent
from headwater.capture.events_table import AppendResult, EventsTable
from headwater.capture.reconcile.grouping import (
    find_states,
    group_events,
    merge_groups,
    select_describing,
)
from headwater.capture.reconcile.stored_groups import StoredGroups
from headwater.lake.jvm import explained_lake
from headwater.sources.listing_diff import KnownState

_ROWS_A_PARTITION = 50_000
"""Rows that the driver holds at a time; the next part is fetched concurrently."""

_SEEN = "array<struct<after: timestamp, etag: string, read_after: timestamp>>"
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class TableObservations(Protocol):
    """The objects that a data table observed in the bucket, with or without an event."""

    def read_seen(self) -> DataFrame | None:
        """Return `bucket`, `key`, and the fields of `TableObservation`; None if empty.

        Raises `LakeError`.
        """
        ...


class KnownStates:
    """The events table as a reconcile needs it, with the observations of `tables`.

    With `stored`, the events that it covers are not read. `grouped` is the number of events that the last
    `iter_known` has read.
    """

    def __init__(
        self,
        events: EventsTable,
        tables: Sequence[TableObservations] = (),
        stored: StoredGroups | None = None,
    ) -> None:
        self._events = events
        self._tables = tables
        self._stored = stored
        self.grouped = 0

    def append(self, batch: Sequence[CapturedEvent]) -> AppendResult:
        """See `EventsTable.append`."""
        return self._events.append(batch)

    def iter_known(self, bucket: str, prefix: str = "", start_after: str = "") -> Iterator[KnownState]:
        """Yield objects that exist according to the events, in the order of their keys. Raises `LakeError`.

        Reads the events committed at the time of the call. Spark sorts them into ranges of keys, which are
        returned one after the other.
        """
        with explained_lake(self._events.path):
            snapshot = self._events.read_snapshot()
            if snapshot is None:
                return iter(())
            found = self._stored.load() if self._stored else None
            if found is not None:
                snapshot = snapshot.where(found.is_later)

            def select_range(rows: DataFrame) -> DataFrame:
                is_meant = F.col("key").startswith(prefix) & (F.col("key") > start_after)
                return rows.where((F.col("bucket") == bucket) & is_meant)

            events = select_range(select_describing(snapshot))
            self.grouped = events.count()
            partitions = (self.grouped + (found.rows if found else 0)) // _ROWS_A_PARTITION + 1
            groups = group_events(events)
            if found is not None:
                groups = merge_groups(select_range(found.groups), groups)
            seen = self._select_seen(bucket)
            if seen is not None:
                seen = seen.where(F.col("key").startswith(prefix) & (F.col("key") > start_after))
            known = select_known_states(groups, seen)
            ordered = known.repartitionByRange(partitions, "key").sortWithinPartitions("key")
        return self._iter_rows(ordered)

    def _select_seen(self, bucket: str) -> DataFrame | None:
        """Select one row per key: several tables may have observed it."""
        frames = [frame for frame in (table.read_seen() for table in self._tables) if frame is not None]
        if not frames:
            return None
        seen = reduce(DataFrame.unionByName, frames).where(F.col("bucket") == bucket)
        observation = F.struct("after", "etag", "read_after")
        return seen.groupBy("key").agg(F.collect_list(observation).alias("seen"))

    def _iter_rows(self, ordered: DataFrame) -> Iterator[KnownState]:
        with explained_lake(self._events.path):
            for row in ordered.toLocalIterator(prefetchPartitions=True):
                key, etag, version_id, size, micros, may_be_deleted, is_unheard = row
                time = None if micros is None else _EPOCH + timedelta(microseconds=micros)
                yield KnownState(
                    key,
                    etag,
                    version_id,
                    size,
                    time,
                    may_be_deleted=bool(may_be_deleted),
                    is_unheard=bool(is_unheard),
                )


def select_known_states(groups: DataFrame, seen: DataFrame | None = None) -> DataFrame:
    """Select the objects of one bucket that exist according to the groups of its events, one row per key.

    Columns: key, etag, version_id, size, event_time in microseconds, may_be_deleted, is_unheard. `seen` has
    one row per key, with the observations of tables as an array.
    """
    found = find_states(groups)
    if seen is None:
        found = found.withColumn("seen", F.lit(None).cast(_SEEN))
    else:
        # Without any event, a request had the table read the object.
        found = found.join(seen, "key", "full_outer")

    def is_present(one: Column) -> Column:
        is_later = F.col("reported_at").isNull() | (one["after"] >= F.col("reported_at"))
        return is_later & ~((one["etag"] == "") & one["read_after"].isNotNull())

    is_unheard = F.col("state").isNull() & _has_seen(is_present)
    return found.where(F.col("state").isNotNull() | is_unheard).select(
        "key",
        "state.etag",
        "state.version_id",
        "state.size",
        F.unix_micros("state.event_time").alias("event_time"),
        _may_be_deleted().alias("may_be_deleted"),
        (is_unheard | _is_contradicted()).alias("is_unheard"),
    )


def _has_seen(is_meant: Callable[[Column], Column]) -> Column:
    """Return whether this is true of an observation of some table."""
    return F.coalesce(F.exists("seen", is_meant), F.lit(False))


def _is_contradicted() -> Column:
    """Return whether a table read the object after its state was known, and found another content."""
    listed_at, etag = F.col("listed_at"), F.col("state.etag")

    def is_other(one: Column) -> Column:
        # As `is_same_etag`.
        is_same = (one["etag"] == etag) | one["etag"].startswith(F.concat(etag, F.lit("-")))
        # The notification of a state precedes the reads of tables that have processed it. A listing does not.
        is_later = F.when(listed_at.isNull(), one["after"] >= F.col("state.event_time")).otherwise(
            one["read_after"] >= listed_at
        )
        return one["read_after"].isNotNull() & is_later & ~is_same

    return (F.coalesce(etag, F.lit("")) != "") & _has_seen(is_other)


def _may_be_deleted() -> Column:
    # A newer put has another etag or a later time.
    is_same = F.col("cleaned.etag").eqNullSafe(F.col("state.etag"))
    return is_same & (F.col("cleaned.event_time") >= F.col("state.event_time"))
