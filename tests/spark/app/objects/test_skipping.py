"""`skip-to`: the checkpoint moves forward, what was skipped stays visible, and a replay undoes it."""

from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.app import App
from headwater.app.objects.explain import Explain
from headwater.app.objects.routing import Routing
from headwater.app.objects.skipping import SkipReport, skip_to
from headwater.app.objects.verify import Verify
from headwater.app.status import StatusReader, TableStatus
from headwater.errors import UsageError
from headwater.ingest.planning.verification import TableVerification
from tests.fixtures.folder_lake import FolderLake

pytestmark = pytest.mark.slow


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> FolderLake:
    """A mirror that has ingested two files."""
    lake = FolderLake(spark, tmp_path, things={"path": "*.json", "mode": "mirror"})
    for name in ("kept", "removed"):
        put(lake, name, "first")
    lake.ingest("things")
    return lake


def put(lake: FolderLake, name: str, text: str) -> None:
    lake.put(f"{name}.json", f'{{"id": "{name} {text}"}}\n')


def skip(lake: FolderLake, *, dry_run: bool = False) -> SkipReport:
    return skip_to(App(lake.settings, spark=lake.app.spark), "things", "latest", dry_run=dry_run)


def ids(lake: FolderLake) -> list[str]:
    return sorted(row[0] for row in lake.rows("things", "id"))


def verify(lake: FolderLake) -> TableVerification:
    return Verify(App(lake.settings, spark=lake.app.spark)).run().tables["things"].counts


def read_status(lake: FolderLake) -> TableStatus:
    return StatusReader(lake.settings, {}, datetime.now(timezone.utc)).read().tables["things"]


def skip_changes(lake: FolderLake) -> SkipReport:
    """Skip a new, a changed and a removed object."""
    put(lake, "new", "first")
    put(lake, "kept", "second")
    lake.announce("removed.json", kind="removed")
    return skip(lake)


def test_skipped_events_are_not_processed_and_reported_as_skipped(
    lake: FolderLake, spark: SparkSession
) -> None:
    report = skip_changes(lake)
    assert (report.table, report.objects) == ("things", 3)
    assert lake.ingest("things") == []
    assert ids(lake) == ["kept first", "removed first"]
    counts = verify(lake)
    assert (counts.skipped, counts.missing, counts.extra, counts.wrong_version) == (3, 0, 0, 0)
    assert Verify(App(lake.settings, spark=spark)).repair() == 0
    status = read_status(lake)
    assert status.lag_events == 0
    assert [(found.after, found.until) for found in status.skipped] == [(report.after, report.until)]
    view = Explain(App(lake.settings, spark=spark)).explain("new.json")
    assert (view.status, view.tables["things"].skipped) == ("skipped", 1)


def test_later_events_are_processed(lake: FolderLake) -> None:
    skip_changes(lake)
    put(lake, "kept", "third")
    put(lake, "newer", "first")
    assert verify(lake).pending == 2
    lake.ingest("things")
    assert ids(lake) == ["kept third", "newer first", "removed first"]
    assert (verify(lake).ingested, verify(lake).skipped) == (2, 2)
    assert len(read_status(lake).skipped) == 1


def test_a_replay_since_the_skipped_events_undoes_it(lake: FolderLake, spark: SparkSession) -> None:
    report = skip_changes(lake)
    assert report.after is not None
    Routing(App(lake.settings, spark=spark)).replay("things", report.after.replace(microsecond=0))
    assert ids(lake) == ["kept second", "new first"]
    counts = verify(lake)
    assert (counts.ingested, counts.skipped, counts.is_complete) == (2, 0, True)
    assert read_status(lake).skipped == ()
    found = Explain(App(lake.settings, spark=spark)).explain("new.json")
    assert (found.status, found.tables["things"].pending) == ("ingested", 0)


def test_what_is_skipped_in_two_steps_is_one_range(lake: FolderLake) -> None:
    put(lake, "new", "first")
    first = skip(lake)
    put(lake, "newer", "first")
    second = skip(lake)
    assert (first.objects, second.objects) == (1, 1)
    found = read_status(lake).skipped
    assert [(one.after, one.until) for one in found] == [(first.after, second.until)]


def test_a_dry_run_changes_nothing(lake: FolderLake) -> None:
    put(lake, "new", "first")
    assert skip(lake, dry_run=True).objects == 1
    assert read_status(lake).lag_events == 1
    lake.ingest("things")
    assert "new first" in ids(lake)


def test_only_events_before_the_time_are_skipped(lake: FolderLake, spark: SparkSession) -> None:
    put(lake, "new", "first")
    instant = datetime.now(timezone.utc)
    put(lake, "newer", "first")
    assert skip_to(App(lake.settings, spark=spark), "things", instant).objects == 1
    lake.ingest("things")
    assert ids(lake) == ["kept first", "newer first", "removed first"]


@pytest.mark.parametrize(
    ("age", "said"),
    [
        (timedelta(hours=1), "table things has already processed the events up to 20"),
        (-timedelta(hours=1), "table things: no event is as new as 20"),
    ],
)
def test_a_checkpoint_moves_only_forward_and_not_into_the_future(
    lake: FolderLake, spark: SparkSession, age: timedelta, said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        skip_to(App(lake.settings, spark=spark), "things", datetime.now(timezone.utc) - age)


def test_a_table_without_a_commit_has_no_checkpoint_to_move(spark: SparkSession, tmp_path: Path) -> None:
    lake = FolderLake(spark, tmp_path, things={"path": "*.json"})
    put(lake, "new", "first")
    with pytest.raises(UsageError, match="table things has no commit yet") as raised:
        skip(lake)
    assert raised.value.hint == "set `tables.things.start_from`: it applies until the first commit"
