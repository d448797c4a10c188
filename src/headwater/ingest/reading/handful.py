"""Fetches a few small objects in this process, which avoids starting Python workers."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from headwater.ingest.fetching.object_fetch import FetchPlan, fetch_objects
from headwater.lake.local_frames import load_arrow

# More at once only take turns on the driver's cores, which also plan the batches of all tables.
_reserved = threading.BoundedSemaphore(os.cpu_count() or 1)


@contextmanager
def reserve_driver(*, is_alone: bool) -> Iterator[bool]:
    """Yield whether the driver may fetch a handful now: always if it `is_alone`, without other executors.

    With executors, False while it already fetches one for each of its cores: they would be idle otherwise.
    """
    if is_alone:
        yield True
        return
    is_free = _reserved.acquire(blocking=False)
    try:
        yield is_free
    finally:
        if is_free:
            _reserved.release()


def fetch_here(spark: SparkSession, wanted: pa.Table, plan: FetchPlan, outcome: StructType) -> DataFrame:
    """Return the result of `fetch_objects` for a lines format as a frame. Fetches immediately.

    `outcome` is the type of that column, which is passed flat: pandas has no nullable structs.
    """
    batches = list(fetch_objects(iter(wanted.to_batches()), plan))
    flat = pa.Table.from_batches(batches).flatten()
    schema = StructType(
        [
            StructField("object_index", IntegerType()),
            StructField("row_number", LongType()),
            StructField("value", StringType()),
            *(StructField(f"outcome.{field.name}", field.dataType) for field in outcome),
            *([StructField("rescued", StringType())] if plan.rescues else []),
        ]
    )
    frame = load_arrow(spark, flat, schema)
    fields = [F.col(f"`outcome.{field.name}`").alias(field.name) for field in outcome]
    is_outcome = F.col("`outcome.status`").isNotNull()
    return frame.select(
        *("object_index", "row_number", "value"),
        F.when(is_outcome, F.struct(*fields)).alias("outcome"),
        *(["rescued"] if plan.rescues else []),
    )
