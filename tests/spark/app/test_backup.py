"""A restored lake is written on: checkpoints, ledger, rows and indexes are those of the backup."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.app.backup.backup import back_up_lake
from headwater.app.backup.restore import restore_lake
from headwater.lake.layout import find_address
from headwater.lake.service_table import ServiceTable
from headwater.lake.services.metadata_table import validate_metadata
from tests.fixtures.folder_lake import FolderLake

TABLES = {
    "mirror": {"path": "*.json", "mode": "mirror", "metadata_table": True},
    "latest": {
        "path": "*.json",
        "record_key": "id",
        "ordering": "n",
        "table_type": "merge_on_read",
        "index": {"type": "global_record_level"},
    },
}


@pytest.mark.slow
def test_a_restored_lake_continues_from_its_checkpoints(spark: SparkSession, tmp_path: Path) -> None:
    lake = FolderLake(spark, tmp_path, **TABLES)
    lake.put_many([("a.json", '{"id": 1, "n": 1}'), ("b.json", '{"id": 2, "n": 1}')])
    ingest_all(lake)
    lake.put("a.json", '{"id": 1, "n": 2}')
    ingest_all(lake)
    # Events that no table has read yet are part of it.
    lake.put("c.json", '{"id": 3, "n": 3}')
    original, copy = lake.settings, str(tmp_path / "backup")
    back_up_lake(original, copy, original.lake_storage, 4)
    lake.announce("b.json", kind="removed")
    ingest_all(lake)

    lake.lake = str(tmp_path / "moved" / "lake")
    lake.settings = original.model_copy(update={"lake": lake.lake})
    lake.app = type(lake.app)(lake.settings, spark=spark)
    restore_lake(lake.settings, copy, original.lake_storage, 4)
    for name in TABLES:
        assert lake.rows(name, "id", "n") == [(1, 2), (2, 1)]
    # The restored tables know what they have read: an event that is sent again changes nothing.
    lake.put("d.json", '{"id": 4, "n": 1}')
    assert [result.objects["ingested"] for result in lake.ingest("mirror")] == [2]
    lake.announce("b.json", kind="removed")
    ingest_all(lake)
    assert lake.rows("mirror", "id", "n") == [(1, 2), (3, 3), (4, 1)]
    assert lake.rows("latest", "id", "n") == [(1, 2), (2, 1), (3, 3), (4, 1)]
    states = {(table, key): status for table, key, status in lake.ledger("table", "key", "status")}
    assert states["mirror", "b.json"] == "removed"
    for name in TABLES:
        assert validate_metadata(ServiceTable(spark, find_address(lake.settings, name))).is_good


def ingest_all(lake: FolderLake) -> None:
    for name in TABLES:
        lake.ingest(name)
