"""Which records cannot become rows, and why."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

UNPARSABLE = "unparsable"
MISSING_KEY = "missing_key"

BAD_RECORD_SCHEMA = StructType([StructField("reason", StringType()), StructField("text", StringType())])

DETAILS = {
    UNPARSABLE: "does not fit the table's columns",
    MISSING_KEY: "has nothing in the fields of the record key",
}


def name_bad_records(frame: DataFrame, record_key: Sequence[str]) -> DataFrame:
    """Make `corrupt`, the text of a record that does not fit, a struct of reason and text.

    A record without any key is bad, too: Hudi fails the whole commit for one of them.
    """
    bad = F.when(
        F.col("corrupt").isNotNull(),
        F.struct(F.lit(UNPARSABLE).alias("reason"), F.col("corrupt").alias("text")),
    )
    if record_key:
        record = F.col("record")
        filled = [F.coalesce(record.getField(name).cast("string"), F.lit("")) for name in record_key]
        has_no_key = F.col("outcome").isNull() & (F.concat(*filled) == "")
        bad = bad.when(
            has_no_key, F.struct(F.lit(MISSING_KEY).alias("reason"), F.to_json(record).alias("text"))
        )
    return frame.withColumn("corrupt", bad.cast(BAD_RECORD_SCHEMA))
