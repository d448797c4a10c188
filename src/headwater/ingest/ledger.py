"""The ledger: one row per event that did not become rows of its table, with status and reason.

Objects that were ingested are told by the lineage columns of the data table itself.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql.types import LongType, StringType, StructField, StructType, TimestampType

from headwater.ingest.planning.outcome import ObjectOutcome
from headwater.lake.keyed_table import KeyedTable

LEDGER_SCHEMA = StructType(
    [
        StructField("table", StringType(), nullable=False),
        StructField("event_id", StringType(), nullable=False),
        StructField("object_id", StringType()),
        StructField("bucket", StringType()),
        StructField("key", StringType()),
        StructField("version", StringType()),
        StructField("order_key", StringType()),
        StructField("status", StringType()),
        StructField("reason", StringType()),
        StructField("detail", StringType()),
        StructField("bytes", LongType()),
        StructField("decided_at", TimestampType()),
    ]
)


class Ledger:
    """One table for all data tables; a batch done again writes the same rows again."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._table = KeyedTable(spark, path, "ledger", LEDGER_SCHEMA, ("table", "event_id"))

    def write(self, table: str, outcomes: Sequence[ObjectOutcome], decided_at: datetime) -> None:
        """One commit for the outcomes; none for no outcomes. Raises `LakeError`."""
        self._table.write_rows([_to_row(table, outcome, decided_at) for outcome in outcomes])


def _to_row(table: str, outcome: ObjectOutcome, decided_at: datetime) -> tuple[Any, ...]:
    event = outcome.stored.event
    # In the order of LEDGER_SCHEMA.
    return (
        table,
        outcome.stored.event_id,
        event.object_id,
        event.bucket,
        event.key,
        event.version_id or event.etag,
        event.order_key,
        outcome.status,
        outcome.reason,
        outcome.detail,
        outcome.bytes,
        decided_at,
    )
