"""Retracts rows of removed or rewritten objects, in one commit with the new rows."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import BooleanType, StringType, StructField, StructType

from headwater.ingest.lineage import EVENT_ID, OBJECT
from headwater.lake.local_frames import build_frame
from headwater.lake.options import DELETED
from headwater.lake.table import Table

# Spark evaluates a filter of many objects for every row; more than this are joined instead.
_FILTER_LIMIT = 200

_OUTDATED_SCHEMA = StructType(
    [
        StructField(OBJECT, StringType()),
        StructField("outdated_event", StringType()),
        StructField("is_outdated", BooleanType()),
    ]
)


@dataclass(frozen=True, slots=True)
class OutdatedRows:
    """The outdated rows of one object: all of them, or those written for these events."""

    uri: str
    event_ids: frozenset[str] | None = None


def build_deletes(
    table: Table, outdated_rows: Sequence[OutdatedRows], new_rows: DataFrame | None, keys: Sequence[str]
) -> DataFrame:
    """Return the objects' stored rows, marked as deleted, except those that `new_rows` replaces.

    `keys` are the columns that identify a row: record key and partition.
    """
    stored = _drop_own(read_stored(table, outdated_rows))
    if new_rows is not None:
        rewritten = new_rows.select(*(F.col(f"`{name}`").alias(f"new_{at}") for at, name in enumerate(keys)))
        # True of all of them. Without it Spark joins all stored rows with the new ones, which sorts the
        # table. With it, Spark joins only the affected rows.
        same = F.col("is_outdated")
        for at, name in enumerate(keys):
            same = same & F.col(f"`{name}`").eqNullSafe(F.col(f"new_{at}"))
        stored = stored.join(rewritten, on=same, how="left_anti")
    # Null in all other rows: Hudi adds no non-nullable column to a table.
    return stored.drop("is_outdated").withColumn(DELETED, F.when(F.lit(True), F.lit(True)))


def read_stored(table: Table, outdated_rows: Sequence[OutdatedRows]) -> DataFrame:
    """Return the stored rows of the objects, with Hudi's own columns and `is_outdated`, which is true."""
    stored = table.read()
    if len(outdated_rows) <= _FILTER_LIMIT:
        # Pushed down to the scan, which skips whole files by their statistics.
        stored = stored.where(F.col(OBJECT).isin([entry.uri for entry in outdated_rows]))
    entries = [
        (entry.uri, event_id, True)
        for entry in outdated_rows
        for event_id in (entry.event_ids if entry.event_ids is not None else (None,))
    ]
    # By default, each row is a task of its own if there are enough cores.
    wanted = build_frame(table.spark, entries, _OUTDATED_SCHEMA).coalesce(1)
    joined = stored.join(F.broadcast(wanted), on=OBJECT, how="inner")
    is_write = F.col("outdated_event").isNull() | (F.col("outdated_event") == F.col(EVENT_ID))
    return joined.where(is_write).select(*(F.col(f"`{name}`") for name in stored.columns), "is_outdated")


def _drop_own(stored: DataFrame) -> DataFrame:
    return stored.drop(*(name for name in stored.columns if name.startswith("_hoodie_")))
