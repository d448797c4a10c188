"""Queries of real tables without a JVM."""

import shutil
from pathlib import Path

import pytest

from headwater.errors import (
    InstantUnavailableError,
    LakeError,
    TableNotFoundError,
    TableUnsupportedError,
    UsageError,
)
from headwater.lake import TableAddress, queries
from headwater.lake.queries import Query
from headwater.lake.queries.reading import open_scan
from headwater.lake.snapshot_reader import SnapshotReader
from tests.fixtures.lakes import FIXTURE_LAKE, build_clean_plan

ORDERS = ("orders_cow", "orders_mor")


def address_of(name):
    return TableAddress(name, f"{FIXTURE_LAKE}/{name}")


def read_ids(name, query):
    column = "id" if name == "archived" else "order_id"
    return sorted(queries.read(address_of(name), query, [column])[column].to_pylist())


@pytest.fixture
def copy(tmp_path: Path) -> TableAddress:
    return TableAddress(
        "orders", shutil.copytree(FIXTURE_LAKE / "orders_cow", tmp_path / "orders").as_posix()
    )


def change_properties(address, before, after):
    file = Path(address.path) / ".hoodie/hoodie.properties"
    text = file.read_text()
    assert before in text
    file.write_text(text.replace(before, after))


@pytest.mark.parametrize("name", ORDERS)
def test_each_query_gives_its_rows(name):
    first, second, third = SnapshotReader(f"{FIXTURE_LAKE}/{name}").commit_names
    all_first = [f"o{number}" for number in range(1, 9)]
    newest = ["o1", *(f"o{number}" for number in range(3, 10))]
    assert read_ids(name, Query.snapshot()) == newest
    assert read_ids(name, Query.read_optimized()) == (newest if name == "orders_cow" else all_first)
    assert read_ids(name, Query.as_of(first.completed)) == all_first
    assert read_ids(name, Query.as_of(second.completed)) == [*all_first, "o9"]
    assert read_ids(name, Query.as_of(third.completed)) == newest
    assert read_ids(name, Query.changes(first.completed)) == ["o1", "o3", "o9"]
    assert read_ids(name, Query.changes(first.completed, second.completed)) == ["o1", "o3", "o9"]
    assert read_ids(name, Query.changes(second.completed)) == []
    assert read_ids(name, Query.changes("earliest", first.completed)) == all_first
    values = queries.read(address_of(name), Query.as_of(first.completed), ["customer"])[
        "customer"
    ].to_pylist()
    assert "changed" not in values


def test_archived_commits_are_known_by_when_they_completed():
    # One row a commit; the first four have left the active timeline.
    completed = ["20261121060036740", "20261121060037310", "20261121060037954", "20261121060038399"]
    for number, instant in enumerate(completed):
        assert read_ids("archived", Query.as_of(instant)) == list(range(number + 1))
        assert read_ids("archived", Query.changes(instant)) == list(range(number + 1, 7))
    assert read_ids("archived", Query.changes("earliest")) == list(range(7))
    with pytest.raises(InstantUnavailableError, match="there is no commit up to"):
        read_ids("archived", Query.as_of("20261121060036739"))


def test_cleaned_state_is_refused_and_changes_since_then_are_not(copy):
    first, second, _ = SnapshotReader(copy.path).commit_names
    plan = Path(copy.path) / ".hoodie/timeline/20261121070000000.clean.requested"
    plan.write_bytes(build_clean_plan(second.requested))
    with pytest.raises(InstantUnavailableError, match=f"earliest readable instant is {second.completed}"):
        queries.read(copy, Query.as_of(first.completed))
    assert queries.read(copy, Query.as_of(second.completed)).num_rows == 9
    assert queries.read(copy, Query.changes(first.completed)).num_rows == 3


def test_clean_that_comes_while_rows_are_read_is_noticed(copy):
    first, second, _ = SnapshotReader(copy.path).commit_names
    scan, reader = open_scan(Query.as_of(first.completed), SnapshotReader(copy.path))
    assert reader.read_scan(scan).num_rows == 8
    plan = Path(copy.path) / ".hoodie/timeline/20261121070000000.clean.requested"
    plan.write_bytes(build_clean_plan(second.requested))
    with pytest.raises(InstantUnavailableError, match="cleaned during the read"):
        reader.read_scan(scan)


def test_times_are_not_asked_of_a_timeline_in_local_time(copy):
    change_properties(copy, "timeline.timezone=UTC", "timeline.timezone=LOCAL")
    first = SnapshotReader(copy.path).commit_names[0]
    assert queries.read(copy, Query.as_of(first.completed)).num_rows == 8
    with pytest.raises(UsageError, match="local time") as refused:
        queries.read(copy, Query.as_of("2026-11-21T06:00:32Z"))
    assert "use an instant of the timeline, such as 2026" in refused.value.hint


def test_timeline_of_before_hudi_1_has_only_its_newest_state(copy):
    first = SnapshotReader(copy.path).commit_names[0]
    change_properties(copy, "timeline.layout.version=2", "timeline.layout.version=1")
    change_properties(copy, "hoodie.table.version=9", "hoodie.table.version=6")
    with pytest.raises(LakeError, match=r"the timeline predates Hudi 1\.0"):
        queries.read(copy, Query.as_of(first.completed))


def test_corrupt_clean_plan_is_an_error_and_no_guess(copy):
    first = SnapshotReader(copy.path).commit_names[0]
    (Path(copy.path) / ".hoodie/timeline/20261121070000000.clean.requested").write_bytes(b"nonsense")
    with pytest.raises(LakeError):
        queries.read(copy, Query.as_of(first.completed))


def test_change_log_is_for_spark():
    with pytest.raises(TableUnsupportedError, match="only Spark can read the change log"):
        queries.read(address_of("orders_cow"), Query.cdc("earliest"))


def test_absent_table_says_so(tmp_path):
    with pytest.raises(TableNotFoundError):
        queries.read(TableAddress("none", str(tmp_path / "none")), Query.as_of("2026-11-21"))


@pytest.mark.parametrize("name", ORDERS)
def test_commit_after_opening_is_read_completely(tmp_path, name):
    path = Path(shutil.copytree(FIXTURE_LAKE / name, tmp_path / "orders"))
    third = SnapshotReader(str(path)).commit_names[2]
    file = path / f".hoodie/timeline/{third.requested}_{third.completed}.{third.action}"
    file.rename(tmp_path / file.name)
    early = SnapshotReader(str(path))
    assert early.read(["order_id"]).num_rows == 9
    (tmp_path / file.name).rename(file)
    scan, reader = open_scan(Query.as_of(third.completed), early)
    assert sorted(reader.read_scan(scan, ["order_id"])["order_id"].to_pylist()) == [
        "o1",
        *(f"o{number}" for number in range(3, 10)),
    ]
