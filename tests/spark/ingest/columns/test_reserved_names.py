"""Fields with the names of Hudi's or headwater's own columns are data, and do nothing to the table."""

import logging
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.fixtures.folder_lake import FolderLake

FIRST = '{"id":1,"_hoodie_is_deleted":true,"_headwater_object":"x"}\n{"id":2,"_hoodie_is_deleted":false}\n'
LATER = '{"id":3,"_hoodie_is_deleted":true,"_hoodie_commit_time":"t"}\n{"id":4}\n'


TABLES = {"mirror": {"path": "*.json", "mode": "mirror"}, "merge": {"path": "*.json", "record_key": "id"}}


@pytest.mark.slow
def test_reserved_names_delete_nothing_and_stop_nothing(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lake = FolderLake(spark, tmp_path, **TABLES)
    warned = []
    for key, text in (("a.json", FIRST), ("b.json", LATER)):
        lake.put(key, text)
        for name in TABLES:
            with caplog.at_level(logging.WARNING):
                lake.ingest(name)
            if "field _hoodie_is_deleted has a reserved name" in caplog.text:
                warned.append(name)
            caplog.clear()
    assert set(warned) == set(TABLES)
    for name in TABLES:
        assert lake.rows(name, "id", "field_hoodie_is_deleted", "field_hoodie_commit_time") == [
            (1, True, None),
            (2, False, None),
            (3, True, "t"),
            (4, None, None),
        ], name
    lake.announce("a.json", kind="removed")
    for name, left in (("mirror", [(3,), (4,)]), ("merge", [(1,), (2,), (3,), (4,)])):
        lake.ingest(name)
        assert lake.rows(name, "id") == left, name
