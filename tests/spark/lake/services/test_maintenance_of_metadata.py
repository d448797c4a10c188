"""Partitions that expire, logs that become one, and a metadata table that is compared and built anew."""

from dataclasses import replace
from datetime import datetime, timedelta, timezone

import pytest

from headwater.config.table import TableConfig
from headwater.errors import UsageError
from headwater.lake import queries
from headwater.lake.options import owner_options
from headwater.lake.services.compaction import compact_logs
from headwater.lake.services.expiry import Expiry, expire_partitions
from headwater.lake.services.maintenance import Duty, run_due_services
from headwater.lake.services.metadata_table import rebuild_metadata, validate_metadata

pytestmark = pytest.mark.long

NOW = datetime.now(timezone.utc)
KEEPING = {"path": "*.json", "record_key": "id", "partition": "day"}


def test_partitions_go_so_long_after_their_newest_commit_and_others_stay(build):
    owned = build(commit_metadata={"checkpoint": "here"})
    owned.write(("a", 1, "x"), ("b", 2, "x"), ("c", 3, "y"))
    services = replace(owned.services, extra=owner_options(TableConfig(**KEEPING, keep_partition_days=30)))
    assert expire_partitions(services, NOW + timedelta(days=29)) == Expiry()
    # With Hudi's own strategy nothing would go: its days are milliseconds in 32 bits.
    later = NOW + timedelta(days=31)
    assert expire_partitions(services, later, dry_run=True) == Expiry(("day=x", "day=y"), 3)
    assert expire_partitions(services, later, 40) == Expiry()
    assert len(owned.rows()) == 3
    assert run_due_services(services, Duty(expires=True)).expired == Expiry()
    done = expire_partitions(services, later)
    assert (done.partitions, done.rows) == (("day=x", "day=y"), 3)
    assert owned.rows() == []
    assert owned.table.load_timeline().find_metadata("checkpoint") == {"checkpoint": "here"}
    owned.write(("d", 4, "x"))
    assert owned.rows() == [("d", 4)]
    with pytest.raises(UsageError, match="has no partition retention"):
        expire_partitions(owned.services, NOW)


def test_logs_become_one_and_no_row_changes_whoever_reads(build):
    owned = build(table_type="merge_on_read")
    for n in range(4):
        owned.write(("a", n, "x"), ("b", n, "x"))
    (one,) = [s for s in _slices(owned) if s.has_log_files()]
    assert len(one.log_file_names) == 3
    assert len(compact_logs(owned.services).instants) == 1
    (one,) = [s for s in _slices(owned) if s.has_log_files()]
    assert owned.rows() == [("a", 3), ("b", 3)]
    table = queries.read(owned.services.address, queries.Query.snapshot(), ["id", "n"])
    assert sorted(zip(*table.to_pydict().values(), strict=True)) == owned.rows()
    assert compact_logs(owned.services).instants == ()
    owned.write(("a", 9, "x"))
    assert owned.rows() == [("a", 9), ("b", 3)]


def _slices(owned):
    from headwater.lake.snapshot_reader import SnapshotReader

    return SnapshotReader(str(owned.path)).list_slices()


def test_metadata_table_is_made_compared_and_made_again(build):
    config = TableConfig(**KEEPING, metadata_table=True)
    owned = build(typed={"metadata_table": True})
    for n in range(2):
        owned.write(("a", n, "x"), ("b", n, "y"))
    services = replace(owned.services, extra=owner_options(config))
    found = validate_metadata(services)
    assert (found.is_good, found.files) == (True, 4)

    stored = owned.files("*.parquet")
    lost = min(stored)
    lost.rename(lost.with_name("elsewhere"))
    wrong = validate_metadata(services)
    assert wrong.lost == (str(lost.relative_to(owned.path)),)
    lost.with_name("elsewhere").rename(lost)

    would = rebuild_metadata(services, dry_run=True)
    assert "files" in would.before
    made = (owned.path / ".hoodie/metadata/files").stat().st_ino
    built = rebuild_metadata(services)
    assert set(built.after) == set(built.before)
    assert (owned.path / ".hoodie/metadata/files").stat().st_ino != made
    assert validate_metadata(services).is_good
    owned.write(("a", 5, "x"))
    assert validate_metadata(services).files == 5
    assert owned.rows() == [("a", 5), ("b", 1)]


def test_table_without_a_metadata_table_gets_one_only_where_its_writes_keep_it(build):
    owned = build()
    owned.write(("a", 1, "x"))
    with pytest.raises(UsageError, match="has no metadata table"):
        validate_metadata(owned.services)
    with pytest.raises(UsageError, match="its next write would remove it"):
        rebuild_metadata(owned.services)
    config = TableConfig(**KEEPING, metadata_table=True)
    services = replace(owned.services, extra=owner_options(config))
    assert rebuild_metadata(services).before == ()
    assert validate_metadata(services).files == 1
