"""Reading real tables as they were, and knowing how far back that goes."""

import shutil
from pathlib import Path

import pytest

from headwater.errors import LakeError, TableNotFoundError
from headwater.lake.options import WriteOptions
from headwater.lake.snapshot_reader import SnapshotReader
from tests.fixtures.lakes import FIXTURE_LAKE, build_clean_plan


def write_plan(table: Path, requested: str, earliest: str | None) -> None:
    (table / f".hoodie/timeline/{requested}.clean.requested").write_bytes(build_clean_plan(earliest))


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return Path(shutil.copytree(FIXTURE_LAKE / "orders_cow", tmp_path / "orders"))


@pytest.mark.parametrize("name", ["orders_cow", "orders_mor"])
def test_a_commit_is_read_by_the_time_it_was_requested(name):
    reader = SnapshotReader(f"{FIXTURE_LAKE}/{name}")
    first, second, third = reader.commit_names

    def read(instant: str) -> list[str]:
        return sorted(reader.read(["order_id"], as_of=instant)["order_id"].to_pylist())

    assert read(f"{int(first.requested) - 1}") == []
    assert len(read(first.requested)) < len(read(second.requested))
    assert read(third.requested) == sorted(reader.read(["order_id"])["order_id"].to_pylist())
    customers = reader.read(["customer"], as_of=first.requested)["customer"].to_pylist()
    assert "changed" not in customers


def test_without_a_clean_every_commit_is_complete(table):
    assert SnapshotReader(str(table)).find_earliest_retained() == ""


def test_the_newest_clean_says_how_far_back_commits_are_complete(table):
    reader = SnapshotReader(str(table))
    write_plan(table, "20261121070000000", "20261121060034565")
    assert reader.find_earliest_retained() == "20261121060034565"
    # Also one that has only just been planned, seen by a reader that was there before.
    write_plan(table, "20261121080000000", "20261121060035441")
    assert reader.find_earliest_retained() == "20261121060035441"
    (table / ".hoodie/timeline/20261121090000000.clean.requested").touch()
    assert reader.find_earliest_retained() == "20261121060035441"


def test_clean_without_retained_commit_keeps_only_later_ones(table):
    write_plan(table, "20261121070000000", None)
    assert SnapshotReader(str(table)).find_earliest_retained() == "20261121070000000"


def test_a_plan_that_cannot_be_read_is_an_error_not_a_guess(table):
    (table / ".hoodie/timeline/20261121070000000.clean.requested").write_bytes(b"no avro")
    with pytest.raises(LakeError):
        SnapshotReader(str(table)).find_earliest_retained()


def test_an_absent_table_says_so(tmp_path):
    with pytest.raises(TableNotFoundError):
        SnapshotReader(str(tmp_path / "nothing")).find_earliest_retained()


def test_commits_that_are_to_be_kept_stay_on_the_timeline_too():
    plain = WriteOptions("t", "upsert", ("id",))
    assert "hoodie.clean.commits.retained" not in plain.to_hoodie()
    kept = WriteOptions("t", "upsert", ("id",), keep_commits=40).to_hoodie()
    names = ("hoodie.clean.commits.retained", "hoodie.keep.min.commits", "hoodie.keep.max.commits")
    assert [kept[name] for name in names] == ["40", "50", "60"]
