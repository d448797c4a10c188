"""The row of the events table: its Spark schema and the conversion from and to `CapturedEvent`."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType, TimestampType

from headwater.capture.captured_event import CapturedEvent
from headwater.capture.position import Position
from headwater.capture.seen_events import WINDOW_SECONDS
from headwater.capture.stored_event import StoredEvent
from headwater.sources.object_event import ObjectEvent

EVENTS_SCHEMA = StructType(
    [
        StructField("event_id", StringType(), nullable=False),
        StructField("object_id", StringType(), nullable=False),
        StructField("provider", StringType()),
        StructField("bucket", StringType()),
        StructField("key", StringType()),
        StructField("version_id", StringType()),
        StructField("sequencer", StringType()),
        StructField("order_key", StringType()),
        StructField("kind", StringType()),
        StructField("event_name", StringType()),
        StructField("event_time", TimestampType()),
        StructField("size", LongType()),
        StructField("etag", StringType()),
        StructField("raw", StringType()),
        StructField("received_at", TimestampType()),
        StructField("message_id", StringType()),
        StructField("source", StringType()),
        StructField("batch_index", IntegerType()),
        StructField("event_day", StringType()),
    ]
)
"""Partitioned by `event_day`; `batch_index` orders the rows of one commit."""

READ_COLUMNS = tuple(
    name for name in EVENTS_SCHEMA.fieldNames() if name not in {"raw", "message_id", "event_day", "object_id"}
)
"""The columns that a consumer needs; the raw JSON stays on disk."""

_ARROW_SCHEMA = to_arrow_schema(EVENTS_SCHEMA)
# Spark evaluates a filter of many values for every row; more than this are joined instead.
_FILTER_LIMIT = 200
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def to_arrow(batch: Sequence[CapturedEvent]) -> pa.Table:
    """Return rows in the order of `EVENTS_SCHEMA`; timestamps are UTC with microseconds."""
    events = [captured.event for captured in batch]
    columns: dict[str, Any] = {
        "event_id": [event.event_id for event in events],
        "object_id": [event.object_id for event in events],
        "provider": [event.provider for event in events],
        "bucket": [event.bucket for event in events],
        "key": [event.key for event in events],
        "version_id": [event.version_id for event in events],
        "sequencer": [event.sequencer for event in events],
        "order_key": [event.order_key for event in events],
        "kind": [event.kind for event in events],
        "event_name": [event.event_name for event in events],
        "event_time": [event.event_time for event in events],
        "size": [event.size for event in events],
        "etag": [event.etag for event in events],
        "raw": [event.raw for event in events],
        "received_at": [captured.received_at for captured in batch],
        "message_id": [captured.message_id for captured in batch],
        "source": [captured.source for captured in batch],
        "batch_index": range(len(batch)),
        "event_day": [captured.day for captured in batch],
    }
    return pa.Table.from_pydict(columns, schema=_ARROW_SCHEMA)


def select_read_columns() -> list[Column]:
    """Select `READ_COLUMNS` with times in microseconds: PySpark would return the driver's local time."""
    times = {"event_time", "received_at"}
    return [F.unix_micros(name).alias(name) if name in times else F.col(name) for name in READ_COLUMNS]


def select_history_columns() -> list[Column]:
    """Select all columns for display: times as text, and the instant of the commit."""
    times = {"event_time", "received_at"}
    shown = [
        F.date_format(name, "yyyy-MM-dd'T'HH:mm:ss.SSSXXX").alias(name) if name in times else F.col(name)
        for name in EVENTS_SCHEMA.fieldNames()
        if name != "event_day"
    ]
    return [F.col("_hoodie_commit_time").alias("commit"), *shown]


def build_window() -> Column:
    """Return the number of an event's window, as `find_window` of `CapturedEvent.moment`."""
    moment = F.when(F.col("source") == "listing", F.col("received_at")).otherwise(F.col("event_time"))
    return F.floor(F.unix_seconds(moment) / WINDOW_SECONDS).alias("window")


def select_windows(events: DataFrame, windows: Collection[int]) -> DataFrame:
    """Select `window` and `event_id` of the events in these windows, which must not be empty."""
    begin = F.timestamp_seconds(F.lit(min(windows) * WINDOW_SECONDS))
    end = F.timestamp_seconds(F.lit((max(windows) + 1) * WINDOW_SECONDS))
    # Without conditions on stored columns, Spark would read every file of the days.
    is_near = F.col("event_time").between(begin, end) | F.col("received_at").between(begin, end)
    days = {(EPOCH + timedelta(seconds=window * WINDOW_SECONDS)).date().isoformat() for window in windows}
    found = events.where(F.col("event_day").isin(sorted(days)) & is_near).select(build_window(), "event_id")
    if len(windows) <= _FILTER_LIMIT:
        return found.where(F.col("window").isin(list(windows)))
    wanted = events.sparkSession.createDataFrame([(window,) for window in windows], "window bigint")
    return found.join(F.broadcast(wanted), "window", "left_semi")


def to_stored_event(row: Any, completed: str) -> StoredEvent:
    """Convert a row of `select_read_columns`."""
    event = ObjectEvent(
        provider=row["provider"],
        bucket=row["bucket"],
        key=row["key"],
        version_id=row["version_id"],
        sequencer=row["sequencer"],
        order_key=row["order_key"],
        kind=row["kind"],
        event_name=row["event_name"],
        event_time=_aware(row["event_time"]),
        size=row["size"],
        etag=row["etag"],
    )
    return StoredEvent(
        event_id=row["event_id"],
        event=event,
        received_at=_aware(row["received_at"]),
        source=row["source"],
        position=Position(completed, row["batch_index"]),
    )


def _aware(micros: int) -> datetime:
    return EPOCH + timedelta(microseconds=micros)
