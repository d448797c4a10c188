"""Reads from the events table which files of a folder were announced."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from headwater.capture.control_events import LISTED_EVENT, VANISHED_EVENT
from headwater.capture.events_table import EventsTable
from headwater.lake.jvm import explained_lake
from headwater.sources.local.folder_watcher.file_messages import FILE_FIELD, parse_order
from headwater.sources.local.folder_watcher.known_files import KnownFile


def read_announced_files(events: EventsTable, bucket: str) -> dict[str, KnownFile]:
    """Return announced files by key, with deleted ones: files re-created there must get a later order.

    Raises `LakeError`.
    """
    with explained_lake(events.path):
        snapshot = events.read_snapshot()
        if snapshot is None:
            return {}
        rows = select_announced(snapshot.where(F.col("bucket") == bucket)).collect()
    return {
        key: KnownFile(
            etag=etag or "",
            order=parse_order(order_key) if order_key else 0,
            is_present=kind != "removed",
            identity=identity or "",
            digest=digest or "",
        )
        for key, kind, etag, order_key, identity, digest in rows
    }


def select_announced(events: DataFrame) -> DataFrame:
    """Select one row per key: key, kind, etag, order_key, identity, digest.

    State observed by a reconcile counts if the reconcile began after the watcher's newest event.
    """
    is_announced = F.col("order_key").isNotNull() & F.col("kind").isin("created", "removed")
    is_listed = F.col("event_name").isin(LISTED_EVENT, VANISHED_EVENT)
    order = F.struct("order_key", "event_time")
    content = F.struct("etag", _read_field("identity"), _read_field("digest"))
    grouped = (
        events.where(is_announced | is_listed)
        .groupBy("key")
        .agg(
            _newest(is_announced, F.struct("kind", "order_key", "event_time"), order).alias("announced"),
            _newest(is_announced & (F.col("kind") == "created"), content, order).alias("content"),
            _newest(is_listed, F.struct("kind", "etag", "received_at"), F.col("received_at")).alias("listed"),
        )
    )
    is_seen_later = F.col("listed").isNotNull() & (
        F.col("announced").isNull() | (F.col("listed.received_at") > F.col("announced.event_time"))
    )
    has_content = ~is_seen_later | (F.col("listed.kind") == "removed")
    return grouped.select(
        "key",
        F.when(is_seen_later, F.col("listed.kind")).otherwise(F.col("announced.kind")),
        F.when(has_content, F.col("content.etag")).otherwise(F.col("listed.etag")),
        "announced.order_key",
        F.when(has_content, F.col("content.identity")),
        F.when(has_content, F.col("content.digest")),
    )


def _read_field(name: str) -> Column:
    return F.get_json_object("raw", f"$.{FILE_FIELD}.{name}").alias(name)


def _newest(which: Column, value: Column, order: Column) -> Column:
    return F.max_by(F.when(which, value), F.when(which, order))
