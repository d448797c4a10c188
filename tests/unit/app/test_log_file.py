"""The log file of a run: open inside its block only, with the error that ends it."""

import json
import logging
from pathlib import Path

import pytest
from typer.testing import CliRunner

from headwater.app.log_file import log_to_file
from headwater.cli.main import app
from headwater.config.observability import ObservabilityConfig
from headwater.errors import LakeError, PlatformError


def build(file: Path) -> ObservabilityConfig:
    return ObservabilityConfig(log_file=file)


def test_nothing_changes_without_a_file() -> None:
    before = logging.getLogger().handlers[:]
    with log_to_file(ObservabilityConfig()):
        assert logging.getLogger().handlers == before


def test_the_error_that_ends_the_run_is_in_the_file(tmp_path: Path) -> None:
    before = logging.getLogger().handlers[:]
    with pytest.raises(LakeError), log_to_file(build(tmp_path / "h.log")):
        raise LakeError("the lake is read-only", hint="allow writes")
    (line,) = [json.loads(text) for text in (tmp_path / "h.log").read_text("utf-8").splitlines()]
    assert (line["event"], line["level"]) == ("run failed", "error")
    assert (line["error"], line["hint"]) == ("the lake is read-only", "allow writes")
    assert logging.getLogger().handlers == before


def test_a_file_of_another_process_is_an_error(tmp_path: Path) -> None:
    config = build(tmp_path / "h.log")
    with (
        log_to_file(config),
        pytest.raises(PlatformError, match="in use by another process"),
        log_to_file(config),
    ):
        pass


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file, not a folder")
    with (
        pytest.raises(PlatformError, match="cannot write the log file"),
        log_to_file(build(tmp_path / "taken/h.log")),
    ):
        pass


def test_run_exits_with_1_before_spark_starts(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file, not a folder")
    config = tmp_path / "headwater.yaml"
    config.write_text(
        "source: {type: local, path: in}\nlake: lake\ntables: {t: {path: '*.json'}}\n"
        "observability: {log_file: taken/h.log}\n"
    )
    done = CliRunner().invoke(app, ["-c", str(config), "run"])
    assert done.exit_code == 1
    assert f"cannot write the log file {tmp_path}/taken/h.log" in done.stderr
