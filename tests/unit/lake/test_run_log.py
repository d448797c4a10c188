"""Where the JVM's log lies, and how long."""

import os
import tempfile
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from headwater.config.environment import find_state_folder
from headwater.lake.failures import explain_lake_failure
from headwater.lake.prerequisites import run_log
from headwater.lake.prerequisites.run_log import KEPT_RUNS, is_in_run_log, note_run_log, open_run_log

NOW = datetime(2026, 5, 1, tzinfo=timezone.utc)


def test_logs_of_the_newest_runs_and_of_running_processes_are_kept(tmp_path: Path) -> None:
    ended, running = "999999999", str(os.getppid())
    for at in range(KEPT_RUNS + 5):
        owner = running if at == 1 else ended
        (tmp_path / "logs" / f"{NOW + timedelta(hours=at):%Y%m%dT%H%M%S}-{owner}").mkdir(parents=True)
    log = open_run_log(tmp_path, NOW + timedelta(days=9))
    assert log.parent.is_dir()
    left = sorted(path.name for path in (tmp_path / "logs").iterdir())
    assert len(left) == KEPT_RUNS + 1
    assert left[0].endswith(f"-{running}")
    assert left[-1] == log.parent.name


def test_where_nothing_can_be_kept_the_log_is_a_temporary_file(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("in the way")
    assert open_run_log(tmp_path, NOW).parent.is_dir()


def test_state_folder_comes_from_the_environment() -> None:
    assert find_state_folder({"XDG_STATE_HOME": "/state"}) == Path("/state/headwater")
    assert find_state_folder({}).parts[-3:] == (".local", "state", "headwater")


def test_user_without_a_home_keeps_state_among_temporary_files(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path) -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", fail)
    assert find_state_folder({}) == Path(tempfile.gettempdir(), "headwater-state")


def test_an_error_names_the_file_and_the_root_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_log, "_current", [])
    note_run_log(Path("/state/spark.log"))
    text = (
        "An error occurred while calling o1.save.\n: org.apache.spark.SparkException: Job aborted\n"
        "\tat x\nCaused by: org.apache.hudi.exception.HoodieException: failed\n\tat y\n"
        "Caused by: java.lang.ClassCastException: optional int32 x is not a group\n\tat z\n"
    )
    error = explain_lake_failure("/lake/t", RuntimeError(text))
    assert error.message == "/lake/t: java.lang.ClassCastException: optional int32 x is not a group"
    assert error.hint == "the stack trace is in /state/spark.log"


def test_the_end_of_the_log_shows_why_the_jvm_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_log, "_current", [])
    assert not is_in_run_log("OutOfMemoryError")
    log = tmp_path / "spark.log"
    note_run_log(log)
    assert not is_in_run_log("OutOfMemoryError")
    log.write_text("OutOfMemoryError\n" + "x" * 2_000_000)
    assert not is_in_run_log("OutOfMemoryError")
    log.write_text("x" * 2_000_000 + "java.lang.OutOfMemoryError: Java heap space\n")
    assert is_in_run_log("OutOfMemoryError")
