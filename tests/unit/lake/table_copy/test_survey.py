"""The state of a table that a copy takes: of a table with everything on its timeline."""

from pathlib import Path

import pytest

from headwater.errors import LakeError, TableNotFoundError
from headwater.lake.layout import TableAddress
from headwater.lake.table_copy.survey import find_corruption, read_new_cleans, survey_table
from tests.fixtures.inspection.addresses import TIMELINE, copy_fixture, find_fixture, list_disk

PENDING = "20261121220520801.compaction.requested"


def test_files_and_completed_actions_are_taken_and_pending_ones_left():
    address = find_fixture("managed")
    survey = survey_table(address)
    paths = {file.path for file in survey.files}
    assert list_disk(address).keys() <= paths
    timeline = {path.name for path in Path(address.path, TIMELINE).iterdir()}
    assert {path.rpartition("/")[2] for path in paths if TIMELINE in path} == timeline - {PENDING}
    assert set(survey.contents) == {".hoodie/hoodie.properties", ".hoodie/.index_defs/index.json"}
    assert survey.newest is not None
    assert (survey.newest.requested, survey.newest_requested) == ("20261121220520956", "20261121220520956")
    assert find_corruption(survey) == ()
    assert read_new_cleans(survey) == []


def test_only_files_of_the_archives_latest_version_are_taken():
    survey = survey_table(find_fixture("archived"))
    history = {Path(file.path).name for file in survey.files if "/history/" in file.path}
    assert "manifest_2" in history
    assert "manifest_1" not in history
    assert survey.contents[".hoodie/timeline/history/_version_"] == b"2"


def test_a_clean_that_ran_since_is_read_from_its_plan(tmp_path):
    address = copy_fixture("managed", tmp_path)
    survey = survey_table(address)
    timeline = Path(address.path, TIMELINE)
    for state, name in (("requested", ".clean.requested"), ("inflight", ".clean.inflight")):
        content = (timeline / f"20261121220518887.clean.{state}").read_bytes()
        (timeline / f"20261121230000000{name}").write_bytes(content)
    [clean] = read_new_cleans(survey)
    assert clean.earliest
    assert not clean.is_completed
    (timeline / "20261121230000000_20261121230000001.clean").write_bytes(
        (timeline / "20261121220518887_20261121220520709.clean").read_bytes()
    )
    assert read_new_cleans(survey)[0].is_completed
    # And a new survey has it.
    assert read_new_cleans(survey_table(address)) == []


def test_a_file_that_a_commit_recorded_and_the_table_lacks_is_found(tmp_path):
    address = copy_fixture("orders_mor", tmp_path)
    log = next(Path(address.path).rglob("*.log.*"))
    log.write_bytes(log.read_bytes()[:-1])
    [damaged] = find_corruption(survey_table(address))
    assert damaged.path.endswith(log.name)


def test_no_table_is_told_from_one_that_cannot_be_copied(tmp_path):
    with pytest.raises(TableNotFoundError):
        survey_table(TableAddress("t", str(tmp_path / "t")))
    address = copy_fixture("orders_mor", tmp_path)
    commit = next(Path(address.path, TIMELINE).glob("*_*.deltacommit"))
    commit.write_bytes(b"no Avro")
    with pytest.raises(LakeError, match="cannot be read"):
        find_corruption(survey_table(address))
