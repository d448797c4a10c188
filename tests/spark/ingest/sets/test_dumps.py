"""A table of full dumps: it equals the newest complete one, and changes by nothing else."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.fixtures.dump_lake import build_dump_lake, list_files, put_dump
from tests.fixtures.folder_lake import FolderLake

FIRST = {1: "one", 2: "two", 3: "three", 4: "four"}
SECOND = {1: "one", 2: "TWO", 4: "four", 5: "five"}


def rows(lake: FolderLake) -> dict[int, str]:
    return dict(lake.rows("rows", "id", "name"))


def list_written(lake: FolderLake) -> list[tuple[int, str]]:
    """The rows that the newest commit has written."""
    timeline = lake.table("rows").load_timeline()
    newest = timeline.commits[-1].requested
    return [key for key, commit in lake.rows("rows", "id", "_hoodie_commit_time") if commit == newest]


def reasons(lake: FolderLake) -> dict[str, str]:
    return {
        key.rsplit("/", 2)[-2] + "/" + key.rsplit("/", 1)[-1]: f"{status} {reason}"
        for key, status, reason in lake.ledger("key", "status", "reason")
    }


@pytest.mark.parametrize("table_type", ["copy_on_write", "merge_on_read"])
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
    assert reasons(lake)["day=2026-11-02/0.json"] == "ingested "


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
