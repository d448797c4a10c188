"""Tables that a process left half-made: the next one makes them good."""

from dataclasses import replace
from pathlib import Path

import pytest

from headwater.lake.options import WriteOptions
from headwater.lake.snapshot_reader import SnapshotReader
from headwater.lake.table import Table
from headwater.lake.timeline.jvm import clear_unfinished_creation

OPTIONS = WriteOptions(table_name="t", operation="upsert", record_key=("id",))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "t"


def leave_unfinished(folder: Path, properties: str | None) -> None:
    (folder / ".hoodie" / "timeline" / "history").mkdir(parents=True)
    if properties is not None:
        (folder / ".hoodie" / "hoodie.properties").write_text(properties)


@pytest.mark.parametrize("properties", [None, ""])
def test_interrupted_creation_is_repeated(spark, folder, properties):
    leave_unfinished(folder, properties)
    table = Table(spark, str(folder))
    assert not table.load_timeline().exists()
    table.write(spark.range(3), OPTIONS)
    assert table.load_timeline().exists()
    assert sorted(row["id"] for row in table.read().collect()) == [0, 1, 2]


@pytest.mark.parametrize("properties", [None, ""])
def test_interrupted_creation_is_no_table_for_python_readers(folder, properties):
    leave_unfinished(folder, properties)
    assert not SnapshotReader(str(folder)).exists()


def test_table_of_which_only_the_copy_of_its_properties_is_left_is_kept(spark, folder):
    Table(spark, str(folder)).write(spark.range(3), OPTIONS)
    metadata = folder / ".hoodie"
    # What Hudi leaves when it is killed while it changes the properties.
    (metadata / "hoodie.properties").rename(metadata / "hoodie.properties.backup")
    (metadata / ".hoodie.properties.crc").unlink(missing_ok=True)
    table = Table(spark, str(folder))
    assert table.load_timeline().exists()
    assert len(table.load_timeline().commits) == 1
    table.write(spark.range(3, 5), OPTIONS)
    assert sorted(row["id"] for row in table.read().collect()) == [0, 1, 2, 3, 4]


def test_table_with_a_write_that_was_begun_is_kept(spark, folder):
    leave_unfinished(folder, None)
    begun = folder / ".hoodie" / "timeline" / "20260101000000000.commit.requested"
    begun.touch()
    assert not clear_unfinished_creation(spark, str(folder))
    assert begun.exists()


@pytest.mark.long
def test_table_with_nothing_to_clean_is_scanned_once(spark, folder):
    table = Table(spark, str(folder))
    for at in range(13):
        table.write(spark.range(at, at + 1), replace(OPTIONS, operation="insert"))
    # Without a clean on the timeline each of the commits from here on would list the whole table.
    cleans = [path.name for path in (folder / ".hoodie" / "timeline").glob("*_*.clean")]
    assert len(cleans) == 1
    assert sorted(row["id"] for row in table.read().collect()) == list(range(13))


def test_snapshot_planned_before_an_incremental_read_of_another_thread(spark, folder):
    Table(spark, str(folder)).write(spark.range(100), OPTIONS)
    # As a process begins: other tests have changed settings of the session.
    table = Table(spark.newSession(), str(folder))
    (commit,) = table.load_timeline().commits
    counted = table.read().where("id > 9").groupBy().count()
    # Spark plans a query once and keeps the plan.
    counted._jdf.queryExecution().executedPlan().toString()
    assert len(table.read_commits("0", commit.completed).collect()) == 100
    assert [row["count"] for row in counted.collect()] == [90]


def test_small_files_are_small_and_a_bloom_index_may_come_later(spark, folder):
    table, few = Table(spark, str(folder)), spark.range(3).selectExpr("id", "0 as n")
    table.write(few, OPTIONS)
    (file,) = folder.glob("*.parquet")
    # Of Hudi's own size the filter of keys alone is 430 KB.
    assert file.stat().st_size < 30_000
    # More keys than the filter was made for.
    many = spark.range(20_000).selectExpr("id", "1 as n")
    table.write(many, OPTIONS)
    table.write(
        spark.range(0, 20_000, 7).selectExpr("id", "2 as n"), replace(OPTIONS, typed={"index.type": "bloom"})
    )
    found = table.read().groupBy("n").count().collect()
    assert {row["n"]: row["count"] for row in found} == {1: 20_000 - 2_858, 2: 2_858}
