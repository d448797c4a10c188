"""Lineage: columns with the object, version, row and event that a row came from."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import PurePosixPath

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    DataType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from headwater.ingest.planning.outcome import ObjectOutcome
from headwater.ingest.planning.selection import parse_partition_values
from headwater.lake.local_frames import build_frame

OBJECT = "_headwater_object"
VERSION = "_headwater_version"
ROW = "_headwater_row"
EVENT_ID = "_headwater_event_id"
EVENT_TIME = "_headwater_event_time"
SOURCE_KEY = "_headwater_source_key"
"""In a table built from another table: the source row of a row."""
SOURCE_ROW = "_headwater_source_row"
"""Its index among the rows from the same source row."""
REMOVED_AT = "_headwater_removed_at"
"""Set in rows of releases that marked the rows of a removed object instead of deleting them."""

_LITERAL_LIMIT = 100

LINEAGE_TYPES: Mapping[str, DataType] = {
    OBJECT: StringType(),
    VERSION: StringType(),
    ROW: LongType(),
    EVENT_ID: StringType(),
    EVENT_TIME: TimestampType(),
}
LINEAGE_COLUMNS = tuple(LINEAGE_TYPES)


@dataclass(frozen=True, slots=True)
class ObjectLineage:
    """The origin of the rows of one object of a batch. `version` is the version id or etag read."""

    object_index: int
    uri: str
    version: str
    event_id: str
    event_time: datetime
    partition_values: tuple[str | None, ...] = ()


def build_lineage(at: int, outcome: ObjectOutcome, partition_columns: tuple[str, ...]) -> ObjectLineage:
    """Build the lineage of an outcome's object, with the column values in its key."""
    event = outcome.stored.event
    values = parse_partition_values(event.key, partition_columns)
    return ObjectLineage(
        object_index=at,
        uri=build_uri(event.provider, event.bucket, event.key),
        version=outcome.version,
        event_id=outcome.stored.event_id,
        event_time=event.event_time,
        partition_values=tuple(values[name] for name in partition_columns),
    )


def build_uri(provider: str, bucket: str, key: str) -> str:
    """Return the object's address for display and for `explain`; keys are not encoded."""
    if provider == "local":
        return str(PurePosixPath(bucket) / key)
    scheme = {"gcs": "gs", "azure": "abfs", "kafka": "kafka"}.get(provider, "s3")
    return f"{scheme}://{bucket}/{key}"


def with_lineage(
    rows: DataFrame, lineages: Sequence[ObjectLineage], partition_columns: tuple[str, ...]
) -> DataFrame:
    """Replace `object_index` and `row_number` with lineage and path partition columns.

    They override data columns of the same names, as in Spark's own readers.
    """
    schema = _build_schema(partition_columns)
    own = [OBJECT, VERSION, ROW, EVENT_ID, EVENT_TIME]
    taken = {name.lower() for name in (*own, *partition_columns)}
    numbered = rows.drop(*(name for name in rows.columns if name.lower() in taken))
    numbered = numbered.withColumnRenamed("row_number", ROW)
    data = [name for name in numbered.columns if name not in {"object_index", ROW}]
    values = {lineage.object_index: _to_values(lineage) for lineage in lineages}
    joined = with_object_values(numbered, values, schema)
    return joined.select(*(F.col(f"`{name}`") for name in (*data, *partition_columns, *own)))


def with_object_values(
    rows: DataFrame, values: Mapping[int, tuple[object, ...]], schema: StructType
) -> DataFrame:
    """Add the values of each row's object, by `object_index`; leave out rows of other objects."""
    if len(values) <= _LITERAL_LIMIT:
        # A literal instead of a join saves a Spark job for a small batch; its lookup is linear.
        found = F.element_at(_to_literal(values, schema), F.col("object_index").cast("string"))
        joined = rows.withColumn("lineage", found).where(F.col("lineage").isNotNull())
        return joined.select(*rows.columns, "lineage.*")
    known = build_frame(
        rows.sparkSession,
        [(at, *found) for at, found in values.items()],
        StructType([StructField("object_index", IntegerType()), *schema.fields]),
    )
    # One row per object: the join neither drops nor repeats rows.
    return rows.join(F.broadcast(known), on="object_index", how="inner")


def _build_schema(partition_columns: tuple[str, ...]) -> StructType:
    return StructType(
        [
            StructField(OBJECT, StringType()),
            StructField(VERSION, StringType()),
            StructField(EVENT_ID, StringType()),
            StructField(EVENT_TIME, TimestampType()),
            *(StructField(name, StringType()) for name in partition_columns),
        ]
    )


def _to_values(lineage: ObjectLineage) -> tuple[object, ...]:
    return (
        lineage.uri,
        lineage.version,
        lineage.event_id,
        lineage.event_time,
        *lineage.partition_values,
    )


def _to_literal(values: Mapping[int, tuple[object, ...]], schema: StructType) -> Column:
    names = schema.fieldNames()
    texts = {str(at): dict(zip(names, found, strict=True)) for at, found in values.items()}
    text = json.dumps(texts, default=lambda time: time.isoformat())
    # PySpark's type stubs do not accept maps, but Spark does.
    return F.from_json(F.lit(text), MapType(StringType(), schema))  # type: ignore[arg-type]  # see above
