"""A table of full dumps: it equals the newest complete one, and changes by nothing else."""

import time
from pathlib import Path

import pandas
import pytest
from pyspark.sql import SparkSession

from headwater.app.application import read_clock
from headwater.app.objects.redrive import Redrive
from headwater.capture.quarantine_reader import QuarantineFilter, QuarantineReader
from headwater.errors import CheckFailedError
from headwater.lake.layout import quarantine_path
from tests.fixtures.dump_lake import build_dump_lake, list_files, put_dump, write_rows
from tests.fixtures.folder_lake import FolderLake

FIRST = {1: "one", 2: "two", 3: "three", 4: "four"}
SECOND = {1: "one", 2: "TWO", 4: "four", 5: "five"}


def rows(lake: FolderLake) -> dict[int, str]:
    return dict(lake.rows("rows", "id", "name"))


def list_written(lake: FolderLake) -> list[int]:
    """The rows that the newest commit has written."""
    timeline = lake.table("rows").load_timeline()
    newest = timeline.commits[-1].requested
    return [key for key, commit in lake.rows("rows", "id", "_hoodie_commit_time") if commit == newest]


def find_state(lake: FolderLake, key: str) -> str:
    """Status and reason of an object in the ledger."""
    return next(
        f"{status} {reason}" for name, status, reason in lake.ledger("key", "status", "reason") if name == key
    )


def list_rejected(lake: FolderLake, reason: str) -> list[dict[str, object]]:
    return QuarantineReader(quarantine_path(lake.lake)).list_rows(QuarantineFilter(reason=reason))


def retry(lake: FolderLake, reason: str) -> None:
    """As `headwater quarantine retry`."""
    Redrive(lake.app, read_clock).retry(list_rejected(lake, reason))


