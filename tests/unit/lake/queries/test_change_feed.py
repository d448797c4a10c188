"""What became of each row between two states, from snapshots alone, on real tables."""

import shutil
from pathlib import Path

import pytest

from headwater.errors import InstantUnavailableError, TableNotFoundError
from headwater.lake import TableAddress
from headwater.lake.queries import ChangeFeed, Query
from headwater.lake.snapshot_reader import SnapshotReader
from headwater.lake.table_files import ArrowFiles
from tests.fixtures.lakes import FIXTURE_LAKE, build_clean_plan

FIRST = [("i", f"o{number}") for number in range(1, 9)]
SECOND = [("i", "o9"), ("u", "o1"), ("u", "o3")]
THIRD = [("d", "o2")]


@pytest.fixture(params=["orders_cow", "orders_mor"])
def table(request, tmp_path: Path) -> TableAddress:
    return TableAddress(
        "orders", shutil.copytree(FIXTURE_LAKE / request.param, tmp_path / "orders").as_posix()
    )


def names_of(table):
    return SnapshotReader(table.path).commit_names


def poll(table, since, until="", *, per_commit=True):
    feed = ChangeFeed(table, Query.changes(since, until), per_commit=per_commit)
    steps = [sorted((change.op, change.key) for change in step) for step in feed.poll()]
    return steps, feed.position


def hide(table, name):
    """Take a commit back from the timeline; gives what brings it again."""
    file = Path(table.path) / f".hoodie/timeline/{name.requested}_{name.completed}.{name.action}"
    kept = file.rename(Path(table.path).parent / file.name)
    return lambda: kept.rename(file)


def test_each_commit_has_its_deletes(table):
    names = names_of(table)
    assert poll(table, "earliest") == ([FIRST, SECOND, THIRD], names[2].completed)
    assert poll(table, names[0].completed) == ([SECOND, THIRD], names[2].completed)
    assert poll(table, names[0].completed, names[1].completed) == ([SECOND], names[1].completed)
    assert poll(table, names[2].completed) == ([], names[2].completed)


def test_net_changes_omit_transient_rows(table):
    names = names_of(table)
    newest = sorted([*(row for row in FIRST if row[1] != "o2"), ("i", "o9")])
    assert poll(table, "earliest", per_commit=False)[0] == [newest]
    assert poll(table, names[0].completed, per_commit=False)[0] == [sorted([*SECOND, *THIRD])]


def test_a_change_carries_its_commit_its_times_and_the_row(table):
    names = names_of(table)
    *_, step = ChangeFeed(table, Query.changes(names[1].completed), per_commit=True).poll()
    (deleted,) = step
    assert (deleted.op, deleted.key, deleted.partition) == ("d", "o2", "region=eu")
    assert (deleted.commit, deleted.completed) == (names[2].requested, names[2].completed)
    assert deleted.row["customer"] == "customer 2"
    assert not [name for name in deleted.row if name.startswith("_hoodie")]
    (net,) = ChangeFeed(table, Query.changes(names[0].completed), per_commit=False).poll()
    *written, deleted = net
    assert {(change.commit, change.completed) for change in written} == {
        (names[1].requested, names[1].completed)
    }
    assert {change.row["customer"] for change in written} == {"changed", "customer 9"}
    # Of two commits either may have deleted it.
    assert (deleted.op, deleted.commit, deleted.completed) == ("d", None, names[2].completed)
    assert len(net) == 4


def test_resuming_from_the_offset_returns_each_change_once(table):
    names = names_of(table)
    show_third = hide(table, names[2])
    show_second = hide(table, names[1])
    feed = ChangeFeed(table, Query.changes("earliest"), per_commit=True)
    reported = []
    for show in (lambda: None, show_second, lambda: None, show_third):
        show()
        reported.append([sorted((change.op, change.key) for change in step) for step in feed.poll()])
    assert reported == [[FIRST], [SECOND], [], [THIRD]]
    assert feed.position == names[2].completed


def test_commit_is_left_while_an_earlier_one_is_under_way(table, caplog):
    names = names_of(table)
    show = hide(table, names[1])
    begun = Path(table.path) / f".hoodie/timeline/{names[1].requested}.{names[1].action}.requested"
    begun.touch()
    with caplog.at_level("WARNING"):
        assert poll(table, "earliest") == ([FIRST], names[0].completed)
    assert f"commits after {names[0].completed} deferred until the pending write of" in caplog.text
    begun.unlink()
    show()
    assert poll(table, names[0].completed)[0] == [SECOND, THIRD]


def test_offset_of_a_cleaned_state_is_rejected_but_earliest_works(table):
    names = names_of(table)
    plan = Path(table.path) / ".hoodie/timeline/20261121070000000.clean.requested"
    plan.write_bytes(build_clean_plan(names[1].requested))
    with pytest.raises(InstantUnavailableError, match=f"earliest readable instant is {names[1].completed}"):
        poll(table, names[0].completed)
    # The first two commits are told as one: what was between them is gone.
    merged = sorted([*(row for row in FIRST), ("i", "o9")])
    assert poll(table, "earliest")[0] == [merged, THIRD]


def test_absent_table_says_so(tmp_path):
    with pytest.raises(TableNotFoundError):
        poll(TableAddress("none", str(tmp_path / "none")), "earliest")


def test_commit_during_a_read_is_not_lost(table, monkeypatch):
    names = names_of(table)
    show = hide(table, names[2])
    read = ArrowFiles.list_sizes

    def list_later(files: ArrowFiles, folder: str) -> dict[str, int]:
        if not shown:
            shown.append(show())
        return read(files, folder)

    shown: list[object] = []
    monkeypatch.setattr(ArrowFiles, "list_sizes", list_later)
    assert poll(table, names[1].completed) == ([THIRD], names[2].completed)
    assert shown
