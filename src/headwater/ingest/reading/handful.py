"""Fetches a few small objects in this process, which avoids starting Python workers."""

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from headwater.ingest.fetching.object_fetch import FetchPlan, fetch_objects
from headwater.lake.local_frames import load_arrow


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
