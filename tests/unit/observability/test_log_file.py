"""The log file: JSON lines without secrets, rotated by size, for one process."""

import json
import logging
from contextlib import closing
from pathlib import Path

import pytest
import structlog

from headwater.observability.log_file import LogFile
from headwater.observability.logging import configure_logging

pytestmark = pytest.mark.usefixtures("logging_put_back")


def configure() -> logging.Logger:
    """Called in the test: before, stderr is not the one that `capsys` reads."""
    configure_logging(verbose=False, json=True)
    return logging.getLogger()


def read(file: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def test_lines_go_to_the_file_and_to_stderr_without_secrets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    root = configure()
    file = tmp_path / "logs/headwater.log"
    with closing(LogFile(file, 100_000, 2)) as handler:
        root.addHandler(handler)
        structlog.get_logger("x").info("batch", table="orders", password="hunter22")
        logging.getLogger("library").warning("connecting to %s", "https://me:hunter22@host")
        try:
            int("https://me:hunter22@host")
        except ValueError:
            structlog.get_logger("x").exception("failed")
    lines = read(file)
    assert [line["event"] for line in lines] == ["batch", "connecting to https://***@host", "failed"]
    assert "Traceback" in str(lines[2]["exception"])
    assert "hunter22" not in file.read_text("utf-8")
    shown = [json.loads(line)["event"] for line in capsys.readouterr().err.splitlines()]
    assert shown == [line["event"] for line in lines]


def test_a_full_file_is_rotated_and_the_oldest_is_deleted(tmp_path: Path) -> None:
    root = configure()
    with closing(LogFile(tmp_path / "h.log", 1_000, 2)) as handler:
        root.addHandler(handler)
        for number in range(100):
            structlog.get_logger("x").info("batch", number=number)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["h.log", "h.log.1", "h.log.2"]
    assert all(file.stat().st_size <= 1_000 for file in tmp_path.iterdir())
    kept = [line["number"] for name in ("h.log.2", "h.log.1", "h.log") for line in read(tmp_path / name)]
    assert kept == list(range(100 - len(kept), 100))


def test_a_restart_appends(tmp_path: Path) -> None:
    root = configure()
    for number in range(2):
        with closing(LogFile(tmp_path / "h.log", 10_000, 1)) as handler:
            root.addHandler(handler)
            structlog.get_logger("x").info("start", number=number)
            root.removeHandler(handler)
    assert [line["number"] for line in read(tmp_path / "h.log")] == [0, 1]


def test_a_file_has_one_writer_also_after_a_rotation(tmp_path: Path) -> None:
    root = configure()
    with closing(LogFile(tmp_path / "h.log", 300, 1)) as handler:
        root.addHandler(handler)
        for _ in range(2):
            with pytest.raises(BlockingIOError):
                LogFile(tmp_path / "h.log", 300, 1)
            for number in range(10):
                structlog.get_logger("x").info("batch", number=number)
        root.removeHandler(handler)
    LogFile(tmp_path / "h.log", 300, 1).close()


def test_a_full_disk_is_reported_once_and_the_run_continues(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    root = configure()
    full = [True]
    with closing(LogFile(tmp_path / "h.log", 100_000, 1)) as handler:
        root.addHandler(handler)
        flush = handler.flush

        def fail() -> None:
            if full:
                raise OSError(28, "No space left on device")
            flush()

        monkeypatch.setattr(handler, "flush", fail)
        for number in range(3):
            structlog.get_logger("x").info("batch", number=number)
        full.clear()
        structlog.get_logger("x").info("batch", number=3)
        full.append(True)
        structlog.get_logger("x").info("batch", number=4)
        full.clear()
    err = capsys.readouterr().err
    events = [json.loads(line)["event"] for line in err.splitlines()]
    warning = "log file not writable; logging to stderr only"
    assert (events.count("batch"), events.count(warning)) == (5, 2)
    assert "Traceback" not in err
