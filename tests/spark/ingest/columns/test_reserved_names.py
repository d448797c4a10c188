"""Fields with the names of Hudi's or headwater's own columns are data, and do nothing to the table."""

import logging
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.fixtures.folder_lake import FolderLake

FIRST = '{"id":1,"_hoodie_is_deleted":true,"_headwater_object":"x"}\n{"id":2,"_hoodie_is_deleted":false}\n'
LATER = '{"id":3,"_hoodie_is_deleted":true,"_hoodie_commit_time":"t"}\n{"id":4}\n'


@pytest.mark.parametrize(
    "table",
    [{"mode": "mirror"}, {"record_key": "id"}],
    ids=["mirror", "merge"],
)
def test_reserved_names_delete_nothing_and_stop_nothing(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture, table: dict[str, str]
) -> None:
    lake = FolderLake(spark, tmp_path, things={"path": "*.json", **table})
    with caplog.at_level(logging.WARNING):
        for key, text in (("a.json", FIRST), ("b.json", LATER)):
            lake.put(key, text)
            lake.ingest("things")
    assert lake.rows("things", "id", "field_hoodie_is_deleted", "field_hoodie_commit_time") == [
        (1, True, None),
        (2, False, None),
        (3, True, "t"),
        (4, None, None),
    ]
    assert "field _hoodie_is_deleted has a reserved name" in caplog.text
    lake.announce("a.json", kind="removed")
    lake.ingest("things")
    left = [(3,), (4,)] if "mode" in table else [(1,), (2,), (3,), (4,)]
    assert lake.rows("things", "id") == left
