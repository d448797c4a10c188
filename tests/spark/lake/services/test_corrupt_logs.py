"""Log files that are not as they were written: Hudi passes over some of them, headwater does not."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from headwater.errors import TableDamagedError
from headwater.lake.damage import check_files
from headwater.lake.options import DELETED, WriteOptions
from headwater.lake.services.clustering import ClusterOptions, cluster
from headwater.lake.services.compaction import compact, compact_logs
from headwater.lake.services.maintenance import Duty, run_due_services
from headwater.lake.services.rollback import roll_back
from headwater.lake.snapshot_reader import SnapshotReader
from tests.spark.lake.services.conftest import Owned

OLD = [("a", 1), ("b", 1)]
NEW = [("a", 2), ("b", 2)]


@pytest.fixture
def table(build: Callable[..., Owned]) -> Owned:
    """Two rows in a base file, and their newer state in a log."""
    owned = build(table_type="merge_on_read", partition=())
    owned.write(*((key, n, "d") for key, n in OLD))
    owned.write(*((key, n, "d") for key, n in NEW))
    return owned


def find_log(table: Owned) -> Path:
    [log] = (file for file in table.files(".*.log.*") if not file.name.endswith(".crc"))
    # A store has no checksums beside the files.
    log.with_name(f".{log.name}.crc").unlink()
    return log


def test_cut_log_is_passed_over_by_readers_and_stops_a_compaction(table):
    log = find_log(table)
    content = log.read_bytes()
    os.truncate(log, len(content) // 2)
    # What Hudi makes of it, and hudi-rs: older rows and not a word.
    assert table.rows() == OLD
    assert SnapshotReader(str(table.path)).read(["n"])["n"].to_pylist() == [1, 1]
    commits = SnapshotReader(str(table.path)).commit_names
    for attempt in (compact, compact_logs):
        with pytest.raises(
            TableDamagedError, match=rf"{log.name} has {len(content) // 2:,} bytes instead of"
        ):
            attempt(table.services)
    assert SnapshotReader(str(table.path)).commit_names == commits
    log.write_bytes(content)
    assert compact(table.services).files == 1
    assert table.rows() == NEW
    assert check_files(table.services.address, archived=True, contents=True).is_good


def test_compaction_reports_accepted_loss(table):
    os.truncate(find_log(table), 100)
    [instant] = compact(table.services, accept_loss=True).instants
    found = check_files(table.services.address)
    assert found.damaged == ()
    assert [(one.instant, one.blocks) for one in found.skipped] == [(instant, 1)]
    assert table.rows() == OLD


def test_worker_does_not_compact_a_cut_log(table):
    os.truncate(find_log(table), 100)
    owned = table.services
    due = type(owned)(owned.spark, owned.address, {"hoodie.compact.inline.max.delta.commits": "1"})
    with pytest.raises(TableDamagedError):
        run_due_services(due, Duty(plans=True))
    assert [name.action for name in SnapshotReader(str(table.path)).commit_names] == ["deltacommit"] * 2


def test_flipped_bytes_are_one_error_that_names_the_file(table):
    log = find_log(table)
    content = bytearray(log.read_bytes())
    content[:6] = bytes(6)
    log.write_bytes(content)
    with pytest.raises(TableDamagedError, match=log.name):
        compact(table.services)
    with pytest.raises(TableDamagedError, match="a log file is corrupt"):
        SnapshotReader(str(table.path)).read()
    [corrupt_file] = check_files(table.services.address, contents=True).damaged
    assert (corrupt_file.path, corrupt_file.what, corrupt_file.rows) == (log.name, "unreadable", 2)


@pytest.mark.slow
def test_table_after_all_services_has_no_corruption(table):
    def check() -> None:
        found = check_files(table.services.address, archived=True, contents=True)
        assert found.is_good, found

    def write(*rows: tuple[str, int, bool]) -> None:
        frame = table.table.spark.createDataFrame(
            [(key, n, "d", deleted) for key, n, deleted in rows],
            f"id string, n int, day string, {DELETED} boolean",
        )
        options = WriteOptions("t", "upsert", record_key=("id",), table_type="merge_on_read")
        table.table.write(frame.coalesce(1), options)

    check()
    # Data and deletes are blocks of their own, in one file.
    write(("a", 3, True), ("b", 3, False))
    assert table.rows() == [("b", 3)]
    check()
    assert compact_logs(table.services).files == 1
    check()
    write(("b", 4, False))
    roll_back(table.services, None)
    check()
    compact(table.services)
    check()
    cluster(table.services, ClusterOptions())
    check()
    write(("b", 5, False))
    assert table.rows() == [("b", 5)]
    check()
