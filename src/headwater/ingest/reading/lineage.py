"""Lineage: the columns that say which object, version, row and event a row came from."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath

import pandas as pd
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, StringType, StructField, StructType, TimestampType

OBJECT = "_headwater_object"
VERSION = "_headwater_version"
ROW = "_headwater_row"
EVENT_ID = "_headwater_event_id"
EVENT_TIME = "_headwater_event_time"

LINEAGE_COLUMNS = (OBJECT, VERSION, ROW, EVENT_ID, EVENT_TIME)


@dataclass(frozen=True, slots=True)
class Lineage:
    """Where the rows of one object of a batch come from. `version` is the version id or etag read."""

    object_index: int
    uri: str
    version: str
    event_id: str
    event_time: datetime
    partition_values: tuple[str | None, ...] = ()


def build_uri(provider: str, bucket: str, key: str) -> str:
    """The object's address for people and for `explain`; keys are not encoded."""
    if provider == "local":
        return str(PurePosixPath(bucket) / key)
    scheme = {"gcs": "gs", "azure": "abfs"}.get(provider, "s3")
    return f"{scheme}://{bucket}/{key}"


def with_lineage(
    rows: DataFrame, spark: SparkSession, lineages: Sequence[Lineage], partition_columns: tuple[str, ...]
) -> DataFrame:
    """Add lineage and path partition columns in place of `object_index` and `row_number`."""
    schema = StructType(
        [
            StructField("object_index", IntegerType()),
            StructField(OBJECT, StringType()),
            StructField(VERSION, StringType()),
            StructField(EVENT_ID, StringType()),
            StructField(EVENT_TIME, TimestampType()),
            *(StructField(name, StringType()) for name in partition_columns),
        ]
    )
    data = {
        "object_index": pd.array([lineage.object_index for lineage in lineages], dtype="Int32"),
        OBJECT: [lineage.uri for lineage in lineages],
        VERSION: [lineage.version for lineage in lineages],
        EVENT_ID: [lineage.event_id for lineage in lineages],
        EVENT_TIME: pd.Series([lineage.event_time for lineage in lineages], dtype="datetime64[us, UTC]"),
    }
    for at, name in enumerate(partition_columns):
        data[name] = [lineage.partition_values[at] for lineage in lineages]
    known = spark.createDataFrame(pd.DataFrame(data), schema=schema)
    # One row an object: the join neither drops nor repeats rows.
    joined = rows.join(F.broadcast(known), on="object_index", how="inner")
    return joined.withColumnRenamed("row_number", ROW).drop("object_index")
