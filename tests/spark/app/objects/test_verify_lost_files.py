"""A file of a table that is gone: Hudi passes over it, `verify` tells of it and makes it good."""

import json
from pathlib import Path

import pytest

from headwater.app import App
from headwater.app.objects.verify import Verify
from headwater.lake.layout import table_path
from tests.fixtures.folder_lake import FolderLake

pytestmark = pytest.mark.long


def lines(first: int, note: str) -> str:
    return "".join(json.dumps({"id": first + at, "note": note}) + "\n" for at in range(20))


def build_lake(spark, tmp_path: Path, **options: object) -> FolderLake:
    return FolderLake(spark, tmp_path, things={"path": "*.json", "mode": "mirror", **options})


def check_and_repair(lake: FolderLake, spark) -> int:
    """How many objects are not whole; then they are read again."""
    found = Verify(App(lake.settings, spark=spark))
    counts = found.run().tables["things"].counts
    found.repair()
    lake.ingest("things")
    assert Verify(App(lake.settings, spark=spark)).run().is_complete
    return counts.missing + counts.wrong_rows


def test_removed_data_file_is_found_and_its_rows_are_brought_back(spark, tmp_path):
    lake = build_lake(spark, tmp_path, file_sizes={"small": 0})
    lake.put("a.json", lines(0, "a"))
    lake.ingest("things")
    lake.put("b.json", lines(100, "b"))
    lake.ingest("things")
    rows = lake.rows("things", "id", "note")
    next(Path(table_path(lake.lake, "things")).glob("*.parquet")).unlink()
    assert len(lake.rows("things", "id", "note")) == 20
    assert check_and_repair(lake, spark) == 1
    assert lake.rows("things", "id", "note") == rows
