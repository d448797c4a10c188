"""Changes that arrive after newer ones: deleted rows stay deleted, and nothing is guessed."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.lake.layout import tombstones_path
from headwater.lake.table import Table
from tests.fixtures.change_lake import FLAT, TABLE_TYPES, build_change_lake, write_lines


@pytest.mark.parametrize("table_type", TABLE_TYPES)
def test_an_older_insert_after_its_delete_stays_out(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    lake = build_change_lake(spark, tmp_path, FLAT, table_type=table_type)
    lake.ingest_each(
        "rows",
        write_lines({"op": "I", "id": 1, "at": 30, "name": "kept"}),
        write_lines({"op": "D", "id": 2, "at": 40}, {"op": "D", "id": 1, "at": 20}),
        write_lines({"op": "I", "id": 2, "at": 10, "name": "late"}),
    )
    assert lake.rows("rows", "id", "at", "name") == [(1, 30, "kept")]
    lake.put("5.json", write_lines({"op": "I", "id": 2, "at": 50, "name": "again"}))
    lake.ingest("rows")
    assert lake.rows("rows", "id", "at", "name") == [(1, 30, "kept"), (2, 50, "again")]
    assert "op" not in lake.columns("rows")
    assert lake.quarantine("reason") == []


@pytest.mark.slow
@pytest.mark.parametrize("table_type", TABLE_TYPES)
def test_a_truncate_deletes_what_is_older_also_if_that_arrives_later(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    lake = build_change_lake(spark, tmp_path, FLAT, table_type=table_type)
    lake.ingest_each(
        "rows",
        write_lines({"op": "I", "id": 1, "at": 10}, {"op": "I", "id": 2, "at": 30}),
        write_lines({"op": "T", "at": 20}),
    )
    assert lake.rows("rows", "id") == [(2,)]
    lake.put("late.json", write_lines({"op": "I", "id": 3, "at": 15}, {"op": "I", "id": 4, "at": 25}))
    lake.ingest("rows")
    assert lake.rows("rows", "id") == [(2,), (4,)]
    lake.put("all.json", write_lines({"op": "I", "id": 5, "at": 40}, {"op": "T", "at": 50}))
    lake.ingest("rows")
    assert lake.rows("rows", "id") == []


@pytest.mark.slow
def test_a_change_older_than_forgotten_deletes_goes_to_quarantine(
    spark: SparkSession, tmp_path: Path
) -> None:
    lake = build_change_lake(spark, tmp_path, {**FLAT, "keep_tombstones": 0})
    lake.ingest_each(
        "rows",
        write_lines({"op": "I", "id": 1, "at": 5, "name": "present"}),
        write_lines({"op": "D", "id": 2, "at": 40}),
        write_lines({"op": "D", "id": 3, "at": 50}),  # the first delete is forgotten now
    )
    assert [row["key"] for row in Table(spark, tombstones_path(lake.lake)).read().collect()] == ["id=3"]
    late = write_lines(
        {"op": "I", "id": 2, "at": 10, "name": "may be deleted"},
        {"op": "U", "id": 1, "at": 11, "name": "changed"},
        {"op": "I", "id": 4, "at": 60, "name": "newer"},
        {"op": "I", "id": 3, "at": 45, "name": "known to be deleted"},
    )
    lake.put("late.json", late)
    lake.ingest("rows")
    assert lake.rows("rows", "id", "name") == [(1, "changed"), (4, "newer")]
    assert lake.quarantine("reason", "line") == [("late_change", 1)]


@pytest.mark.slow
def test_existing_rows_never_win_over_changes(spark: SparkSession, tmp_path: Path) -> None:
    changes = {"preset": "dms", "sequence": "at"}
    lake = build_change_lake(spark, tmp_path, changes, path="**/*.json")
    lake.ingest_each(
        "rows",
        write_lines({"Op": "U", "id": 1, "at": 5, "name": "changed"}, {"Op": "D", "id": 2, "at": 6}),
    )
    existing = [{"id": number, "at": 9, "name": "existing"} for number in (1, 2, 3)]
    lake.put("full/LOAD00000001.json", write_lines(*existing))
    lake.ingest("rows")
    assert lake.rows("rows", "id", "name") == [(1, "changed"), (3, "existing")]