@pytest.mark.parametrize(
    "table_type", ["copy_on_write", pytest.param("merge_on_read", marks=pytest.mark.slow)]
)
def test_only_the_difference_to_the_newest_complete_dump_is_written(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    lake = build_dump_lake(spark, tmp_path, table_type=table_type)
    lake.put_many(list_files("2026-11-01", FIRST))
    assert not any(result.committed for result in lake.ingest("rows"))
    lake.put("dumps/day=2026-11-01/_SUCCESS", "")
    lake.ingest("rows")
    assert rows(lake) == FIRST
    put_dump(lake, "2026-11-02", SECOND)
    lake.ingest("rows")
    assert rows(lake) == SECOND
    assert list_written(lake) == [2, 5]
    assert find_state(lake, "dumps/day=2026-11-02/0.json") == "ingested "


def test_a_marker_that_arrives_before_its_files_waits_for_them(spark: SparkSession, tmp_path: Path) -> None:
    lake = build_dump_lake(spark, tmp_path)
    for key, text in list_files("2026-11-01", FIRST):
        lake.write(key, text)
    lake.put("dumps/day=2026-11-01/_SUCCESS", "")
    lake.ingest("rows")
    assert not lake.table("rows").load_timeline().exists()
    lake.announce("dumps/day=2026-11-01/0.json")
    lake.ingest("rows")
    assert not lake.table("rows").load_timeline().exists()
    lake.announce("dumps/day=2026-11-01/1.json")
    lake.ingest("rows")
    assert rows(lake) == FIRST


@pytest.mark.slow
def test_an_older_dump_that_arrives_late_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    lake = build_dump_lake(spark, tmp_path)
    put_dump(lake, "2026-11-02", SECOND)
    lake.ingest("rows")
    put_dump(lake, "2026-11-01", FIRST)
    lake.ingest("rows")
    assert rows(lake) == SECOND
    assert find_state(lake, "dumps/day=2026-11-01/0.json") == "skipped set_superseded"


@pytest.mark.slow
def test_the_removal_of_old_dumps_changes_nothing(spark: SparkSession, tmp_path: Path) -> None:
    lake = build_dump_lake(spark, tmp_path)
    put_dump(lake, "2026-11-01", FIRST)
    lake.ingest("rows")
    lake.announce(*(key for key, _ in list_files("2026-11-01", FIRST)), kind="removed")
    lake.announce("dumps/day=2026-11-01/_SUCCESS", kind="removed")
    lake.ingest("rows")
    assert rows(lake) == FIRST


@pytest.mark.slow
def test_a_correction_counts_when_its_marker_is_written_again(spark: SparkSession, tmp_path: Path) -> None:
    lake = build_dump_lake(spark, tmp_path)
    put_dump(lake, "2026-11-01", FIRST)
    lake.ingest("rows")
    lake.put("dumps/day=2026-11-01/0.json", write_rows({1: "ONE", 3: "three"}))
    lake.ingest("rows")
    assert rows(lake) == FIRST
    assert find_state(lake, "dumps/day=2026-11-01/0.json") == "skipped set_open"
    lake.put("dumps/day=2026-11-01/_SUCCESS", "")
    lake.ingest("rows")
    assert rows(lake) == FIRST | {1: "ONE"}
    assert list_written(lake) == [1]


@pytest.mark.slow
def test_a_dump_can_be_one_file_that_is_overwritten(spark: SparkSession, tmp_path: Path) -> None:
    lake = build_dump_lake(spark, tmp_path, path="rows.json", complete_when={"files": 1})
    lake.put("rows.json", write_rows(FIRST))
    lake.ingest("rows")
    lake.put("rows.json", write_rows(SECOND))
    lake.ingest("rows")
    assert rows(lake) == SECOND
    assert list_written(lake) == [2, 5]


def test_an_equal_dump_writes_no_row(spark: SparkSession, tmp_path: Path) -> None:
    lake = build_dump_lake(spark, tmp_path)
    lines = '{"id": 1, "at": "2026-11-01T06:00:00Z", "tags": {"a": [1, null]}, "day": "2026-01-01"}\n'
    for day in ("2026-11-01", "2026-11-02"):
        lake.put(f"dumps/day={day}/0.json", lines)
        lake.put(f"dumps/day={day}/_SUCCESS", "")
        lake.ingest("rows")
    commits = lake.table("rows").load_timeline().commits
    assert len(commits) == 2
    assert lake.rows("rows", "_hoodie_commit_time") == [(commits[0].requested,)]
    assert lake.state("rows").sets.applied == "dumps/day=2026-11-02/"


@pytest.mark.slow
def test_a_new_column_is_added_by_the_dump_that_has_it(spark: SparkSession, tmp_path: Path) -> None:
    lake = build_dump_lake(spark, tmp_path)
    put_dump(lake, "2026-11-01", {1: "one", 2: "two"})
    lake.ingest("rows")
    lake.put("dumps/day=2026-11-02/0.json", '{"id": 1, "name": "one", "size": 3}\n{"id": 2, "name": "two"}\n')
    lake.put("dumps/day=2026-11-02/_SUCCESS", "")
    lake.ingest("rows")
    assert lake.rows("rows", "id", "name", "size") == [(1, "one", 3), (2, "two", None)]
    assert list_written(lake) == [1]


@pytest.mark.slow
def test_of_two_rows_with_one_key_the_last_counts(spark: SparkSession, tmp_path: Path) -> None:
    lake = build_dump_lake(spark, tmp_path)
    lake.put("dumps/day=1/0.json", write_rows({1: "first"}) + write_rows({1: "second", 2: "two"}))
    lake.put("dumps/day=1/1.json", write_rows({1: "third"}))
    lake.put("dumps/day=1/_SUCCESS", "")
    lake.ingest("rows")
    assert rows(lake) == {1: "third", 2: "two"}


@pytest.mark.slow
def test_a_row_may_move_to_another_partition(spark: SparkSession, tmp_path: Path) -> None:
    lake = build_dump_lake(spark, tmp_path, partition="name")
    put_dump(lake, "2026-11-01", {1: "a", 2: "b"})
    put_dump(lake, "2026-11-02", {1: "b", 2: "b"})
    lake.ingest("rows")
    put_dump(lake, "2026-11-03", {1: "c", 3: "a"})
    lake.ingest("rows")
    assert rows(lake) == {1: "c", 3: "a"}


@pytest.mark.parametrize(
    "table_type", ["copy_on_write", pytest.param("merge_on_read", marks=pytest.mark.slow)]
)
@pytest.mark.slow
def test_a_dump_that_is_much_smaller_is_held_back_until_it_is_accepted(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    lake = build_dump_lake(spark, tmp_path, table_type=table_type)
    put_dump(lake, "2026-11-01", FIRST)
    lake.ingest("rows")
    put_dump(lake, "2026-11-02", {1: "one"}, count=1)
    lake.ingest("rows")
    assert rows(lake) == FIRST
    assert lake.quarantine("key", "reason") == [("dumps/day=2026-11-02/0.json", "small_set")]
    lake.ingest("rows")
    assert rows(lake) == FIRST
    retry(lake, "small_set")
    assert rows(lake) == {1: "one"}
    assert lake.quarantine("key") == []


@pytest.mark.slow
def test_a_dump_that_was_held_back_can_be_given_up(spark: SparkSession, tmp_path: Path) -> None:
    lake = build_dump_lake(spark, tmp_path)
    put_dump(lake, "2026-11-01", FIRST)
    put_dump(lake, "2026-11-02", {1: "one"}, count=1)
    lake.ingest("rows")
    put_dump(lake, "2026-11-03", {}, count=1)
    lake.ingest("rows")
    Redrive(lake.app, read_clock).drop(list_rejected(lake, "small_set"))
    lake.ingest("rows")
    put_dump(lake, "2026-11-04", SECOND)
    lake.ingest("rows")
    assert rows(lake) == SECOND
    assert lake.quarantine("key") == []


@pytest.mark.slow
def test_several_dumps_that_were_held_back_can_be_accepted_at_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    lake = build_dump_lake(spark, tmp_path, history="scd2")
    put_dump(lake, "2026-11-01", FIRST)
    lake.ingest("rows")
    for day in ("2026-11-02", "2026-11-03"):
        put_dump(lake, day, {int(day[-1]): day}, count=1)
        lake.ingest("rows")
    retry(lake, "small_set")
    assert dict(lake.rows("rows", "id", "name")[-1:]) == {4: "four"}
    current = [row[0] for row in lake.rows("rows", "id", "is_current") if row[1]]
    assert current == [3]
    assert lake.quarantine("key") == []


@pytest.mark.slow
def test_a_dump_that_was_held_back_may_grow(spark: SparkSession, tmp_path: Path) -> None:
    lake = build_dump_lake(spark, tmp_path)
    put_dump(lake, "2026-11-01", FIRST)
    lake.ingest("rows")
    put_dump(lake, "2026-11-02", {1: "one"}, count=1)
    lake.ingest("rows")
    lake.put("dumps/day=2026-11-02/more.json", write_rows({2: "two", 6: "six"}))
    lake.put("dumps/day=2026-11-02/_SUCCESS", "")
    lake.ingest("rows")
    assert rows(lake) == {1: "one", 2: "two", 6: "six"}
    assert lake.quarantine("key") == []


@pytest.mark.slow
def test_the_first_dump_and_any_accepted_one_may_be_of_any_size(spark: SparkSession, tmp_path: Path) -> None:
    rule = {"marker": "_SUCCESS", "max_shrink": "100%"}
    lake = build_dump_lake(spark, tmp_path, complete_when=rule, schema="id bigint, name string")
    put_dump(lake, "2026-11-01", {}, count=1)
    put_dump(lake, "2026-11-02", FIRST)
    lake.ingest("rows")
    assert rows(lake) == FIRST
    put_dump(lake, "2026-11-03", {}, count=1)
    lake.ingest("rows")
    assert rows(lake) == {}


@pytest.mark.slow
def test_rows_that_a_damaged_dump_lacks_stay_until_it_is_repaired(
    spark: SparkSession, tmp_path: Path
) -> None:
    lake = build_dump_lake(spark, tmp_path)
    put_dump(lake, "2026-11-01", FIRST)
    lake.ingest("rows")
    lake.put("dumps/day=2026-11-02/0.json", write_rows({1: "ONE"}) + '{"id": 2, "na')
    lake.put("dumps/day=2026-11-02/1.json", write_rows({5: "five"}))
    lake.put("dumps/day=2026-11-02/_SUCCESS", "")
    lake.ingest("rows")
    assert rows(lake) == FIRST | {1: "ONE", 5: "five"}
    assert [reason for (reason,) in lake.quarantine("level")] == ["record"]
    lake.put("dumps/day=2026-11-02/0.json", write_rows({1: "ONE", 2: "two"}))
    lake.put("dumps/day=2026-11-02/_SUCCESS", "")
    lake.ingest("rows")
    assert rows(lake) == {1: "ONE", 2: "two", 5: "five"}


@pytest.mark.slow
def test_a_damaged_file_can_be_retried(spark: SparkSession, tmp_path: Path) -> None:
    lake = build_dump_lake(spark, tmp_path, path="dumps/day=*/*.parquet")
    pandas.DataFrame({"id": [1, 2], "name": ["one", "two"]}).to_parquet(tmp_path / "good.parquet")
    good = (tmp_path / "good.parquet").read_bytes()
    lake.put_many([("dumps/day=1/0.parquet", good), ("dumps/day=1/1.parquet", b"no file of Parquet")])
    lake.put("dumps/day=1/_SUCCESS", "")
    lake.ingest("rows")
    assert rows(lake) == {1: "one", 2: "two"}
    assert lake.quarantine("key", "reason") == [("dumps/day=1/1.parquet", "unparsable")]
    retry(lake, "unparsable")
    assert lake.quarantine("key", "reason") == [("dumps/day=1/1.parquet", "unparsable")]
    lake.put("dumps/day=1/1.parquet", good)
    lake.put("dumps/day=1/_SUCCESS", "")
    lake.ingest("rows")
    assert lake.quarantine("key") == []


@pytest.mark.slow
def test_a_quiet_time_passes_without_another_event(spark: SparkSession, tmp_path: Path) -> None:
    lake = build_dump_lake(spark, tmp_path, complete_when={"quiet_for": "8s"})
    lake.put_many(list_files("2026-11-01", FIRST))
    pipeline = lake.pipeline("rows")
    assert not pipeline.run_batch().committed  # type: ignore[union-attr]  # there are events
    assert pipeline.run_batch() is None
    time.sleep(8.1)
    found = pipeline.run_batch()
    assert found is not None
    assert found.committed
    assert rows(lake) == FIRST
    assert pipeline.run_batch() is None


def test_a_manifest_names_the_files_of_a_dump(spark: SparkSession, tmp_path: Path) -> None:
    lake = build_dump_lake(spark, tmp_path, complete_when={"manifest": "manifest.json"})
    lake.put("dumps/day=1/left-over.json", write_rows({9: "nine"}))
    lake.put_many(list_files("1", FIRST))
    lake.put("dumps/day=1/manifest.json", '{"files": ["0.json", "1.json", "2.json"]}')
    lake.ingest("rows")
    assert not lake.table("rows").load_timeline().exists()
    lake.put("dumps/day=1/manifest.json", "{")
    lake.ingest("rows")
    assert not lake.table("rows").load_timeline().exists()
    lake.put("dumps/day=1/manifest.json", '{"files": ["0.json", "1.json"]}')
    lake.ingest("rows")
    assert rows(lake) == FIRST
    assert find_state(lake, "dumps/day=1/left-over.json") == "skipped not_in_manifest"


@pytest.mark.slow
def test_transforms_and_checks_see_the_whole_dump(spark: SparkSession, tmp_path: Path) -> None:
    steps = [{"sql": "select _headwater_source, id, upper(name) as name from input where id < 4"}]
    lake = build_dump_lake(spark, tmp_path, transform=steps, checks=[{"unique": ["name"]}])
    put_dump(lake, "2026-11-01", FIRST)
    lake.ingest("rows")
    assert rows(lake) == {1: "ONE", 2: "TWO", 3: "THREE"}
    put_dump(lake, "2026-11-02", {1: "one", 2: "one", 3: "three"})
    with pytest.raises(CheckFailedError):
        lake.ingest("rows")
    assert rows(lake) == {1: "ONE", 2: "TWO", 3: "THREE"}
