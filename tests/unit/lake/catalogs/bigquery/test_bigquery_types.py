"""Types of columns in BigQuery's words."""

import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DateType,
    DayTimeIntervalType,
    DecimalType,
    DoubleType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

from headwater.errors import CatalogError
from headwater.lake.catalogs.bigquery.column_types import build_field, build_type, describe_field

ITEM = StructType([StructField("Sku", StringType()), StructField("tags", ArrayType(StringType()))])


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (ShortType(), "INT64"),
        (IntegerType(), "INT64"),
        (LongType(), "INT64"),
        (DoubleType(), "FLOAT64"),
        (BinaryType(), "BYTES"),
        (DateType(), "DATE"),
        (TimestampType(), "TIMESTAMP"),
        (TimestampNTZType(), "INT64"),
        (DecimalType(38, 9), "NUMERIC"),
        (DecimalType(38, 8), "BIGNUMERIC"),
        (DecimalType(10, 10), "BIGNUMERIC"),
        (ArrayType(ITEM), "ARRAY<STRUCT<`Sku` STRING, `tags` ARRAY<STRING>>>"),
        (
            MapType(StringType(), LongType()),
            "STRUCT<`key_value` ARRAY<STRUCT<`key` STRING, `value` INT64>>>",
        ),
    ],
)
def test_a_type_is_the_same_in_words_and_as_a_field(kind: DataType, text: str) -> None:
    assert build_type(kind, "column") == text
    assert describe_field(build_field("column", text)) == text


def test_the_address_answers_with_names_of_older_days() -> None:
    inner = [{"name": "n", "type": "INTEGER", "mode": "REPEATED"}, {"name": "f", "type": "FLOAT"}]
    field = {"name": "column", "type": "RECORD", "mode": "NULLABLE", "fields": inner}
    assert describe_field(field) == "STRUCT<`n` ARRAY<INT64>, `f` FLOAT64>"


def test_external_field_descriptions_survive_type_changes() -> None:
    inner = {"name": "city", "type": "STRING", "description": "of birth"}
    held = {
        "name": "a",
        "type": "RECORD",
        "mode": "NULLABLE",
        "fields": [inner],
        "policyTags": {"names": ["p"]},
    }
    assert build_field("a", "STRUCT<`city` STRING, `zip` STRING>", held) == {
        "name": "a",
        "type": "STRUCT",
        "mode": "NULLABLE",
        "policyTags": {"names": ["p"]},
        "fields": [
            {"name": "city", "type": "STRING", "mode": "NULLABLE", "description": "of birth"},
            {"name": "zip", "type": "STRING", "mode": "NULLABLE"},
        ],
    }
    assert "fields" not in build_field("a", "STRING", held)


@pytest.mark.parametrize("kind", [ArrayType(ArrayType(LongType())), DayTimeIntervalType()])
def test_a_type_that_bigquery_does_not_have_is_an_error_with_the_column(kind: DataType) -> None:
    whole = StructType([StructField("odd", kind)])
    with pytest.raises(CatalogError, match=r"column orders\.odd has the type"):
        build_type(whole, "orders")
