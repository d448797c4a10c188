"""The table of reconciles: one row per pass, updated while it runs."""

from dataclasses import astuple
from datetime import datetime, timedelta, timezone
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

from headwater.capture.reconcile.passes import ReconcilePass
from headwater.lake.jvm import explained_lake
from headwater.lake.keyed_table import KeyedTable, RowKey

_COUNTERS = ("listed", "missing", "changed", "vanished", "unsettled", "emitted")
# In the order of the fields of `ReconcilePass`.
PASS_SCHEMA = StructType(
    [
        StructField("pass_id", StringType(), nullable=False),
        StructField("bucket", StringType()),
        StructField("prefix", StringType()),
        StructField("listing", StringType()),
        StructField("started_at", TimestampType()),
        StructField("cursor", StringType()),
        StructField("finished_at", TimestampType()),
        *(StructField(name, LongType()) for name in _COUNTERS),
    ]
)
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


class PassTable:
    """Written only by the process that reconciles."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._path = path
        self._table = KeyedTable(spark, path, "reconciles", PASS_SCHEMA, RowKey(("pass_id",)))

    def save(self, done: ReconcilePass) -> None:
        """Save the pass in one commit. Raises `LakeError`."""
        self._table.write_rows([astuple(done)])

    def list_passes(self, bucket: str, prefix: str) -> list[ReconcilePass]:
        """List the passes of one bucket and prefix, about one a day. Raises `LakeError`."""
        with explained_lake(self._path):
            table = self._table.read()
            if table is None:
                return []
            # As numbers: PySpark would return the driver's local time.
            columns = (
                F.unix_micros(name).alias(name) if name.endswith("_at") else F.col(name)
                for name in PASS_SCHEMA.names
            )
            rows = table.where((F.col("bucket") == bucket) & (F.col("prefix") == prefix)).select(*columns)
            return [
                ReconcilePass(*(_to_value(name, row[name]) for name in PASS_SCHEMA.names))
                for row in rows.collect()
            ]


def _to_value(name: str, value: Any) -> Any:
    if name.endswith("_at") and value is not None:
        return _EPOCH + timedelta(microseconds=value)
    return value
