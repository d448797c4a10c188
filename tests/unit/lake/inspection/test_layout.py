"""Which files are of the newest state, which of older ones, and which of none."""

import io
import shutil
from pathlib import Path

import fastavro
import pyarrow as pa
import pytest
from hudi import HudiTableBuilder
from pyarrow import orc

from headwater.lake import inspection
from headwater.lake.inspection.file_names import DataFileName, parse_data_file_name
from tests.fixtures.inspection.addresses import TIMELINE, copy_fixture, find_fixture, list_disk

TABLES = ("orders_cow", "orders_mor", "archived", "odd_partitions", "managed")
GROUP = "00000000-c300-4b31-8675-390c85390967-0"
AT = "20261121060030193"


@pytest.mark.parametrize(
    ("name", "parsed"),
    [
        (f"{GROUP}_0-14-13_{AT}.parquet", DataFileName(GROUP, AT, "base")),
        (f"{GROUP}_0-14-13_{AT}.orc", DataFileName(GROUP, AT, "base")),
        (f".{GROUP}_{AT}.log.1_0-48-51", DataFileName(GROUP, AT, "log")),
        (f".{GROUP}_{AT}.log.12", DataFileName(GROUP, AT, "log")),
        (f".{GROUP}_{AT}.log.1_0-230-323.cdc", DataFileName(GROUP, AT, "cdc")),
        (f".{GROUP}_0-14-13_{AT}.parquet.crc", None),
        (f"..{GROUP}_{AT}.log.1_0-48-51.crc", None),
        (".hoodie_partition_metadata", None),
        ("part-00000.parquet", None),
    ],
)
def test_data_file_name_has_group_and_instant(name, parsed):
    assert parse_data_file_name(name) == parsed


@pytest.mark.parametrize("table", TABLES)
def test_every_byte_on_disk_is_accounted_for(table):
    address = find_fixture(table)
    found = inspection.read_layout(address, older=True)
    disk = list_disk(address)
    assert {file.path: file.size for one in found.slices for file in one.files} == disk
    totals = found.totals
    assert totals.current_bytes + totals.older_bytes + totals.cdc_bytes == sum(disk.values())
    assert found.problems == ()


@pytest.mark.parametrize("table", TABLES)
def test_current_slices_are_those_that_a_reader_reads(table):
    address = find_fixture(table)
    read = HudiTableBuilder.from_base_uri(address.path).build().get_file_slices()
    expected = {(s.partition_path, s.file_id): (s.base_file_name, sorted(s.log_file_names)) for s in read}
    found = {
        (one.partition, one.file_id): (
            one.base_file and one.base_file.path.rpartition("/")[2],
            sorted(log.path.rpartition("/")[2] for log in one.log_files),
        )
        for one in inspection.read_layout(address).slices
    }
    assert found == expected


def test_updated_copy_on_write_groups_have_older_slices():
    found = inspection.read_layout(find_fixture("orders_cow"), older=True)
    states = [(one.partition, one.state) for one in found.slices]
    assert states == [
        ("region=eu", "superseded"),
        ("region=eu", "superseded"),
        ("region=eu", "current"),
        ("region=us", "superseded"),
        ("region=us", "current"),
    ]
    assert (found.totals.file_groups, found.totals.older_slices, found.totals.partitions) == (2, 3, 2)


def test_rows_are_those_of_the_footers_and_unknown_under_logs():
    cow = inspection.read_layout(find_fixture("orders_cow"), rows=True)
    assert [one.rows for one in cow.slices] == [5, 3]
    mor = inspection.read_layout(find_fixture("orders_mor"), rows=True)
    assert [(len(one.log_files), one.rows) for one in mor.slices] == [(2, None), (1, None)]
    assert inspection.read_layout(find_fixture("orders_cow")).slices[0].rows is None


def test_rows_of_orc_files_are_those_of_their_footers(tmp_path):
    address = copy_fixture("archived", tmp_path)
    parquet = min(Path(address.path).glob("*.parquet"))
    orc.write_table(pa.table({"id": [1, 2, 3]}), parquet.with_suffix(".orc"))
    parquet.unlink()
    rows = [one.rows for one in inspection.read_layout(address, rows=True).slices]
    assert sorted(count for count in rows if count) == [1, 1, 1, 1, 1, 1, 3]


def test_rows_of_every_state_of_a_group_can_be_counted():
    found = inspection.read_layout(find_fixture("managed"), older=True, merged=True)
    assert [(one.partition, one.state, one.rows) for one in found.slices] == [
        ("region=eu", "replaced", 3),
        ("region=eu", "current", 3),
        ("region=us", "replaced", 3),
        ("region=us", "current", 1),
    ]


def test_group_of_logs_alone_begins_with_the_first_of_them(tmp_path):
    address = copy_fixture("managed", tmp_path)
    before = next(one for one in inspection.read_layout(address).slices if one.log_files)
    assert before.base_file is not None
    Path(address.path, before.base_file.path).unlink()
    one = next(one for one in inspection.read_layout(address, merged=True).slices if one.log_files)
    assert (one.base_file, one.log_files, one.rows) == (None, before.log_files, 1)
    assert one.instant == before.log_files[0].instant
    assert one.is_small


