"""The life cycle of a run's components: which hooks are called, in which order, and what a failure does."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.app import App
from headwater.app import run as run_module
from headwater.app.components import BatchNote, Component, RunReport
from headwater.app.run import Run
from headwater.config.settings import Settings
from headwater.errors import SourceUnavailableError
from tests.fixtures.waiting import wait_until

GOOD = {"path": "good/*.json", "schema": "id bigint"}
FAILING = {"path": "good/*.json", "schema": "id bigint", "checks": [{"row_count": {"min": 9}}]}


class Recorder(Component):
    """Notes each hook with its name; some raise."""

    def __init__(self, name: str, notes: list[str], *failing: str) -> None:
        super().__init__(name)
        self._notes = notes
        self._failing = failing

    def _note(self, hook: str) -> None:
        self._notes.append(f"{self.name} {hook}")
        if hook in self._failing:
            raise SourceUnavailableError(f"{hook} failed")

    def start(self) -> None:
        self._note("start")

    def on_batch(self, batch: BatchNote) -> None:
        self._note(f"{batch.table} committed" if batch.is_committed else f"{batch.table} did not commit")

    def backfill(self, stop: threading.Event) -> None:
        self._note("backfill")

    def catch_up(self, stop: threading.Event) -> None:
        self._note("catch_up")

    def stop(self) -> None:
        self._note("stop")


class Early(Recorder):
    is_early = True


class Careful(Recorder):
    needs_all_tables = True


@pytest.fixture
def build(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[Run, list[str]]]:
    def build_run(
        table: dict[str, object], *kinds: Callable[[list[str]], Component]
    ) -> tuple[Run, list[str]]:
        (tmp_path / "in" / "good").mkdir(parents=True)
        (tmp_path / "in" / "good" / "a.json").write_text('{"id": 1}\n')
        notes: list[str] = []
        monkeypatch.setattr(run_module, "build_components", lambda *_: [kind(notes) for kind in kinds])
        settings = Settings.model_validate(
            {
                "source": {"type": "local", "path": str(tmp_path / "in")},
                "lake": str(tmp_path / "lake"),
                "tables": {"t": table},
            }
        )
        return Run(App(settings, spark=spark)), notes

    return build_run


def test_a_run_that_ends_by_itself_backfills_before_the_tables_and_catches_up_after_them(build) -> None:
    run, notes = build(GOOD, lambda to: Early("a", to), lambda to: Careful("b", to))
    report = run.once(threading.Event())
    assert (report.failures, report.component_failures) == ({}, {})
    assert notes[0] == "a start"
    assert "b start" not in notes
    batches = [at for at, note in enumerate(notes) if note == "a t committed"]
    assert batches
    assert batches[-1] < notes.index("a catch_up") < notes.index("b catch_up")
    assert notes.index("a backfill") < notes.index("b backfill") < notes.index("a catch_up")
    # In reverse, so that each outlives those built after it.
    assert notes[-2:] == ["b stop", "a stop"]


def test_failure_is_reported_and_other_components_continue(build) -> None:
    run, notes = build(
        GOOD, lambda to: Recorder("a", to, "backfill"), lambda to: Recorder("b", to, "catch_up")
    )
    report = run.once(threading.Event())
    assert {name: str(error) for name, error in report.component_failures.items()} == {
        "a": "backfill failed",
        "b": "catch_up failed",
    }
    assert {"b backfill", "a catch_up", "a stop", "b stop"} <= set(notes)
    assert report.tables["t"].rows == 1


def test_one_that_needs_all_tables_does_not_catch_up_while_a_table_fails(build) -> None:
    run, notes = build(FAILING, lambda to: Careful("careful", to), lambda to: Recorder("other", to))
    report = run.once(threading.Event())
    assert set(report.failures) == {"t"}
    assert "careful t did not commit" in notes
    assert "other catch_up" in notes
    assert "careful catch_up" not in notes


def test_a_run_that_is_stopped_starts_all_and_catches_up_none(build) -> None:
    run, notes = build(GOOD, lambda to: Early("a", to), lambda to: Recorder("b", to))
    stop, reports = threading.Event(), list[RunReport]()
    thread = threading.Thread(target=lambda: reports.append(run.until(stop)))
    thread.start()
    wait_until(lambda: "b t committed" in notes)
    stop.set()
    thread.join(60)
    assert [report.tables["t"].rows for report in reports] == [1]
    assert notes[:2] == ["a start", "b start"]
    assert notes[-2:] == ["b stop", "a stop"]
    assert not [note for note in notes if note.endswith(("backfill", "catch_up"))]


def test_a_defect_is_raised_at_the_end(build) -> None:
    class Defective(Recorder):
        def catch_up(self, stop: threading.Event) -> None:
            self.defect = ValueError("wrong")

    run, notes = build(GOOD, lambda to: Defective("a", to), lambda to: Recorder("b", to))
    with pytest.raises(ValueError, match="wrong"):
        run.once(threading.Event())
    assert "b catch_up" in notes
    assert notes[-2:] == ["b stop", "a stop"]
