"""Rows that leave a table because their object did, or is written again: in one commit with the new rows."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, StringType, StructField, StructType

from headwater.ingest.lineage import EVENT_ID, OBJECT
from headwater.lake.local_frames import build_frame
from headwater.lake.options import DELETED
from headwater.lake.table import Table

# A filter of so many objects is looked through for every row; more of them are joined.
_FILTER_LIMIT = 200

_GONE_SCHEMA = StructType(
    [
        StructField(OBJECT, StringType()),
        StructField("gone_event", StringType()),
        StructField("is_gone", BooleanType()),
    ]
)


@dataclass(frozen=True, slots=True)
class Gone:
    """The stored rows of one object are out of date: all of them, or those written for these events."""

    uri: str
    event_ids: frozenset[str] | None = None


def build_deletes(
    table: Table, gone: Sequence[Gone], new_rows: DataFrame | None, keys: Sequence[str]
) -> DataFrame:
    """The stored rows of the objects, marked as deleted, unless `new_rows` has one at the same place.

    `keys` are the columns that tell a row's place: record key and partition.
    """
    stored = _drop_own(read_stored(table, gone))
    if new_rows is not None:
        rewritten = new_rows.select(*(F.col(f"`{name}`").alias(f"new_{at}") for at, name in enumerate(keys)))
        # True of all of them. Without it Spark looks for all stored rows among the new ones, which sorts the
        # table, and for the few that are concerned only then.
        same = F.col("is_gone")
        for at, name in enumerate(keys):
            same = same & F.col(f"`{name}`").eqNullSafe(F.col(f"new_{at}"))
        stored = stored.join(rewritten, on=same, how="left_anti")
    # Null in all other rows: Hudi adds no column to a table that must not be null.
    return stored.drop("is_gone").withColumn(DELETED, F.when(F.lit(True), F.lit(True)))


def read_stored(table: Table, gone: Sequence[Gone]) -> DataFrame:
    """The stored rows of the objects, with Hudi's own columns and `is_gone`, which is true."""
    stored = table.read()
    if len(gone) <= _FILTER_LIMIT:
        # Told to the scan: whole files are passed over by their statistics.
        stored = stored.where(F.col(OBJECT).isin([entry.uri for entry in gone]))
    entries = [
        (entry.uri, event_id, True)
        for entry in gone
        for event_id in (entry.event_ids if entry.event_ids is not None else (None,))
    ]
    wanted = build_frame(table.spark, entries, _GONE_SCHEMA)
    joined = stored.join(F.broadcast(wanted), on=OBJECT, how="inner")
    is_write = F.col("gone_event").isNull() | (F.col("gone_event") == F.col(EVENT_ID))
    return joined.where(is_write).select(*(F.col(f"`{name}`") for name in stored.columns), "is_gone")


def _drop_own(stored: DataFrame) -> DataFrame:
    return stored.drop(*(name for name in stored.columns if name.startswith("_hoodie_")))
