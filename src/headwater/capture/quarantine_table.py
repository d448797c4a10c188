"""The quarantine table: unusable messages, objects and records, one row each."""

from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType, TimestampType

from headwater.capture.quarantine_item import MAX_PAYLOAD_CHARS, QuarantineItem, Resolved
from headwater.lake.keyed_table import KeyedTable, RowKey

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
        StructField("version_id", StringType()),
        StructField("event_time", TimestampType()),
    ]
)


class QuarantineTable:
    """Written in or before the commit of its batch; duplicates are one row."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._table = KeyedTable(spark, path, "quarantine", QUARANTINE_SCHEMA, RowKey(("quarantine_id",)))

    def create(self) -> None:
        """Create the table unless it exists. Raises `LakeError`."""
        self._table.create()

    def append(self, items: Sequence[QuarantineItem]) -> None:
        """Commit the items; makes no commit without items. Raises `LakeError`."""
        self._table.write_rows([_to_row(item) for item in items])

    def remove(self, quarantine_ids: Collection[str]) -> None:
        """Remove items that were reprocessed or dropped. Raises `LakeError`."""
        frame = self._table.read() if quarantine_ids else None
        if frame is not None:
            self._table.delete_frame(frame.where(F.col("quarantine_id").isin(sorted(quarantine_ids))))

    def resolve(self, table: str, objects: Collection[Resolved], but: Collection[str]) -> None:
        """Remove a table's items about the objects, except those of the events `but`. Raises `LakeError`."""
        frame = self._table.read() if objects else None
        if frame is None:
            return
        names = ("bucket", "key", "version")
        whole = [_struct(names[:2], (bucket, key)) for bucket, key, version in objects if version is None]
        single = [_struct(names, (*place, version)) for *place, version in objects if version is not None]
        is_named = F.struct("bucket", "key").isin(whole) | F.struct(*names).isin(single)
        is_named = (F.col("table") == table) & is_named
        found = frame.where(is_named & ~F.col("event_id").isin(sorted(but))).select("quarantine_id").collect()
        self.remove({row["quarantine_id"] for row in found})

    def append_frame(self, frame: DataFrame) -> None:
        """Commit rows of `QUARANTINE_SCHEMA`. Raises `LakeError`."""
        self._table.write_frame(frame)


def _struct(names: Sequence[str], values: Sequence[str]) -> Column:
    return F.struct(*(F.lit(value).alias(name) for name, value in zip(names, values, strict=True)))


def _to_row(item: QuarantineItem) -> tuple[Any, ...]:
    row = asdict(item) | {"quarantine_id": item.quarantine_id}
    # Text that is not valid Unicode can be quarantined, but Parquet holds only UTF-8.
    return tuple(_storable(row[name]) for name in QUARANTINE_SCHEMA.fieldNames())


def _storable(value: object) -> object:
    if isinstance(value, str):
        return value[:MAX_PAYLOAD_CHARS].encode("utf-8", "backslashreplace").decode("utf-8")
    return value
