"""`verify --deep` finds rows that are not the object's own, and nothing in a table that nobody touched."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from headwater.app import App
from headwater.app.objects.verify import Verify
from headwater.ingest.planning.verification import DeepCounts, verify_objects
from headwater.lake.layout import table_path
from headwater.lake.options import DELETED, WriteOptions
from headwater.lake.table import Table
from tests.fixtures.folder_lake import FolderLake

pytestmark = pytest.mark.slow

MODES: dict[str, dict[str, Any]] = {
    "mirror": {"mode": "mirror", "rescued_data_column": "_rescued_data"},
    "append": {"mode": "append", "partition_columns": ["day"]},
    "merge": {"record_key": "id"},
}
KEYS = {
    "mirror": ("_headwater_object", "_headwater_row"),
    "append": ("_headwater_event_id", "_headwater_row"),
    "merge": ("id",),
}


def lines(*records: object) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


FIRST = {
    "day=1/a.json": lines({"id": 1, "n": 1, "inner": {"x": 1}}, {"id": 2, "n": None, "inner": None}),
    "day=1/twice.json": lines({"id": 3, "n": 3}, {"id": 3, "n": 3}),
    "day=2/bad.json": lines({"id": 4, "n": 4}) + "{no\n",
    "day=2/empty.json": "",
}
# Wider, and with more columns than those before.
SECOND = {
    "day=2/wide.json": lines(
        {"id": 5, "n": 1.5, "inner": {"x": 1, "y": "z"}, "at": "2026-05-01T01:02:03.000004Z"}
    )
}


@pytest.fixture(params=["mirror", *(pytest.param(m, marks=pytest.mark.long) for m in ("append", "merge"))])
def lake(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> FolderLake:
    config = {"path": "**/*.json", "schema_hints": "at timestamp", **MODES[request.param]}
    lake = FolderLake(spark, tmp_path, things=config)
    for files in (FIRST, SECOND):
        lake.put_many(files.items())
        lake.ingest("things")
    return lake


@pytest.fixture
def verify(spark: SparkSession) -> Callable[..., Verify]:
    return lambda lake, deep=1: Verify(App(lake.settings, spark=spark), deep=deep)


def look(comparison: Verify) -> tuple[DeepCounts, list[tuple[str, str, str]]]:
    report = comparison.run().tables["things"]
    assert report.deep is not None
    return report.deep, [(found.kind, found.key, found.detail) for found in report.problems]


def tamper(lake: FolderLake, spark: SparkSession, name: str, value: object, where: str) -> None:
    """Change a column of some rows behind headwater's back."""
    table = Table(spark, table_path(lake.lake, "things"))
    rows = table.read().where(where)
    assert rows.count() == 1
    hudi_columns = [name for name in rows.columns if name.startswith("_hoodie_") and name != DELETED]
    rows = rows.drop(*hudi_columns)
    mode = lake.settings.tables["things"].effective_mode
    changed = rows.withColumn(name, F.lit(value).cast(rows.schema[name].dataType))
    table.write(changed, WriteOptions(table_name="things", operation="upsert", record_key=KEYS[mode]))


def test_unchanged_rows_match_and_a_changed_row_is_found(
    lake: FolderLake, spark: SparkSession, verify: Callable[..., Verify]
) -> None:
    counts, problems = look(verify(lake))
    assert problems == []
    assert (counts.objects, counts.differing, counts.changed, counts.unread) == (4, 0, 0, 0)
    assert counts.rows == 6

    tamper(lake, spark, "n", 9, "id = 1")
    shallow = verify(lake, 0).run().tables["things"]
    assert (shallow.problems, shallow.deep) == ([], None)
    comparison = verify(lake)
    counts, problems = look(comparison)
    assert counts.differing == 1
    is_merge = lake.settings.tables["things"].effective_mode == "merge"
    lost = "" if is_merge else "1 of its 2 rows are missing from the table; "
    assert problems == [
        ("wrong_rows", "day=1/a.json", f"re-read: {lost}1 rows of the table are not in the object")
    ]

    assert comparison.repair() == 1
    counts, problems = look(verify(lake))
    assert (counts.differing, problems) == (0, [])


def test_content_that_was_put_twice_is_compared_write_by_write(
    spark: SparkSession, tmp_path: Path, verify: Callable[..., Verify]
) -> None:
    lake = FolderLake(spark, tmp_path, things={"path": "*.json", "mode": "append"})
    lake.put("a.json", lines({"id": 1, "n": 1}, {"id": 1, "n": 1}, {"id": 2, "n": 2}))
    lake.ingest("things")
    # Moved away and back, so that it has the same time and size.
    lake.append(lake.capture("a.json", "removed"), lake.capture("a.json"))
    lake.ingest("things")
    assert lake.rows("things", "id") == [(1,), (1,), (1,), (1,), (2,), (2,)]
    assert look(verify(lake)) == (DeepCounts(objects=1, rows=3), [])

    event_id = min(event for (event,) in lake.rows("things", "_headwater_event_id"))
    tamper(lake, spark, "n", 9, f"id = 2 and _headwater_event_id = '{event_id}'")
    counts, problems = look(verify(lake))
    assert counts.differing == 1
    assert problems == [("wrong_rows", "a.json", "re-read: 1 rows of the table are not in the object")]


def test_object_changed_concurrently_is_no_difference(
    lake: FolderLake, verify: Callable[..., Verify], monkeypatch: pytest.MonkeyPatch
) -> None:
    comparison = verify(lake)
    found = list(comparison._iter_findings(["things"], {"things": DeepCounts()}))
    assert {finding.kind for _, finding in found} == {"ingested", "skipped"}

    def change_first(present, tables):
        findings = list(verify_objects(present, tables))
        lake.write("day=1/a.json", lines({"id": 77}))
        (lake.source / "day=1/twice.json").unlink()
        return iter(findings)

    monkeypatch.setattr("headwater.app.objects.verify.verify_objects", change_first)
    counts, problems = look(comparison)
    assert (counts.objects, counts.changed, problems) == (2, 2, [])


@pytest.mark.long
def test_a_sample_is_a_part(lake: FolderLake, verify: Callable[..., Verify]) -> None:
    counts, problems = look(verify(lake, 1_000_000))
    assert (counts.objects, problems) == (0, [])
    assert verify(lake, 1_000_000).run().tables["things"].counts.ingested == 4
