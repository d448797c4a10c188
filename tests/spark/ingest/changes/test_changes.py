"""Tables of change records: what users see after files in any order."""

import json
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.fixtures.folder_lake import FolderLake

TYPES = ("copy_on_write", "merge_on_read")
FLAT = {"op": "op", "insert": "I", "update": "U", "delete": "D", "truncate": "T", "sequence": "at"}


def build(spark: SparkSession, folder: Path, changes: dict[str, Any], **table: Any) -> FolderLake:
    return FolderLake(spark, folder, rows={"path": "*.json", "record_key": "id", "changes": changes, **table})


def lines(*records: dict[str, Any]) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


@pytest.mark.parametrize("table_type", TYPES)
def test_an_older_insert_after_its_delete_stays_out(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    lake = build(spark, tmp_path, FLAT, table_type=table_type)
    lake.put("3.json", lines({"op": "I", "id": 1, "at": 30, "name": "kept"}))
    lake.ingest("rows")
    lake.put("4.json", lines({"op": "D", "id": 2, "at": 40}, {"op": "D", "id": 1, "at": 20}))
    lake.ingest("rows")
    lake.put("1.json", lines({"op": "I", "id": 2, "at": 10, "name": "late"}))
    lake.ingest("rows")
    assert lake.rows("rows", "id", "at", "name") == [(1, 30, "kept")]
    lake.put("5.json", lines({"op": "I", "id": 2, "at": 50, "name": "again"}))
    lake.ingest("rows")
    assert lake.rows("rows", "id", "at", "name") == [(1, 30, "kept"), (2, 50, "again")]
    assert "op" not in lake.table("rows").read().columns
