"""Which records cannot become rows, and why."""

from collections.abc import Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

UNPARSABLE = "unparsable"
MISSING_KEY = "missing_key"
MISSING_ORDERING = "missing_ordering"

BAD_RECORD_SCHEMA = StructType([StructField("reason", StringType()), StructField("text", StringType())])

DETAILS = {
    UNPARSABLE: "does not fit the table's columns",
    MISSING_KEY: "has nothing in the fields of the record key",
    MISSING_ORDERING: "has nothing in a field of the ordering",
}


def build_bad_record(columns: Sequence[str], record_key: Sequence[str], ordering: Sequence[str]) -> Column:
    """Makes of `corrupt`, the text of a record that does not fit, a struct of reason and text.

    A record without any key or without its ordering is bad, too: Hudi fails the whole commit for one
    of them. Fields that are none of `columns` come from elsewhere and are never missing.
    """
    record = F.col("record")
    bad = _build(UNPARSABLE, F.col("corrupt"))
    is_record = F.col("outcome").isNull()
    if record_key and set(record_key) <= set(columns):
        filled = [F.coalesce(record.getField(name).cast("string"), F.lit("")) for name in record_key]
        bad = F.coalesce(
            bad, F.when(is_record & (F.concat(*filled) == ""), _build(MISSING_KEY, F.to_json(record)))
        )
    for name in set(ordering) & set(columns):
        is_missing = is_record & record.getField(name).isNull()
        bad = F.coalesce(bad, F.when(is_missing, _build(MISSING_ORDERING, F.to_json(record))))
    return bad.cast(BAD_RECORD_SCHEMA)


def _build(reason: str, text: Column) -> Column:
    return F.when(text.isNotNull(), F.struct(F.lit(reason).alias("reason"), text.alias("text")))
