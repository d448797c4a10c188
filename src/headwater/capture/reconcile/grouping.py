"""The newest event of each kind for every object: all that a reconcile needs of the events, in Spark.

Groups can be merged: the groups of some events and those of the others give those of all. So they can be
stored, see `StoredGroups`, and only later events have to be grouped.
"""

from datetime import datetime
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from headwater.capture.control_events import (
    CLEANED_EVENT,
    DROP_EVENT,
    REQUESTS,
    RETRACT_EVENT,
    TAGGED_EVENT,
)
from headwater.capture.reconcile.newest_state import CERTAIN_REMOVALS

KEYS = ("bucket", "key")
_ORDER = StructType([StructField("order_key", StringType()), StructField("event_time", TimestampType())])
_EVENT = StructType(
    [
        StructField("kind", StringType()),
        StructField("etag", StringType()),
        StructField("version_id", StringType()),
        StructField("size", LongType()),
        StructField("event_time", TimestampType()),
        StructField("received_at", TimestampType()),
        StructField("order", _ORDER),
    ]
)
_VERSION = StructType([StructField("version_id", StringType()), StructField("order", _ORDER)])
GROUP_SCHEMA = StructType(
    [
        StructField("bucket", StringType()),
        StructField("key", StringType()),
        StructField("created", _EVENT),
        StructField("removed", _EVENT),
        StructField("version_removed", _EVENT),
        StructField("versions_removed", ArrayType(_VERSION)),
        StructField("listed", _EVENT),
        StructField("cleaned", _EVENT),
    ]
)
"""One row for each object that has events. Every event but those in `versions_removed` is the newest of its
kind; `listed` is by the time of the listing, and its absence is an event, too."""
_NEWEST = ("created", "removed", "version_removed")
_OBSERVED = ("listed", "cleaned")


def select_describing(events: DataFrame) -> DataFrame:
    """Select the events that describe an object: requests to read it or to give it up do not."""
    is_state = F.col("kind").isin("created", "restored", "removed") | _is_cleaning()
    return events.where(is_state & ~F.col("event_name").isin(*REQUESTS, DROP_EVENT, RETRACT_EVENT))


def group_events(events: DataFrame) -> DataFrame:
    """Group the events that `select_describing` returns; see `GROUP_SCHEMA`."""
    from_listing = (F.col("source") == "listing") & F.col("order_key").isNull() & ~_is_cleaning()
    is_removal = F.col("kind") == "removed"
    # For any sender: removing a version other than the newest does not change the current object.
    is_marker = reduce(or_, (F.col("event_name").endswith(end) for end in CERTAIN_REMOVALS))
    of_version = ~is_marker & ~F.coalesce("version_id", F.lit("")).isin("", "null")
    order = F.struct("order_key", "event_time")
    observed = F.struct("received_at", "event_time")
    is_version_removal = ~from_listing & is_removal & of_version
    removed_version = F.when(is_version_removal, F.struct("version_id", order.alias("order")))
    return events.groupBy(*KEYS).agg(
        _newest(~from_listing & ~is_removal & ~_is_cleaning(), order).alias("created"),
        _newest(~from_listing & is_removal & ~of_version, order).alias("removed"),
        _newest(is_version_removal, order).alias("version_removed"),
        F.collect_list(removed_version).alias("versions_removed"),
        _newest(from_listing, observed).alias("listed"),
        _newest(_is_cleaning(), observed).alias("cleaned"),
    )


def merge_groups(*groups: DataFrame) -> DataFrame:
    """Return the groups of all events of which `groups` are those of some."""
    together = reduce(DataFrame.unionByName, groups)
    newest = [F.max_by(name, F.col(f"{name}.order")).alias(name) for name in _NEWEST]
    observed = [
        F.max_by(name, F.when(F.col(name).isNotNull(), F.struct(f"{name}.received_at", f"{name}.event_time")))
        for name in _OBSERVED
    ]
    return together.groupBy(*KEYS).agg(
        *newest,
        F.flatten(F.collect_list("versions_removed")).alias("versions_removed"),
        *(column.alias(name) for name, column in zip(_OBSERVED, observed, strict=True)),
    )


def find_states(groups: DataFrame) -> DataFrame:
    """Add each group's object (`state`, null without one) and the time of its last event (`reported_at`).

    `listed_at` is the time of the listing if one observed the state, else null.
    """
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
    return groups.withColumns(
        {
            "state": F.when(state["kind"] != "removed", state),
            "reported_at": F.greatest(reported_at, "listed.received_at"),
            "listed_at": F.when(listed_later, F.col("listed.received_at")),
        }
    )


def reduce_groups(groups: DataFrame, removed_before: datetime) -> DataFrame:
    """Drop objects that were removed before that time, and deletions of versions before the newest put.

    An event of a dropped object that arrives even later makes a reconcile report its absence once more.
    """
    reported_at, limit = F.col("reported_at"), F.lit(removed_before)
    is_kept = F.col("state").isNotNull() | F.coalesce(reported_at >= limit, F.lit(True))

    def counts(removal: Column) -> Column:
        return F.col("created").isNull() | (removal["order"] > F.col("created.order"))

    kept = find_states(groups).where(is_kept).select(*GROUP_SCHEMA.names)
    return kept.withColumn("versions_removed", F.filter("versions_removed", counts))


def _is_cleaning() -> Column:
    return F.col("event_name").isin(CLEANED_EVENT, TAGGED_EVENT)


def _newest(which: Column, order: Column) -> Column:
    """Return the newest of these events, or null."""
    fields = ("kind", "etag", "version_id", "size", "event_time", "received_at")
    event = F.struct(*fields, F.struct("order_key", "event_time").alias("order"))
    return F.max_by(F.when(which, event), F.when(which, order))
