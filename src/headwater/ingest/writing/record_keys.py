"""The record keys of a batch: are they all different, and which row of one key is the last."""

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import ByteType, IntegerType, LongType, ShortType, StringType

from headwater.ingest.lineage import EVENT_TIME, OBJECT, ROW

# Different values of these are different keys to Hudi too; of a timestamp it may keep milliseconds only.
_EXACT = (ByteType, IntegerType, LongType, ShortType, StringType)


def are_keys_unique(rows: DataFrame, record_key: Sequence[str], count: int) -> bool:
    """Whether `count` rows have as many different keys; False also where that is not certain.

    Counting keys takes a tenth of the time in which Hudi looks for rows to combine, since it moves whole
    rows for that: docs/decisions/0002-data-tables.md.
    """
    types = {field.name: field.dataType for field in rows.schema.fields}
    # Hudi joins several fields to one text, in which two different pairs may look the same.
    if len(record_key) != 1 or not isinstance(types.get(record_key[0]), _EXACT):
        return False
    return rows.select(F.col(f"`{record_key[0]}`")).distinct().count() == count


def keep_last(rows: DataFrame, key: Sequence[str]) -> DataFrame:
    """One row a key: of the newest event, and there the last in its object.

    Hudi leaves it to chance which row of one commit stays when no ordering decides.
    """
    last_first = (F.desc(EVENT_TIME), F.desc(OBJECT), F.desc(ROW))
    of_key = Window.partitionBy(*(F.col(f"`{name}`") for name in key)).orderBy(*last_first)
    place = "_headwater_place"
    return rows.withColumn(place, F.row_number().over(of_key)).where(F.col(place) == 1).drop(place)
