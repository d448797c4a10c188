"""Copies of rows that only some tables have: record indexes, change logs, tables of change records."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from headwater.app import App
from headwater.app.erasure.erasure import Erasure
from headwater.app.erasure.report import ErasureReport
from headwater.app.objects.verify import Verify
from headwater.lake.erasure.hashing import build_hash, match_any, pick_column
from headwater.lake.erasure.subjects import Secret, SubjectHasher, spell
from tests.fixtures.folder_lake import FolderLake

SLOW = pytest.mark.slow


def forget(lake: FolderLake, spark: SparkSession, key: str) -> ErasureReport:
    app = App(lake.settings, spark=spark)
    hasher = SubjectHasher.of(app.register.ensure_secret(), ("id",))
    return Erasure(app, "orders", hasher, frozenset({hasher.hash([key])})).run()


def put(lake: FolderLake, name: str, *rows: dict[str, Any]) -> None:
    lake.put(name, "".join(json.dumps(row) + "\n" for row in rows))
    lake.ingest("orders")


def test_spark_hashes_as_python_does(spark: SparkSession) -> None:
    frame = spark.sql(
        "select 'é:1' as text, 17 as small, 17L as big, 17.0D as whole, 17.5D as half, "
        "date '2026-01-31' as day, cast(null as string) as nothing"
    )
    row = frame.first()
    assert row is not None
    for names in (("text",), ("Small",), ("big",), ("whole",), ("day",), ("text", "day", "small")):
        hasher = SubjectHasher.of(Secret(b"s" * 32), names)
        texts = [spell(row[next(n for n in frame.columns if n == name.lower())]) for name in names]
        wanted = hasher.hash([text or "" for text in texts])
        hashed = build_hash(hasher, pick_column(frame))
        found = frame.select(hashed, match_any(hashed, [*map(str, range(1_500)), wanted])).first()
        assert found is not None
        assert tuple(found) == (wanted, True), names
    for name in ("half", "nothing"):
        hashed = build_hash(SubjectHasher.of(Secret(b"s" * 32), (name,)), pick_column(frame))
        assert frame.where(match_any(hashed, ["x"]) | F.isnotnull(hashed)).count() == 0


@SLOW
def test_record_index_is_rebuilt(spark: SparkSession, tmp_path: Path) -> None:
    index = {"type": "global_record_level"}
    lake = FolderLake(spark, tmp_path, orders={"path": "*.json", "record_key": "id", "index": index})
    put(lake, "a.json", {"id": "ann"}, {"id": "bob"})
    report = forget(lake, spark, "bob")
    assert report.structures[0].metadata_rebuilt
    assert report.is_erased
    put(lake, "b.json", {"id": "bob"}, {"id": "ann"}, {"id": "cleo"})
    assert lake.rows("orders", "id") == [("ann",), ("cleo",)]


@SLOW
def test_change_log_of_the_delete_is_named_until_its_files_are_written_again(
    spark: SparkSession, tmp_path: Path
) -> None:
    config = {"path": "*.json", "record_key": "id", "cdc": "data_before_after"}
    lake = FolderLake(spark, tmp_path, orders=config)
    put(lake, "a.json", {"id": "ann", "n": 1}, {"id": "bob", "n": 1})
    put(lake, "b.json", {"id": "ann", "n": 2}, {"id": "bob", "n": 2})
    report = forget(lake, spark, "bob")
    assert [one.unreadable for one in report.structures[0].remaining] == ["a change log"]
    assert "change log" in report.not_covered
    put(lake, "c.json", {"id": "ann", "n": 3})
    assert forget(lake, spark, "bob").is_erased


@SLOW
def test_change_records_of_a_forgotten_key_are_left_out(spark: SparkSession, tmp_path: Path) -> None:
    changes = {"op": "op", "insert": "I", "update": "U", "delete": "D", "sequence": "n"}
    lake = FolderLake(spark, tmp_path, orders={"path": "*.json", "record_key": "id", "changes": changes})
    put(lake, "a.json", {"op": "I", "id": "ann", "n": 1}, {"op": "I", "id": "bob", "n": 2})
    assert forget(lake, spark, "bob").is_erased
    put(
        lake,
        "b.json",
        {"op": "U", "id": "bob", "n": 3},
        {"op": "D", "id": "ann", "n": 4},
        {"op": "I", "id": "cleo", "n": 5},
    )
    assert lake.rows("orders", "id") == [("cleo",)]
    assert Verify(App(lake.settings, spark=spark), deep=1).run().is_complete
