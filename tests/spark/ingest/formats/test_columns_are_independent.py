"""The value of a column, and whether it fits, depend only on its own text.

Few records are parsed a second time, as texts: those with any value that may need a correction. What the
other columns have must not change because of it.
"""

import json
from collections.abc import Mapping, Sequence

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    LongType,
    NumericType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from headwater.ingest.columns.schema import CORRUPT
from headwater.ingest.parsing.record_parser import RecordParser

KINDS: Sequence[DataType] = (
    *(DoubleType(), FloatType(), LongType(), DecimalType(20, 2), DecimalType(20, 0)),
    *(TimestampType(), DateType(), StringType()),
)
VALUES = (
    *(
        "0",
        "-1",
        "1.5",
        "1e3",
        "1e400",
        "1e15",
        "1000000000000000.5",
        "9007199254740993",
        "16777217",
        "1.005",
        "null",
    ),
    *(
        "1777716000",
        "1777716000123",
        "1777716000123456",
        "20260502120000",
        '"1777716000"',
        '"20260502120000"',
        '"1.5"',
    ),
    *(
        '"2024"',
        '"86400"',
        '"2024-01"',
        '"2024-01-01"',
        '"2026-05-02T10:00:00"',
        '"10:30"',
        '"2026-05-02 10"',
        '"01234"',
    ),
    *('"Infinity"', '"NaN"', '""', '"x"', "true", '{"a": 1e400}'),
)
OPTIONS: Sequence[Mapping[str, str]] = (
    {},
    {"epochUnit": "milliseconds", "timeZone": "America/New_York"},
    {"timestampFormat": "yyyyMMddHHmmss", "dateFormat": "yyyy-MM"},
)
# Always parsed again, and always fits.
OTHER = StructField("other", DoubleType())
OTHER_VALUE = "1e17"


@pytest.mark.slow
@pytest.mark.parametrize("options", OPTIONS, ids=["plain", "unit", "formats"])
@pytest.mark.parametrize("file_format", ["json", "csv"])
def test_another_column_changes_nothing(
    spark: SparkSession, file_format: str, options: Mapping[str, str]
) -> None:
    schemas = [StructType([StructField("c", kind)]) for kind in KINDS]
    numbers = [schema for schema in schemas if isinstance(schema[0].dataType, NumericType)]
    rows = spark.createDataFrame([write(file_format, value) for value in VALUES], "alone string, both string")
    compared = []
    for at, schema in enumerate([*schemas, *numbers]):
        checked = ["c"] if at >= len(schemas) else []
        alone = RecordParser(file_format, schema, options, checked)
        both = RecordParser(file_format, StructType([*schema, OTHER]), options, checked)
        rows = add(add(rows, alone, "alone", f"alone_{at}"), both, "both", f"both_{at}")
        compared += [F.struct(describe(f"alone_{at}"), describe(f"both_{at}")).alias(f"found_{at}")]
    differences = [
        (value, kind, found)
        for value, row in zip(VALUES, rows.select(*compared).collect(), strict=True)
        for kind, found in zip([*schemas, *numbers], row, strict=True)
        if found[0] != found[1]
    ]
    assert differences == []


def write(file_format: str, value: str) -> tuple[str, str]:
    """A record with the value only, and one with the other column, too."""
    if file_format == "json":
        return f'{{"c": {value}}}', f'{{"c": {value}, "other": {OTHER_VALUE}}}'
    text = str(json.loads(value)) if value.startswith('"') else value
    return text, f"{text},{OTHER_VALUE}"


def add(rows: DataFrame, parser: RecordParser, text: str, name: str) -> DataFrame:
    return parser.add_record(rows.withColumn("value", F.col(text)), name, F.lit(True))


def describe(name: str) -> Column:
    """Whether the value fits, and if so the value."""
    fits = F.col(name).getField(CORRUPT).isNull()
    return F.struct(fits, F.when(fits, F.col(name).getField("c").cast("string"))).alias(name)
