"""The small tables of headwater's own: the same key is the same row."""

from datetime import datetime, timezone

import pytest
from pyspark.sql import DataFrame
from pyspark.sql.types import IntegerType, StringType, StructField, StructType, TimestampType

from headwater.lake.keyed_table import KeyedTable

SCHEMA = StructType(
    [StructField("id", StringType()), StructField("day", StringType()), StructField("n", IntegerType())]
)


@pytest.fixture
def table(spark, tmp_path) -> KeyedTable:
    return KeyedTable(spark, str(tmp_path / "t"), "t", SCHEMA, ("id",), ("day",))


def read_frame(table: KeyedTable) -> DataFrame:
    frame = table.read()
    assert frame is not None
    return frame


def rows(table: KeyedTable) -> list[tuple[str, str, int]]:
    return sorted((row["id"], row["day"], row["n"]) for row in read_frame(table).collect())


def test_of_rows_with_one_key_the_last_one_counts_in_a_commit_and_across_commits(table):
    table.write_rows([("a", "x", 1), ("b", "x", 1), ("a", "x", 2), ("a", "y", 3)])
    assert rows(table) == [("a", "x", 2), ("a", "y", 3), ("b", "x", 1)]
    table.write_rows([("a", "x", 4), ("a", "x", 5)])
    assert rows(table) == [("a", "x", 5), ("a", "y", 3), ("b", "x", 1)]


def test_frame_that_promises_nothing_may_hold_a_key_twice(table, spark):
    table.write_frame(spark.createDataFrame([("a", "x", 1), ("a", "x", 1)], SCHEMA))
    assert rows(table) == [("a", "x", 1)]


def test_column_of_a_later_release_is_null_until_it_is_written(table, spark, tmp_path):
    table.write_rows([("a", "x", 1), ("b", "x", 1)])
    wider = StructType([*SCHEMA.fields, StructField("at", TimestampType())])
    later = KeyedTable(spark, str(tmp_path / "t"), "t", wider, ("id",), ("day",))

    def read() -> list[tuple[str, int, bool]]:
        return sorted((row["id"], row["n"], row["at"] is not None) for row in read_frame(later).collect())

    assert read() == [("a", 1, False), ("b", 1, False)]
    later.write_rows([("a", "x", 2, datetime(2026, 5, 1, tzinfo=timezone.utc))])
    assert read() == [("a", 2, True), ("b", 1, False)]
