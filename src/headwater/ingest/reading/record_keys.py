"""Are the record keys of a batch all different?"""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ByteType, IntegerType, LongType, ShortType, StringType

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
