"""What `status` finds out from the tables alone: rows, commits, checkpoints, and who is behind."""

from datetime import timedelta, timezone
from pathlib import Path

import pytest

from headwater.app.status import (
    EventsStatus,
    QuarantineStatus,
    Status,
    StatusReader,
    TableStatus,
    read_quarantine_status,
)
from headwater.capture.position import Position, parse_instant
from headwater.errors import UsageError
from headwater.lake.layout import events_path
from headwater.lake.snapshot_reader import SnapshotReader
from tests.fixtures.events import START
from tests.fixtures.lakes import EVENT_KEYS, FIXTURE_LAKE, load_fixture_settings

NOW = START + timedelta(minutes=1)
EVENT_COMMITS = SnapshotReader(events_path(str(FIXTURE_LAKE))).commit_names


def read_status(folder: Path, *only: str, lake: Path = FIXTURE_LAKE) -> Status:
    return StatusReader(load_fixture_settings(folder, lake), {}, NOW).read(only)


@pytest.fixture(scope="module")
def status(tmp_path_factory: pytest.TempPathFactory) -> Status:
    return read_status(tmp_path_factory.mktemp("config"))


def test_lake_without_tables_is_all_zeros(tmp_path):
    found = read_status(tmp_path, lake=tmp_path / "lake")
    assert found.events == EventsStatus(0, 0, None)
    assert found.quarantine == QuarantineStatus(0, 0, 0)
    assert found.queue is None
    assert set(found.tables.values()) == {TableStatus(0, 0, None, None, 0, 0.0)}
    assert list(found.tables) == ["orders_cow", "orders_mor", "archived", "odd_partitions", "coming"]


def test_events_are_counted(status):
    assert status.events.rows == sum(len(keys) for keys in EVENT_KEYS)
    assert status.events.commits == len(EVENT_COMMITS) == 3
    assert status.events.last_commit == parse_instant(EVENT_COMMITS[-1].completed)


@pytest.mark.parametrize("table", ["orders_cow", "orders_mor"])
def test_rows_and_commits_of_a_table(status, table):
    found = status.tables[table]
    assert (found.rows, found.commits) == (8, 3)
    assert found.last_commit is not None
    assert found.last_commit.tzinfo is timezone.utc


def test_pending_events_within_a_commit_are_distinguished_from_processed(status):
    # Read up to orders/3.json; of the same commit, orders/4.json and /5.json are left, then /6.json.
    found = status.tables["orders_cow"]
    assert found.checkpoint == Position(EVENT_COMMITS[1].completed, 0).to_text()
    assert found.lag_events == 3
    oldest_pending = START + timedelta(seconds=6)  # orders/4.json was the sixth event
    assert found.lag_seconds == (NOW - oldest_pending).total_seconds()


def test_table_that_has_read_everything_is_not_behind(status):
    found = status.tables["orders_mor"]
    assert found.checkpoint == Position(EVENT_COMMITS[-1].completed).to_text()
    assert (found.lag_events, found.lag_seconds) == (0, 0.0)


def test_lag_of_an_empty_table_counts_only_its_events(status):
    found = status.tables["coming"]
    assert (found.rows, found.commits, found.checkpoint, found.last_commit) == (0, 0, None, None)
    assert found.lag_events == 3  # products/1, 2 and 3.csv
    assert found.lag_seconds == (NOW - START - timedelta(seconds=3)).total_seconds()


def test_events_of_other_tables_do_not_count(status):
    assert status.tables["archived"].rows == 7
    assert status.tables["archived"].lag_events == 0


def test_clock_behind_the_events_gives_no_negative_lag(tmp_path):
    settings = load_fixture_settings(tmp_path)
    found = StatusReader(settings, {}, START - timedelta(hours=1)).read(["coming"])
    assert found.tables["coming"].lag_seconds == 0.0


def test_only_the_tables_asked_for(tmp_path):
    assert list(read_status(tmp_path, "orders_mor").tables) == ["orders_mor"]


@pytest.mark.parametrize("lake", [FIXTURE_LAKE, Path("/nowhere")])
def test_unknown_table_is_an_error_that_names_the_known(tmp_path, lake):
    with pytest.raises(UsageError, match="oders") as failure:
        read_status(tmp_path, "oders", lake=lake)
    assert "orders_cow" in failure.value.hint


def test_quarantine_is_counted_by_level(status):
    assert status.quarantine == QuarantineStatus(messages=1, objects=1, records=2)
    assert read_quarantine_status(str(FIXTURE_LAKE), {}).total == 4
