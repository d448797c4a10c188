"""What a timeline tells, by every reader: of tables to which everything was done, and after interruptions."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.errors import LakeError
from headwater.lake.layout import TableAddress
from headwater.lake.table_folder import TableFolder
from headwater.lake.timeline import Commit, Timeline
from headwater.lake.timeline.files import FileReader
from headwater.lake.timeline.jvm import load_timeline
from tests.fixtures.inspection.addresses import TIMELINE
from tests.fixtures.lakes import FIXTURE_LAKE

Load = Callable[[str], Timeline]

INTERRUPTED = "20261121230000000"
RESTORED = "20261121230100000"
SECOND, COMPACTED, CLUSTERED = "20261121220504666", "20261121220507346", "20261121220512785"


def load_by_files(path: str) -> Timeline:
    folder = TableFolder(TableAddress("t", path))
    return Timeline(FileReader(path, folder, folder.properties))


@pytest.fixture(params=["jvm", "files"])
def load(request: pytest.FixtureRequest) -> Load:
    if request.param == "files":
        return load_by_files
    spark: SparkSession = request.getfixturevalue("spark")
    return lambda path: load_timeline(spark, path)


@pytest.fixture
def copy(tmp_path: Path) -> Callable[[str], Path]:
    """Of a table of the fixtures, for a test that changes it."""
    return lambda name: Path(shutil.copytree(FIXTURE_LAKE / name, tmp_path / name))


def list_instants(timeline: Timeline) -> list[tuple[str, str, str]]:
    return [(i.requested, i.action, i.state) for i in timeline.active]


@pytest.mark.parametrize(("name", "action"), [("orders_cow", "commit"), ("orders_mor", "deltacommit")])
def test_commits_are_in_completion_order_with_their_metadata(load: Load, name: str, action: str) -> None:
    timeline = load(str(FIXTURE_LAKE / name))
    assert timeline.exists()
    assert timeline.has_commits()
    assert [commit.action for commit in timeline.commits] == [action] * 3
    assert list(timeline.commits) == sorted(timeline.commits)
    assert all(commit.requested < commit.completed for commit in timeline.commits)
    reported = [timeline.read_own_metadata(commit)["step"] for commit in timeline.commits]
    assert reported == ["first", "second", "third"]
    assert timeline.find_metadata("step") == timeline.read_own_metadata(timeline.commits[-1])
    assert timeline.find_commit("step") == timeline.commits[-1]
    assert timeline.find_commit("nobody") is None
    assert "schema" in timeline.read_extra_metadata(timeline.commits[0])
    assert timeline.read_properties()["hoodie.table.name"] == name


def test_every_action_occurs_once_in_its_last_state(load: Load) -> None:
    timeline = load(str(FIXTURE_LAKE / "managed"))
    assert list_instants(timeline) == [
        ("20261121220458507", "deltacommit", "completed"),
        (SECOND, "deltacommit", "completed"),
        (SECOND, "savepoint", "completed"),
        (COMPACTED, "commit", "completed"),
        ("20261121220511500", "replacecommit", "completed"),
        ("20261121220512110", "deltacommit", "completed"),
        (CLUSTERED, "replacecommit", "completed"),
        ("20261121220517840", "rollback", "completed"),
        ("20261121220518232", "deltacommit", "completed"),
        ("20261121220518887", "clean", "completed"),
        ("20261121220520801", "compaction", "requested"),
        ("20261121220520956", "deltacommit", "completed"),
    ]
    # A compaction and a clustering are commits; a savepoint at the time of a commit is none.
    assert timeline.commits[2:4] == (
        Commit("20261121220511422", COMPACTED, "commit"),
        Commit("20261121220511993", "20261121220511500", "replacecommit"),
    )
    assert len(timeline.commits) == 8
    assert timeline.list_pending("compaction") == ("20261121220520801",)
    assert timeline.list_pending("clustering") == ()
    # The compaction, the overwrite and the clustering carry nothing of ours.
    steps = [metadata.get("step") for _, metadata in timeline.iter_metadata("")]
    assert steps == ["first", "second", None, "overwrite", "third", None, "fourth", "fifth"]


def test_interrupted_actions_are_pending(load: Load, copy: Callable[[str], Path]) -> None:
    table = copy("managed")
    for file in (
        *(f"{INTERRUPTED}.{name}" for name in ("deltacommit.requested", "deltacommit.inflight")),
        f"{RESTORED}.clustering.requested",
    ):
        (table / TIMELINE / file).touch()
    timeline = load(str(table))
    assert list_instants(timeline)[-2:] == [
        (INTERRUPTED, "deltacommit", "inflight"), (RESTORED, "clustering", "requested"),
    ]  # fmt: skip
    assert timeline.list_pending("clustering") == (RESTORED,)
    assert timeline.list_pending_writes() == (INTERRUPTED,)
    assert timeline.commits[-1].requested == "20261121220520956"


def test_archived_commits_have_their_metadata(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("headwater.lake.timeline.timeline._READ_AT_ONCE", 3)
    timeline = load(str(FIXTURE_LAKE / "archived"))
    archived, active = timeline.list_archived(), timeline.commits
    assert [len(archived), len(active)] == [4, 3]
    assert [i.archived for i in timeline.archived] == [True] * 4
    assert archived[-1] < active[0]
    assert [m["step"] for _, m in timeline.iter_metadata("")] == [str(n) for n in range(7)]
    behind = [(commit, m["step"]) for commit, m in timeline.iter_metadata(archived[2].completed)]
    assert behind == list(zip([archived[3], *active], "3456", strict=True))
    for commit in (archived[0], active[0]):
        assert timeline.has_completed(commit.completed)
        assert not timeline.has_completed(commit.requested)


def test_last_archived_completion(load: Load) -> None:
    timeline = load(str(FIXTURE_LAKE / "archived"))
    reader, last = timeline._reader, timeline.list_archived()[-1]
    assert reader.find_last_archived("") == reader.find_last_archived(last.requested) == last.completed
    assert reader.find_last_archived("99991231000000000") == ""
    assert timeline.has_archived("")
    assert not timeline.has_archived(last.completed)
    assert load(str(FIXTURE_LAKE / "managed"))._reader.find_last_archived("") == ""


def test_archive_is_listed_from_a_time_on_in_pieces(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    timeline = load(str(FIXTURE_LAKE / "archived"))
    reader, whole = timeline._reader, timeline.list_archived()
    listed = list(reader.list_archived())
    assert len(listed) >= len(whole) == 4
    assert listed == sorted(listed)
    for at, instant in enumerate(listed):
        assert list(reader.list_archived(instant.requested)) == listed[at:]
        assert list(reader.list_archived(instant.requested, most=2)) == listed[at : at + 2]
        later = [other for other in listed if other.completed > instant.completed]
        assert list(reader.list_archived("", instant.completed)) == later
    monkeypatch.setattr("headwater.lake.timeline.timeline._LISTED_FIRST", 1)
    monkeypatch.setattr("headwater.lake.timeline.timeline._LISTED_AT_ONCE", 2)
    pieces = load(str(FIXTURE_LAKE / "archived"))
    assert pieces.list_archived() == whole
    assert [m["step"] for _, m in pieces.iter_metadata("")] == [str(n) for n in range(7)]
    assert pieces.find_completions({whole[2].requested, pieces.commits[0].requested}) == {
        commit.requested: commit.completed for commit in (whole[2], pieces.commits[0])
    }
    assert pieces.list_in_progress(whole[1].completed) == [whole[1]]


def test_a_file_that_the_archive_lacks_is_an_error(load: Load, copy: Callable[[str], Path]) -> None:
    table = copy("archived")
    (file, *_) = sorted((table / TIMELINE / "history").glob("*.parquet"))
    file.unlink()
    with pytest.raises((LakeError, OSError)):
        list(load(str(table)).iter_metadata(""))


def test_metadata_that_only_archived_commits_carry_is_found(load: Load, copy: Callable[[str], Path]) -> None:
    table = copy("archived")
    for file in (table / TIMELINE).glob("*.commit"):
        file.unlink()
    timeline = load(str(table))
    assert timeline.commits == ()
    assert timeline.has_commits()
    found = timeline.find_metadata("step")
    assert found is not None
    assert found["step"] == "3"
    assert timeline.find_metadata("nobody") is None


def test_action_archived_but_not_removed_occurs_once(load: Load, copy: Callable[[str], Path]) -> None:
    table = copy("archived")
    before = load(str(table))
    newest = before.list_archived()[-1]
    shutil.copy(
        table / TIMELINE / f"{before.commits[0].requested}_{before.commits[0].completed}.commit",
        table / TIMELINE / f"{newest.requested}_{newest.completed}.commit",
    )
    timeline = load(str(table))
    assert newest in timeline.commits
    assert newest not in timeline.list_archived()
    assert len(list(timeline.iter_metadata(""))) == 7


def test_deleted_rows_are_counted_by_commits(load: Load) -> None:
    timeline = load(str(FIXTURE_LAKE / "orders_mor"))
    first, second, third = (commit.completed for commit in timeline.commits)
    assert timeline.count_deletes(second, third) == 1
    assert timeline.count_deletes(first, second) == 0
    assert timeline.count_deletes("", third) == 1


def test_table_without_a_commit_exists_and_has_none(load: Load, copy: Callable[[str], Path]) -> None:
    table = copy("orders_cow")
    for file in (table / TIMELINE).glob("*.commit"):
        file.unlink()
    timeline = load(str(table))
    assert timeline.exists()
    assert not timeline.has_commits()
    assert list(timeline.iter_metadata("")) == []
    assert not timeline.has_completed("20261121220520956")
