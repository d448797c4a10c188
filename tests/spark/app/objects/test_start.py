"""Where a new table begins: decided once, also for a table without a commit, and reported everywhere."""

import shutil
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.app import App
from headwater.app.backup.backup import back_up_lake
from headwater.app.backup.restore import restore_lake
from headwater.app.objects.explain import Explain
from headwater.app.objects.routing import Routing
from headwater.app.objects.verify import Verify
from headwater.app.status import StatusReader, TableStatus
from headwater.config.settings import Settings
from headwater.ingest.planning.verification import TableVerification
from headwater.lake.layout import table_path
from tests.fixtures.folder_lake import FolderLake

OLD, NEW = ("old.json", '{"id": "old"}\n'), ("new.json", '{"id": "new"}\n')


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> FolderLake:
    """A lake with events, to which a table is added that begins with the next ones."""
    lake = FolderLake(spark, tmp_path, every={"path": "**", "format": "binary"})
    lake.put(*OLD)
    add(lake, "late")
    return lake


def add(lake: FolderLake, name: str, **options: Any) -> None:
    """Add a table to the configuration."""
    data = lake.settings.model_dump(mode="json", by_alias=True, exclude_unset=True)
    data["tables"][name] = {"path": "*.json", "mode": "mirror", "start_from": "latest", **options}
    lake.settings = Settings.model_validate(data)


def restart(lake: FolderLake, name: str = "late") -> None:
    """Begin a run, as `Run` does, which ingests what is there; its process knows only what the lake says."""
    App(lake.settings, spark=lake.app.spark).settle_starts([name])
    lake.ingest(name)


def ids(lake: FolderLake, name: str = "late") -> set[str]:
    return {row[0] for row in lake.rows(name, "id")}


def verify(lake: FolderLake, name: str = "late") -> TableVerification:
    return Verify(App(lake.settings, spark=lake.app.spark)).run([name]).tables[name].counts


def read_status(lake: FolderLake, name: str = "late") -> TableStatus:
    return StatusReader(lake.settings, {}, datetime.now(timezone.utc)).read([name]).tables[name]


def test_a_new_table_takes_only_later_events_also_after_restarts_without_a_commit(lake: FolderLake) -> None:
    for number in range(3):
        restart(lake)
        lake.put(f"{number}.csv", "1\n")
    lake.put(*NEW)
    restart(lake)
    assert ids(lake) == {"new"}
    # The start is part of the table's commits, and does not change with the configuration.
    lake.change("late", start_from="earliest")
    restart(lake)
    assert ids(lake) == {"new"}
    counts = verify(lake)
    assert (counts.skipped, counts.ingested, counts.is_complete) == (1, 1, True)


def test_events_between_a_first_run_and_the_next_are_not_lost(lake: FolderLake) -> None:
    restart(lake)
    lake.put(*NEW)
    # Two processes that each decide for itself would begin after it.
    restart(lake)
    assert ids(lake) == {"new"}


def test_a_table_without_a_commit_begins_elsewhere_once_the_configuration_says_so(lake: FolderLake) -> None:
    restart(lake)
    lake.change("late", start_from="earliest")
    restart(lake)
    assert ids(lake) == {"old"}


@pytest.mark.slow
def test_what_a_table_skips_is_reported_by_every_command(lake: FolderLake, spark: SparkSession) -> None:
    for is_started in (False, True):
        if is_started:
            restart(lake)
        counts = verify(lake)
        assert (counts.skipped, counts.missing, counts.pending) == (1, 0, 0)
        assert dict(counts.reasons) == {"skipped by `start_from` or `skip-to`": 1}
        view = Explain(App(lake.settings, spark=spark)).explain("old.json").tables["late"]
        assert (view.skipped, view.pending) == (1, 0)
        status = read_status(lake)
        assert (status.lag_events, len(status.skipped), status.checkpoint) == (0, 1, None)
    lake.put(*NEW)
    assert (verify(lake).pending, read_status(lake).lag_events) == (1, 1)
    restart(lake)
    assert (verify(lake).ingested, verify(lake).skipped) == (1, 1)
    assert len(read_status(lake).skipped) == 1
    assert Verify(App(lake.settings, spark=spark)).repair(["late"]) == 0
    assert ids(lake) == {"new"}


@pytest.mark.slow
def test_a_replay_ingests_older_objects_before_and_after_the_first_run(
    lake: FolderLake, spark: SparkSession
) -> None:
    hour_ago = datetime.now(timezone.utc) - timedelta(hours=1)
    assert Routing(App(lake.settings, spark=spark)).replay("late", hour_ago) == 1
    assert ids(lake) == {"old"}
    lake.put(*NEW)
    restart(lake)
    assert ids(lake) == {"old", "new"}
    assert verify(lake).ingested == 2


@pytest.mark.slow
def test_changed_rules_load_no_object_from_before_the_start(lake: FolderLake, spark: SparkSession) -> None:
    lake.put("old.txt", '{"id": "old text"}\n')
    restart(lake)
    lake.put_many([NEW, ("new.txt", '{"id": "new text"}\n')])
    restart(lake)
    lake.change("late", path=["*.json", "*.txt"], format="json")
    Routing(App(lake.settings, spark=spark)).apply(["late"])
    assert ids(lake) == {"new", "new text"}


@pytest.mark.slow
def test_a_table_that_is_removed_to_be_built_again_keeps_its_start(lake: FolderLake) -> None:
    restart(lake)
    lake.put(*NEW)
    restart(lake)
    shutil.rmtree(table_path(lake.lake, "late"))
    lake.put("newer.json", '{"id": "newer"}\n')
    restart(lake)
    assert ids(lake) == {"new", "newer"}


@pytest.mark.slow
def test_a_backup_has_the_start_of_a_table_without_a_commit(
    lake: FolderLake, spark: SparkSession, tmp_path: Path
) -> None:
    restart(lake)
    lake.put(*NEW)
    copy, storage = str(tmp_path / "backup"), lake.settings.lake_storage
    back_up_lake(lake.settings, copy, storage, 4)
    lake.lake = str(tmp_path / "restored")
    lake.settings = lake.settings.model_copy(update={"lake": lake.lake})
    restore_lake(lake.settings, copy, storage, 4)
    lake.app = App(lake.settings, spark=spark)
    restart(lake)
    assert ids(lake) == {"new"}
