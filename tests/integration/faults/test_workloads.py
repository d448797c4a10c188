"""Every workload through every mode, while store and queue fail: after a reconcile the tables are the fold
of the bucket, row for row."""

import threading
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.app import App
from headwater.app.components import RunReport
from headwater.app.objects.verify import Verify
from headwater.app.run import Run
from headwater.lake.layout import events_path, table_path
from headwater.lake.table import Table
from tests.fixtures.emulator import EmulatorSession
from tests.fixtures.faults.landing import (
    Landing,
    State,
    Wave,
    fold_append,
    fold_merge,
    fold_mirror,
    parse_lost,
)
from tests.fixtures.faults.layer import FaultLayer, run_fault_layer
from tests.fixtures.faults.runs import build_settings
from tests.fixtures.faults.schedule import EVERY
from tests.fixtures.faults.tables import assert_equal, read_rows
from tests.fixtures.faults.workloads import WAVES, Workloads

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

PATHS = {"path": "w*/**", "format": "json"}
TABLES: dict[str, dict[str, Any]] = {
    "mirrored": {**PATHS, "mode": "mirror"},
    "appended": {**PATHS, "mode": "append"},
    "merged": {**PATHS, "mode": "merge", "record_key": "id", "ordering": "revision"},
}


@dataclass(frozen=True)
class Outcome:
    """What is left of one bucket when all waves are through."""

    landing: Landing
    layer: FaultLayer
    app: App
    waves: list[Wave]
    reports: list[RunReport]

    @property
    def lost(self) -> set[State]:
        return parse_lost(self.layer.queue.lost)

    def rows(self, name: str) -> Any:
        return read_rows(self.app.spark, table_path(self.app.settings.lake, name))


def run_waves(
    spark: SparkSession, emulator: EmulatorSession, folder: Path, seed: int, *, versioned: bool, scale: int
) -> Outcome:
    landing = Landing(emulator, f"faults-{uuid.uuid4().hex[:12]}", versioned=versioned)
    workloads = Workloads(landing, seed, scale)
    waves, reports = [], []
    with run_fault_layer(emulator.endpoint, seed) as layer:
        settings = build_settings(landing, layer.endpoint, folder / "lake", TABLES)
        for at in range(WAVES):
            workloads.write(at)
            waves.append(landing.read_wave())
            reports.append(Run(App(settings, spark=spark)).once(threading.Event()))
        app = App(settings, spark=spark)
        return Outcome(landing, layer, app, waves, reports)


@pytest.fixture(scope="module", params=["versioned", pytest.param("unversioned", marks=pytest.mark.long)])
def outcome(
    request: pytest.FixtureRequest,
    spark: SparkSession,
    emulator: EmulatorSession,
    credentials: None,
    tmp_path_factory: pytest.TempPathFactory,
) -> Outcome:
    folder = tmp_path_factory.mktemp("faults")
    return run_waves(spark, emulator, folder, 1, versioned=request.param == "versioned", scale=1)


def check_tables(outcome: Outcome) -> None:
    waves, lost = outcome.waves, outcome.lost
    assert_equal(outcome.rows("mirrored"), fold_mirror(waves), "mirrored")
    assert_equal(outcome.rows("appended"), fold_append(waves, lost), "appended")
    assert_equal(outcome.rows("merged"), fold_merge(waves, lost, "id", "revision"), "merged")


def check_run(outcome: Outcome) -> None:
    for report in outcome.reports:
        assert (report.failures, report.component_failures) == ({}, {})
    assert not {kind for kind in EVERY if not outcome.layer.injected[kind]}, outcome.layer.injected
    assert outcome.landing.depth(outcome.landing.dead_letters) == (0, 0)


def check_ids(outcome: Outcome) -> None:
    ids = Table(outcome.app.spark, events_path(outcome.app.settings.lake)).read().select("event_id")
    assert ids.count() == ids.distinct().count() > 0


def test_every_kind_of_fault_has_happened_and_nothing_failed(outcome: Outcome) -> None:
    check_run(outcome)


def test_tables_are_the_fold_of_the_bucket(outcome: Outcome) -> None:
    check_tables(outcome)


def test_no_event_is_in_the_events_table_twice(outcome: Outcome) -> None:
    check_ids(outcome)


def test_verify_says_that_all_is_complete(outcome: Outcome, emulator: EmulatorSession) -> None:
    check_verify(outcome, emulator)


def check_verify(outcome: Outcome, emulator: EmulatorSession) -> None:
    lake = Path(outcome.app.settings.lake)
    settings = build_settings(outcome.landing, emulator.endpoint, lake, TABLES)
    report = Verify(App(settings, spark=outcome.app.spark)).run()
    for name, table in report.tables.items():
        assert table.counts.is_complete, f"{name}: {table.counts} {table.problems[:3]}"
        assert table.counts.ingested == len(outcome.waves[-1].live)
        assert table.counts.pending == 0


@pytest.mark.long
@pytest.mark.parametrize("seed", [11, 12, 13])
@pytest.mark.parametrize("versioned", [False, True])
def test_thousands_of_writes_end_as_the_fold_of_the_bucket(
    spark: SparkSession,
    emulator: EmulatorSession,
    credentials: None,
    tmp_path: Path,
    seed: int,
    versioned: bool,
) -> None:
    outcome = run_waves(spark, emulator, tmp_path, seed, versioned=versioned, scale=10)
    check_run(outcome)
    check_tables(outcome)
    check_ids(outcome)
    check_verify(outcome, emulator)
