"""Files that are gone or cut short are told from those that are merely superseded."""

import os
from pathlib import Path

import pytest

from headwater.errors import TableDamagedError
from headwater.lake import inspection
from headwater.lake.damage import check_files, ensure_intact
from headwater.lake.damage.promises import Promises
from headwater.lake.layout import TableAddress
from headwater.lake.timeline.instants import Instant
from tests.fixtures.inspection.addresses import TIMELINE, copy_fixture, find_fixture

TABLES = ("orders_cow", "orders_mor", "archived", "odd_partitions", "managed")
GROUP = "00000000-c300-4b31-8675-390c85390967-0"


def find_logs(address: TableAddress) -> list[Path]:
    slices = inspection.read_layout(address).slices
    return [Path(address.path, log.path) for one in slices for log in one.log_files]


@pytest.mark.parametrize("table", TABLES)
def test_every_file_of_the_newest_state_is_compared_and_good(table):
    current = inspection.read_layout(find_fixture(table)).slices
    found = check_files(find_fixture(table), archived=True, contents=True)
    assert found.is_good
    assert found.files == sum(1 + len(one.log_files) for one in current)
    ensure_intact(find_fixture(table))


@pytest.mark.parametrize("kept", [0, 100, -1])
def test_truncated_log_is_named_with_its_commit(tmp_path, kept):
    address = copy_fixture("orders_mor", tmp_path)
    log = find_logs(address)[0]
    size = log.stat().st_size
    os.truncate(log, kept % size)
    [corrupt_file] = check_files(address).damaged
    assert (Path(address.path, corrupt_file.path), corrupt_file.what) == (log, "size")
    assert (corrupt_file.promised, corrupt_file.found) == (size, kept % size)
    assert corrupt_file.rows > 0
    with pytest.raises(TableDamagedError) as caught:
        ensure_intact(address)
    assert f"{corrupt_file.path} has {kept % size:,} bytes instead of {size:,}" in caught.value.message
    assert f"{corrupt_file.rows} rows of commit {corrupt_file.instant}" in caught.value.message
    assert "compact --accept-loss" in caught.value.hint


@pytest.mark.parametrize("table", ["orders_cow", "orders_mor"])
def test_missing_file_is_named(tmp_path, table):
    address = copy_fixture(table, tmp_path)
    base = next(one.base_file for one in inspection.read_layout(address).slices if one.base_file)
    Path(address.path, base.path).unlink()
    [corrupt_file] = check_files(address).damaged
    assert (corrupt_file.path, corrupt_file.what, corrupt_file.found) == (base.path, "gone", None)
    assert "is missing" in corrupt_file.describe()
    # No compaction makes that worse, and none would end it.
    ensure_intact(address)


def test_files_of_archived_commits_are_checked_on_request(tmp_path):
    address = copy_fixture("archived", tmp_path)
    files = [one.base_file for one in inspection.read_layout(address).slices if one.base_file]
    oldest = min(files, key=lambda file: file.instant)
    Path(address.path, oldest.path).unlink()
    assert check_files(address).damaged == ()
    assert [one.path for one in check_files(address, archived=True).damaged] == [oldest.path]


def test_older_file_that_a_clean_has_taken_is_not_missed(tmp_path):
    address = copy_fixture("orders_cow", tmp_path)
    for one in inspection.read_layout(address, older=True).slices:
        if one.state != "current" and one.base_file:
            Path(address.path, one.base_file.path).unlink()
    assert check_files(address, archived=True).is_good


@pytest.mark.parametrize("at", [0, 14], ids=["magic", "header"])
def test_flipped_bytes_of_a_log_are_found_by_reading_it(tmp_path, at):
    address = copy_fixture("orders_mor", tmp_path)
    log = find_logs(address)[0]
    content = bytearray(log.read_bytes())
    content[at : at + 6] = bytes(byte ^ 0xFF for byte in content[at : at + 6])
    log.write_bytes(content)
    assert check_files(address).is_good
    [corrupt_file] = check_files(address, contents=True).damaged
    assert (Path(address.path, corrupt_file.path), corrupt_file.what) == (log, "unreadable")


def test_corrupt_footer_is_found_by_reading(tmp_path):
    address = copy_fixture("orders_cow", tmp_path)
    base = next(one.base_file for one in inspection.read_layout(address).slices if one.base_file)
    path = Path(address.path, base.path)
    path.write_bytes(path.read_bytes()[:-8] + bytes(8))
    [corrupt_file] = check_files(address, contents=True).damaged
    assert (corrupt_file.path, corrupt_file.what) == (base.path, "unreadable")


def test_unreadable_commit_is_a_problem_and_no_corruption(tmp_path):
    address = copy_fixture("orders_cow", tmp_path)
    commit = max(Path(address.path, TIMELINE).glob("*_*.commit"))
    commit.write_bytes(b"Obj\x01 and then nothing")
    found = check_files(address)
    assert found.damaged == ()
    assert commit.name[:17] in found.problems[0]
    assert not found.is_good


def build_stat(name: str, **counts: int) -> dict[str, object]:
    return {"path": name, "fileSizeInBytes": 10, **counts}


def test_log_during_compaction_stays_expected_and_skipped_blocks_are_reported():
    promises = Promises()
    first, second = f".{GROUP}_20260101000000100.log.1_0-1-1", f".{GROUP}_20260101000000300.log.1_0-1-1"
    base = f"{GROUP}_0-1-1_20260101000000200.parquet"
    commits = [
        ("20260101000000100", "20260101000000150", build_stat(first, numWrites=3)),
        ("20260101000000300", "20260101000000350", build_stat(second, numWrites=1, numDeletes=1)),
        ("20260101000000200", "20260101000000400", build_stat(base, numWrites=3, totalCorruptLogBlock=2)),
    ]
    for requested, completed, stat in commits:
        promises.add(Instant(requested, "commit", completed), {"partitionToWriteStats": {"": [stat]}})
    assert [(file.path, file.rows) for file in promises.files] == [(second, 2), (base, 3)]
    assert [(one.instant, one.blocks) for one in promises.skipped] == [("20260101000000200", 2)]
    promises.add(
        Instant("20260101000000500", "replacecommit", "20260101000000600"),
        {"partitionToReplaceFileIds": {"": [GROUP]}},
    )
    assert promises.files == []


def test_log_of_several_appends_has_the_size_of_the_last():
    promises = Promises()
    log = f".{GROUP}_20260101000000100.log.1_0-1-1"
    for at, offset in enumerate((0, 10)):
        stat = build_stat(log, logOffset=offset, numWrites=1)
        promises.add(
            Instant(f"2026010100000010{at}", "deltacommit", f"2026010100000020{at}"),
            {"partitionToWriteStats": {"": [stat]}},
        )
    assert [(file.size, file.rows) for file in promises.files] == [(20, 2)]
