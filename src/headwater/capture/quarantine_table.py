"""The quarantine table: messages, objects and records that could not be used, one row each."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType, TimestampType

from headwater.capture.quarantine_item import MAX_PAYLOAD_CHARS, QuarantineItem
from headwater.lake.keyed_table import KeyedTable

QUARANTINE_SCHEMA = StructType(
    [
        StructField("quarantine_id", StringType(), nullable=False),
        StructField("level", StringType()),
        StructField("stage", StringType()),
        StructField("reason", StringType()),
        StructField("detail", StringType()),
        StructField("quarantined_at", TimestampType()),
        StructField("table", StringType()),
        StructField("bucket", StringType()),
        StructField("key", StringType()),
        StructField("version", StringType()),
        StructField("event_id", StringType()),
        StructField("message_id", StringType()),
        StructField("record_index", IntegerType()),
        StructField("line", LongType()),
        StructField("payload", StringType()),
    ]
)


class QuarantineTable:
    """Written in or before the commit of the batch concerned; the same thing twice is one row."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._table = KeyedTable(spark, path, "quarantine", QUARANTINE_SCHEMA, ("quarantine_id",))

    def append(self, items: Sequence[QuarantineItem]) -> None:
        """One commit for the items; none for no items. Raises `LakeError`."""
        self._table.write_rows([_to_row(item) for item in items])

    def append_frame(self, frame: DataFrame) -> None:
        """One commit for rows of `QUARANTINE_SCHEMA`. Raises `LakeError`."""
        self._table.write_frame(frame)


def _to_row(item: QuarantineItem) -> tuple[Any, ...]:
    row = asdict(item) | {"quarantine_id": item.quarantine_id}
    # Text that is not valid Unicode can be quarantined too, but Parquet holds only UTF-8.
    return tuple(_storable(row[name]) for name in QUARANTINE_SCHEMA.fieldNames())


def _storable(value: object) -> object:
    if isinstance(value, str):
        return value[:MAX_PAYLOAD_CHARS].encode("utf-8", "backslashreplace").decode("utf-8")
    return value
