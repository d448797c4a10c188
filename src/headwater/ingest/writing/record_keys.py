"""The record keys of a batch: whether they are unique, and which row of one key is the last."""

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import ByteType, IntegerType, LongType, ShortType, StringType

from headwater.ingest.lineage import EVENT_TIME, OBJECT, ROW

# Different values of these are different keys in Hudi, too; of a timestamp it may keep only milliseconds.
_EXACT = (ByteType, IntegerType, LongType, ShortType, StringType)


def are_keys_unique(rows: DataFrame, record_key: Sequence[str], count: int) -> bool:
    """True if `count` rows have as many different keys; False also if that is uncertain.

    Counting keys takes a tenth of the time in which Hudi searches rows to combine, because that moves whole
    rows: docs/decisions/0002-data-tables.md.
    """
    types = {field.name: field.dataType for field in rows.schema.fields}
    # Hudi joins several fields into one text, in which two different pairs may be equal.
    if len(record_key) != 1 or not isinstance(types.get(record_key[0]), _EXACT):
        return False
    return rows.select(F.col(f"`{record_key[0]}`")).distinct().count() == count


def keep_last(
    rows: DataFrame, key: Sequence[str], order: Sequence[str] = (EVENT_TIME, OBJECT, ROW)
) -> DataFrame:
    """Keep one row per key: the last by `order`. Default: of the newest event, the last in its object.

    Without an ordering, Hudi keeps an arbitrary row of those in one commit.
    """
    last_first = [F.desc(name) for name in order]
    of_key = Window.partitionBy(*(F.col(f"`{name}`") for name in key)).orderBy(*last_first)
    rank = "_headwater_rank"
    return rows.withColumn(rank, F.row_number().over(of_key)).where(F.col(rank) == 1).drop(rank)
