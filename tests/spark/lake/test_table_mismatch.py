"""A table that lies at the path already and is another one than is written: nothing of it changes."""

from dataclasses import replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.errors import TableMismatchError
from headwater.lake.options import WriteOptions
from headwater.lake.table import Table

OPTIONS = WriteOptions("t", "upsert", record_key=("id",), partition=("day",), ordering=("ts",))
DDL = "id int, day string, ts long, note string"
NOTED = [(1, "mo", 1, "a"), (2, "tu", 1, "b")]
CHANGED = [(1, "mo", 2, "changed")]


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("made") / "t"
    Table(spark, str(path)).write(spark.createDataFrame(NOTED, DDL), OPTIONS)
    return path


def read_notes(spark, path: Path) -> list[str]:
    return sorted(row["note"] for row in Table(spark, str(path)).read().collect())


@pytest.mark.parametrize(
    ("changed", "expected_message"),
    [
        (
            {"table_type": "merge_on_read"},
            "table_type is copy_on_write in the table and merge_on_read in this write",
        ),
        ({"record_key": ("note",)}, "record_key is id in the table and note in this write"),
        ({"partition": ("note",)}, "partition is day in the table and note in this write"),
        ({"partition": ()}, "partition is day in the table and none in this write"),
        ({"ordering": ("id",)}, "ordering is ts in the table and id in this write"),
        ({"table_name": "other"}, "the table's name is t in the table and other in this write"),
        (
            {"typed": {"base_file_format": "orc"}},
            "base_file_format is parquet in the table and orc in this write",
        ),
        (
            {"typed": {"partial_updates": True}},
            "partial_updates is false in the table and true in this write",
        ),
        (
            {"typed": {"drop_partition_columns": True}},
            "drop_partition_columns is false in the table and true in this write",
        ),
        (
            {"typed": {"merge_mode": "commit_time"}},
            "merge_mode is event_time_ordering in the table and commit_time_ordering in this write",
        ),
        (
            {"extra": {"hoodie.datasource.write.hive_style_partitioning": "false"}},
            "the Hive style of partition folders is true in the table and false in this write",
        ),
    ],
)
def test_differences_are_named_and_nothing_is_written(spark, made, changed, expected_message):
    table = Table(spark, str(made))
    commits = table.load_timeline().commits
    with pytest.raises(TableMismatchError) as caught:
        table.write(spark.createDataFrame(CHANGED, DDL), replace(OPTIONS, **changed))
    assert (
        caught.value.message
        == f"{made} contains a table that differs from the configuration: {expected_message}"
    )
    assert caught.value.exit_code == 1
    assert "another name" in caught.value.hint
    assert table.load_timeline().commits == commits
    assert read_notes(spark, made) == ["a", "b"]


def test_all_that_differs_is_named_at_once(spark, made):
    options = replace(OPTIONS, record_key=("note",), partition=(), table_type="merge_on_read")
    with pytest.raises(TableMismatchError) as caught:
        Table(spark, str(made)).write(spark.createDataFrame(CHANGED, DDL), options)
    assert caught.value.message.count(" in the table and ") == 3


def test_write_that_leaves_the_ordering_to_the_table_is_no_other_table(spark, tmp_path):
    table = Table(spark, str(tmp_path / "t"))
    table.write(spark.createDataFrame(NOTED, DDL), OPTIONS)
    again = Table(spark, str(tmp_path / "t"))
    again.write(spark.createDataFrame([(1, "mo", 0, "too old")], DDL), replace(OPTIONS, ordering=()))
    assert read_notes(spark, tmp_path / "t") == ["a", "b"]


def test_table_of_an_older_version_is_not_upgraded_unasked(spark, tmp_path):
    path = tmp_path / "t"
    old = replace(OPTIONS, extra={"hoodie.write.table.version": "8"})
    Table(spark, str(path)).write(spark.createDataFrame(NOTED, DDL), old)
    with pytest.raises(TableMismatchError, match="of version 8, but this write uses version 9"):
        Table(spark, str(path)).write(spark.createDataFrame(CHANGED, DDL), OPTIONS)
    assert Table(spark, str(path)).load_timeline().read_properties()["hoodie.table.version"] == "8"
    Table(spark, str(path)).write(spark.createDataFrame(CHANGED, DDL), old)
    assert read_notes(spark, path) == ["b", "changed"]
    allowed = replace(OPTIONS, extra={"hoodie.write.auto.upgrade": "true"})
    Table(spark, str(path)).write(spark.createDataFrame([(2, "tu", 9, "newest")], DDL), allowed)
    assert Table(spark, str(path)).load_timeline().read_properties()["hoodie.table.version"] == "9"
    assert read_notes(spark, path) == ["changed", "newest"]
