"""The small tables of headwater's own: the same key is the same row."""

from datetime import datetime, timezone
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import IntegerType, StringType, StructField, StructType, TimestampType

from headwater.lake import keyed_table
from headwater.lake.keyed_table import KeyedTable, RowKey, Sizes

SCHEMA = StructType(
    [StructField("id", StringType()), StructField("day", StringType()), StructField("n", IntegerType())]
)


@pytest.fixture
def table(spark, tmp_path) -> KeyedTable:
    return KeyedTable(spark, str(tmp_path / "t"), "t", SCHEMA, RowKey(("id",), ("day",)))


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


@pytest.mark.slow
@pytest.mark.parametrize("compacts_rarely", [False, True])
def test_table_is_compacted_after_twenty_commits_or_more_if_it_is_large(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, compacts_rarely: bool
) -> None:
    # A table of these few rows is large then.
    monkeypatch.setattr(keyed_table, "_BYTES_A_COMMIT", 1)
    sizes = Sizes(buckets=1, compacts_rarely=compacts_rarely)
    # As two processes: a size is known when a process begins to write.
    for numbers in (range(1), range(1, 23)):
        table = KeyedTable(spark, str(tmp_path / "t"), "t", SCHEMA, RowKey(("id",)), sizes)
        for number in numbers:
            table.write_rows([("a", "x", number)])
    assert rows(table) == [("a", "x", 22)]
    # A compaction is a commit, other writes are delta commits.
    actions = [commit.action for commit in table.load_timeline().commits]
    assert ("commit" in actions) is not compacts_rarely


def test_frame_that_promises_nothing_may_hold_a_key_twice(table, spark):
    table.write_frame(spark.createDataFrame([("a", "x", 1), ("a", "x", 1)], SCHEMA))
    assert rows(table) == [("a", "x", 1)]


def test_column_of_a_later_release_is_null_until_it_is_written(table, spark, tmp_path):
    table.write_rows([("a", "x", 1), ("b", "x", 1)])
    wider = StructType([*SCHEMA.fields, StructField("at", TimestampType())])
    later = KeyedTable(spark, str(tmp_path / "t"), "t", wider, RowKey(("id",), ("day",)))

    def read() -> list[tuple[str, int, bool]]:
        return sorted((row["id"], row["n"], row["at"] is not None) for row in read_frame(later).collect())

    assert read() == [("a", 1, False), ("b", 1, False)]
    later.write_rows([("a", "x", 2, datetime(2026, 5, 1, tzinfo=timezone.utc))])
    assert read() == [("a", 2, True), ("b", 1, False)]
