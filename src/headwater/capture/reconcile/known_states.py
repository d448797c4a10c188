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
from headwater.capture.control_events import (
    CLEANED_EVENT,
    DROP_EVENT,
    REQUESTS,
    RETRACT_EVENT,
    TAGGED_EVENT,
)
from headwater.capture.events_table import AppendResult, EventsTable
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
    """The events table as a reconcile needs it, with the observations of `tables`."""

    def __init__(self, events: EventsTable, tables: Sequence[TableObservations] = ()) -> None:
        self._events = events
        self._tables = tables

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
            events = snapshot.where(
                (F.col("bucket") == bucket)
                & F.col("key").startswith(prefix)
                & (F.col("key") > start_after)
                & (F.col("kind").isin("created", "restored", "removed") | _is_cleaning())
                # Requests to re-read or give up an object do not describe the object in the bucket.
                & ~F.col("event_name").isin(*REQUESTS, DROP_EVENT, RETRACT_EVENT)
            )
            partitions = events.count() // _ROWS_A_PARTITION + 1
            seen = self._select_seen(bucket)
            if seen is not None:
                seen = seen.where(F.col("key").startswith(prefix) & (F.col("key") > start_after))
            known = select_known_states(events, seen)
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


def select_known_states(events: DataFrame, seen: DataFrame | None = None) -> DataFrame:
    """Select the objects that exist according to the events, one row per key.

    Columns: key, etag, version_id, size, event_time in microseconds, may_be_deleted, is_unheard. `seen` has
    one row per key, with the observations of tables as an array.
    """
    found = _fold_events(events)
    if seen is None:
        found = found.withColumn("seen", F.lit(None).cast(_SEEN))
    else:
        # Without any event, a request had the table read the object.
        found = found.join(seen, "key", "full_outer")
    is_unheard = F.col("state").isNull() & _has_seen(
        lambda one: F.col("reported_at").isNull() | (one["after"] >= F.col("reported_at"))
    )
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
    """Return whether a table that read the object after the listing found another content."""
    listed_at, etag = F.col("listed_at"), F.col("state.etag")

    def is_other(one: Column) -> Column:
        # As `is_same_etag`.
        is_same = (one["etag"] == etag) | one["etag"].startswith(F.concat(etag, F.lit("-")))
        return (one["read_after"] >= listed_at) & ~is_same

    return listed_at.isNotNull() & (F.coalesce(etag, F.lit("")) != "") & _has_seen(is_other)


def _fold_events(events: DataFrame) -> DataFrame:
    """Return for every key its object (`state`, else null), its cleaning, and the time of its last event."""
    grouped = _group_events(events)
    created, removed = F.col("created"), F.col("removed")

    def is_of_created(removal: Column) -> Column:
        is_same = removal["version_id"].eqNullSafe(F.col("created.version_id"))
        return is_same & (removal["order"] > F.col("created.order"))

    is_version_deleted = F.exists("versions_removed", is_of_created)
    exists = (
        created.isNotNull()
        & (removed.isNull() | (F.col("removed.order") < F.col("created.order")))
        & ~is_version_deleted
    )
    reported_at = F.when(exists, F.col("created.event_time")).otherwise(
        F.greatest("removed.event_time", "version_removed.event_time", "created.event_time")
    )
    listed_later = F.col("listed").isNotNull() & (
        reported_at.isNull() | (F.col("listed.received_at") > reported_at)
    )
    state = F.when(listed_later, F.col("listed")).when(exists, created)
    return grouped.select(
        "key",
        F.when(state["kind"] != "removed", state).alias("state"),
        F.greatest(reported_at, "listed.received_at").alias("reported_at"),
        F.when(listed_later, F.col("listed.received_at")).alias("listed_at"),
        "cleaned",
    )


def _group_events(events: DataFrame) -> DataFrame:
    """Select for every key the newest event of each kind."""
    from_listing = (F.col("source") == "listing") & F.col("order_key").isNull() & ~_is_cleaning()
    is_removal = F.col("kind") == "removed"
    # For any sender: removing a version other than the newest does not change the current object.
    is_marker = F.col("event_name").endswith("DeleteMarkerCreated")
    of_version = ~is_marker & ~F.coalesce("version_id", F.lit("")).isin("", "null")
    order = F.struct("order_key", "event_time")
    is_version_removal = ~from_listing & is_removal & of_version
    removed_version = F.when(is_version_removal, F.struct("version_id", order.alias("order")))
    return events.groupBy("key").agg(
        _newest(~from_listing & ~is_removal & ~_is_cleaning(), order).alias("created"),
        _newest(~from_listing & is_removal & ~of_version, order).alias("removed"),
        _newest(is_version_removal, order).alias("version_removed"),
        F.collect_list(removed_version).alias("versions_removed"),
        _newest(from_listing, F.struct("received_at", "event_time")).alias("listed"),
        _newest(_is_cleaning(), F.struct("received_at", "event_time")).alias("cleaned"),
    )


def _may_be_deleted() -> Column:
    # A newer put has another etag or a later time.
    is_same = F.col("cleaned.etag").eqNullSafe(F.col("state.etag"))
    return is_same & (F.col("cleaned.event_time") >= F.col("state.event_time"))


def _is_cleaning() -> Column:
    return F.col("event_name").isin(CLEANED_EVENT, TAGGED_EVENT)


def _newest(which: Column, order: Column) -> Column:
    """Return the newest of these events, or null."""
    fields = ("kind", "etag", "version_id", "size", "event_time", "received_at")
    event = F.struct(*fields, F.struct("order_key", "event_time").alias("order"))
    return F.max_by(F.when(which, event), F.when(which, order))
