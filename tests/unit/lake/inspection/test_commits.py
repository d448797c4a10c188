"""The newest commits, and everything about one."""

import json
from pathlib import Path

import pytest

from headwater.errors import LakeError, UsageError
from headwater.lake import inspection
from tests.fixtures.inspection.addresses import NOW, TIMELINE, copy_fixture, find_fixture


def test_commits_come_newest_first_and_no_more_than_asked():
    found = inspection.list_commits(find_fixture("managed"), NOW)
    assert [one.operation for one in found] == [
        "upsert", "upsert", "cluster", "upsert", "insert_overwrite", "compact", "upsert", "upsert",
    ]  # fmt: skip
    assert inspection.list_commits(find_fixture("managed"), NOW, limit=2) == found[:2]


def test_commit_separates_files_rows_and_own_metadata():
    address = find_fixture("orders_mor")
    _, second, _ = inspection.list_commits(address, NOW)
    found = inspection.load_commit(address, second.instant, NOW)
    assert found.summary == second
    assert {(one.partition, one.rows_updated) for one in found.files} == {("region=eu", 1), ("region=us", 2)}
    for one in found.files:
        assert Path(address.path, one.path).stat().st_size == one.size
    assert found.headwater["step"] == "second"
    assert "checkpoint" in found.headwater
    assert found.extra_metadata == {}
    assert found.schema is not None
    assert "order_id" in {field["name"] for field in json.loads(found.schema)["fields"]}


def test_commit_is_found_by_either_of_its_times():
    address = find_fixture("orders_cow")
    newest, *_ = inspection.list_commits(address, NOW)
    assert newest.completed is not None
    assert inspection.load_commit(address, newest.completed, NOW).summary == newest


def test_file_groups_replaced_by_clustering_are_reported():
    address = find_fixture("managed")
    commits = inspection.list_commits(address, NOW)
    cluster = next(one for one in commits if one.operation == "cluster")
    found = inspection.load_commit(address, cluster.instant, NOW)
    assert [group.partition for group in found.replaced] == ["region=eu", "region=us"]
    assert {one.file_id for one in found.files}.isdisjoint(group.file_id for group in found.replaced)
    assert [one.rows_inserted for one in found.files] == [0, 0]


def test_archived_commit_is_found():
    address = find_fixture("archived")
    oldest = inspection.list_actions(address, NOW, archived=True)[0]
    found = inspection.load_commit(address, oldest.instant, NOW)
    assert found.summary.archived
    assert found.headwater == {"step": "0"}
    assert Path(address.path, found.files[0].path).exists()


def test_unknown_instant_names_the_nearest():
    with pytest.raises(UsageError, match="there is no commit 20261121060030194") as failure:
        inspection.load_commit(find_fixture("orders_cow"), "20261121060030194", NOW)
    assert "did you mean 20261121060030193?" in failure.value.hint


def test_action_that_is_no_commit_is_distinguished():
    address = find_fixture("managed")
    clean = next(one for one in inspection.list_actions(address, NOW) if one.action == "clean")
    with pytest.raises(UsageError, match=f"{clean.instant} is not a completed commit"):
        inspection.load_commit(address, clean.instant, NOW)


def test_corrupt_commit_is_an_error_with_its_name(tmp_path):
    address = copy_fixture("orders_cow", tmp_path)
    path = next(Path(address.path, TIMELINE).glob("*.commit"))
    path.write_bytes(b"torn")
    with pytest.raises(LakeError, match=f"commit {path.name[:17]} cannot be read"):
        inspection.load_commit(address, path.name[:17], NOW)
