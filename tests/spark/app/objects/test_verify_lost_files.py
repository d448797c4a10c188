"""A file of a table that is gone or cut short: Hudi passes over it, `verify` tells of it and mends it."""

import json
import os
from datetime import datetime, timezone
from pathlib import Path

import pytest

from headwater.app import App
from headwater.app.objects.routing import Routing
from headwater.app.objects.verify import Verify
from headwater.app.services.intact_tables import with_integrity_check
from headwater.errors import TableDamagedError
from headwater.lake.layout import find_address, table_path
from headwater.lake.service_table import ServiceTable
from headwater.lake.services.compaction import compact
from tests.fixtures.folder_lake import FolderLake

pytestmark = pytest.mark.long
BEFORE = datetime(2020, 1, 1, tzinfo=timezone.utc)
"""All of the tables here."""


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


def read_again(lake: FolderLake, spark, mode: str) -> int:
    """How many objects. In a merge `verify` misses no rows: another object may have written over them."""
    if mode == "merge":
        return Routing(App(lake.settings, spark=spark)).replay("things", BEFORE)
    return Verify(App(lake.settings, spark=spark)).repair()


@pytest.mark.parametrize(("mode", "is_there"), [("merge", True), ("mirror", False)], ids=["cut", "gone"])
def test_corrupt_log_stops_a_run_and_its_rows_are_re_ingested(spark, tmp_path, mode, is_there):
    key = {"record_key": "id"} if mode == "merge" else {}
    lake = FolderLake(
        spark, tmp_path, things={"path": "*.json", "mode": mode, "table_type": "merge_on_read", **key}
    )
    for note in ("old", "new"):
        lake.put("a.json", lines(0, note))
        lake.ingest("things")
    rows = lake.rows("things", "id", "note")
    [log] = Path(table_path(lake.lake, "things")).rglob(".*.log.*_*[0-9]")
    # A store has no checksums beside the files.
    log.with_name(f".{log.name}.crc").unlink()
    if is_there:
        os.truncate(log, log.stat().st_size // 2)
    else:
        log.unlink()
    assert lake.rows("things", "id", "note") == [(at, "old") for at in range(20)]

    app = App(lake.settings, spark=spark)
    pipeline = with_integrity_check(app.build_pipeline("things"), lake.settings)
    with pytest.raises(TableDamagedError, match=log.name):
        pipeline.run_batch()
    report = Verify(app).run()
    assert not report.is_complete
    assert [corrupt_file.path for corrupt_file in report.tables["things"].damaged] == [log.name]

    assert read_again(lake, spark, mode) == 1
    assert compact(ServiceTable(spark, find_address(lake.settings, "things")), accept_loss=True).files == 1
    assert lake.rows("things", "id", "note") == rows
    again = with_integrity_check(App(lake.settings, spark=spark).build_pipeline("things"), lake.settings)
    assert again.run_batch() is None
    assert Verify(App(lake.settings, spark=spark), deep=1).run().is_complete