def test_log_that_was_begun_before_its_base_file_makes_no_slice_of_its_own(tmp_path):
    address = copy_fixture("managed", tmp_path)
    before = next(one for one in inspection.read_layout(address).slices if one.log_files)
    assert before.base_file is not None
    # As after a compaction that was planned while the first log was written.
    base = Path(address.path, before.base_file.path)
    first = before.log_files[0].instant
    commit = next(Path(address.path, TIMELINE).glob(f"{first}_*.deltacommit"))
    planned = str(int(commit.name[18:35]) - 1)
    assert first < planned
    base.rename(base.with_name(base.name.replace(before.base_file.instant, planned)))
    shutil.copy(commit, commit.with_name(f"{planned}_{int(planned) + 100}.commit"))
    found = [
        one for one in inspection.read_layout(address, older=True).slices if one.file_id == before.file_id
    ]
    assert [(one.instant, len(one.log_files)) for one in found] == [(planned, 2)]


def test_overwritten_and_clustered_groups_are_not_current():
    found = inspection.read_layout(find_fixture("managed"), older=True)
    assert sorted(one.partition for one in found.slices if one.state == "current") == [
        "region=eu",
        "region=us",
    ]
    # What a savepoint keeps of them still lies there.
    replaced = [one for one in found.slices if one.state == "replaced"]
    assert [one.partition for one in replaced] == ["region=eu", "region=us"]
    assert found.totals.older_bytes == sum(one.bytes for one in replaced)


def test_log_written_while_a_compaction_waits_is_on_the_slice_that_is_read():
    (one,) = (s for s in inspection.read_layout(find_fixture("managed")).slices if s.partition == "region=eu")
    assert len(one.log_files) == 2
    assert one.base_file is not None
    assert one.instant == one.base_file.instant


def test_files_of_a_killed_writer_are_distinguished(tmp_path):
    address = copy_fixture("orders_cow", tmp_path)
    before = inspection.read_layout(address)
    killed = "20261121230000000"
    Path(address.path, TIMELINE, f"{killed}.commit.requested").write_bytes(b"")
    base = before.slices[0].base_file
    assert base is not None
    left = Path(address.path, base.path.replace(base.instant, killed))
    shutil.copy(Path(address.path, base.path), left)
    found = inspection.read_layout(address)
    assert found.slices == before.slices
    assert [file.path for file in found.uncommitted] == [str(left.relative_to(address.path))]
    assert found.totals.uncommitted_bytes == left.stat().st_size


def test_archived_commits_files_are_current():
    found = inspection.read_layout(find_fixture("archived"))
    assert found.totals.file_groups == 7
    assert found.uncommitted == ()


def test_older_action_that_is_no_write_does_not_hide_archived_commits_files(tmp_path):
    address = copy_fixture("archived", tmp_path)
    (Path(address.path, TIMELINE) / "20261121060000000.clean.requested").write_bytes(b"")
    assert inspection.read_layout(address).totals.file_groups == 7


def test_old_commit_kept_by_its_savepoint_does_not_hide_archived_commits_files(tmp_path):
    address = copy_fixture("archived", tmp_path)
    timeline = Path(address.path, TIMELINE)
    first = "20261121060036331"
    shutil.copy(min(timeline.glob("*.commit")), timeline / f"{first}_20261121060036740.commit")
    (timeline / f"{first}_20261121060050000.savepoint").write_bytes(b"")
    assert inspection.read_layout(address).totals.file_groups == 7


@pytest.mark.parametrize(("limit", "small"), [(8_000, 0), (8_165, 1), (9_000, 2)])
def test_small_files_are_below_the_limit(limit, small):
    found = inspection.read_layout(find_fixture("orders_cow"), older=True, small_file_limit=limit)
    assert (found.small_file_limit, found.totals.small_files) == (limit, small)
    assert sum(one.is_small for one in found.slices) == small


def test_limit_is_that_of_the_write_options_or_hudis():
    assert inspection.parse_small_file_limit({}) == 104_857_600
    assert inspection.parse_small_file_limit({"hoodie.parquet.small.file.limit": "5000"}) == 5000


def test_corrupt_replacecommit_is_a_problem_that_is_reported(tmp_path):
    address = copy_fixture("managed", tmp_path)
    for path in Path(address.path, TIMELINE).glob("*.replacecommit"):
        path.write_bytes(b"torn")
    found = inspection.read_layout(address)
    assert len(found.problems) == 2
    assert "replacecommit" in found.problems[0]
    assert found.totals.file_groups == 4


def test_fully_replaced_partition_is_not_listed(tmp_path):
    address = copy_fixture("orders_cow", tmp_path)
    (group,) = {s.file_id for s in inspection.read_layout(address).slices if s.partition == "region=us"}
    write_delete_partition(Path(address.path), "region=us", group)
    assert inspection.read_layout(address).totals.partitions == 1
    assert [one.partition for one in inspection.list_partitions(address)] == ["region=eu"]


def write_delete_partition(table: Path, partition: str, group: str) -> None:
    """What `delete_partition` commits, with what is read of it."""
    ids = {"type": "map", "values": {"type": "array", "items": "string"}}
    schema = {
        "type": "record",
        "name": "HoodieReplaceCommitMetadata",
        "fields": [{"name": "partitionToReplaceFileIds", "type": ids}],
    }
    content = io.BytesIO()
    fastavro.writer(content, schema, [{"partitionToReplaceFileIds": {partition: [group]}}])
    name = "20261121230000000_20261121230001000.replacecommit"
    (table / TIMELINE / name).write_bytes(content.getvalue())
