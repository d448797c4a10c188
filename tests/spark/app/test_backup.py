"""A restored lake is written on: checkpoints, ledger, rows and indexes are those of the backup."""

import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from structlog.testing import capture_logs

from headwater.app.backup.backup import Backup, back_up_lake
from headwater.app.backup.destination import BackupFolder
from headwater.app.backup.manifest import BackupFile
from headwater.app.backup.restore import restore_lake
from headwater.config.settings import Settings
from headwater.lake.damage import check_files
from headwater.lake.file_store import FileStore
from headwater.lake.layout import find_address
from headwater.lake.service_table import ServiceTable
from headwater.lake.services.cleaning import CleanPolicy, clean
from headwater.lake.services.metadata_table import validate_metadata
from headwater.lake.snapshot_reader import SnapshotReader
from headwater.lake.table import Table
from headwater.observability.clock import SystemClock
from tests.fixtures.folder_lake import FolderLake
from tests.fixtures.lakes import FIXTURE_LAKE

TABLES: dict[str, dict[str, Any]] = {
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


class BusyFolder(BackupFolder):
    """Calls `interrupt` between two listings of the table `mirror` and the copies of their files."""

    def __init__(self, folder: Path, interrupt: Callable[[], None]) -> None:
        super().__init__(FileStore(str(folder), dict), attempt="one")
        self.interrupt, self.left, self.is_armed = interrupt, 2, True

    def locate(self, path: str) -> str:
        if path.startswith("mirror/") and self.left and self.is_armed:
            self.left, self.is_armed = self.left - 1, False
            self.interrupt()
        return super().locate(path)

    def note_copied(self, files: Sequence[BackupFile]) -> None:
        super().note_copied(files)
        self.is_armed = True


@pytest.mark.slow
def test_files_that_are_cleaned_while_they_are_copied_do_no_harm(spark: SparkSession, tmp_path: Path) -> None:
    lake = FolderLake(spark, tmp_path, mirror={"path": "*.json", "mode": "mirror", "keep_commits": 1})
    written: dict[str, int] = {}

    def overwrite() -> None:
        number = len(written)
        lake.put("a.json", json.dumps({"id": 1, "n": number}))
        lake.ingest("mirror")
        written[lake.table("mirror").load_timeline().commits[-1].requested] = number

    def overwrite_and_clean() -> None:
        for _ in range(3):
            overwrite()
        table = ServiceTable(spark, find_address(lake.settings, "mirror"))
        assert clean(table, CleanPolicy("commits", 1)).files > 0

    overwrite()
    folder = BusyFolder(tmp_path / "backup", overwrite_and_clean)
    folder.claim(lake.lake)
    with capture_logs() as logs:
        done = Backup(lake.settings, folder, 4, SystemClock()).run()
    [repeated] = [entry for entry in logs if entry["event"].startswith("table changed")]
    assert repeated["table"] == "mirror"
    assert "deleted" in repeated["reason"]
    [instant] = [table.instant for table in done.manifest.tables if table.name == "mirror"]

    other = lake.settings.model_copy(update={"lake": str(tmp_path / "moved")})
    restore_lake(other, str(tmp_path / "backup"), other.lake_storage, 4)
    address = find_address(other, "mirror")
    rows = Table(spark, address.path).read().select("id", "n").collect()
    assert [tuple(row) for row in rows] == [(1, written[instant])]
    assert check_files(address, archived=True, contents=True).is_good
    # What the copy lacks of the past is known to it, and no past state silently lacks rows.
    earliest = SnapshotReader(address.path).find_earliest_retained()
    for requested, number in written.items():
        if earliest <= requested <= instant:
            found = Table(spark, address.path).read_as_of(requested).select("n").collect()
            assert [row["n"] for row in found] == [number]


def test_a_pending_compaction_that_is_left_out_hides_no_rows(spark: SparkSession, tmp_path: Path) -> None:
    shutil.copytree(FIXTURE_LAKE / "managed", tmp_path / "lake" / "managed")
    settings = Settings.model_validate(
        {
            "source": {"type": "local", "path": str(tmp_path / "landing")},
            "lake": str(tmp_path / "lake"),
            "tables": {"managed": {"path": "*.json"}},
        }
    )
    back_up_lake(settings, str(tmp_path / "backup"), settings.lake_storage, 4)
    moved = settings.model_copy(update={"lake": str(tmp_path / "moved")})
    restore_lake(moved, str(tmp_path / "backup"), moved.lake_storage, 4)

    def read(path: Path) -> list[str]:
        return sorted(str(row) for row in Table(spark, str(path)).read().collect())

    original = Table(spark, str(tmp_path / "lake" / "managed")).load_timeline()
    assert original.list_pending("compaction")
    assert not Table(spark, str(tmp_path / "moved" / "managed")).load_timeline().list_pending("compaction")
    assert read(tmp_path / "moved" / "managed") == read(tmp_path / "lake" / "managed")


def ingest_all(lake: FolderLake) -> None:
    for name in TABLES:
        lake.ingest(name)
