"""The JVM log: one file per run, kept in its own folder after the process ends."""

import os
import shutil
import tempfile
from datetime import datetime
from pathlib import Path

KEPT_RUNS = 20
_FILE = "spark.log"
_PREFIX = "headwater-"
_END_BYTES = 1_000_000

_current: list[Path] = []


def open_run_log(state_folder: Path, now: datetime) -> Path:
    """Return the path of this process's JVM log, and delete the folders of all but the latest runs.

    If `state_folder` is not writable, the path is in a new temporary folder.
    """
    logs = state_folder / "logs"
    folder = logs / f"{now:%Y%m%dT%H%M%S}-{os.getpid()}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    else:
        _remove_old_runs(logs)
    return folder / _FILE


def _remove_old_runs(logs: Path) -> None:
    runs = sorted(path for path in logs.iterdir() if path.is_dir())
    for folder in runs[:-KEPT_RUNS]:
        if not _is_running(folder.name.rpartition("-")[2]):
            # Another process may delete the folder concurrently.
            shutil.rmtree(folder, ignore_errors=True)


def _is_running(process: str) -> bool:
    try:
        os.kill(int(process), 0)
    except (ValueError, ProcessLookupError):
        return False
    except OSError:
        return True
    return True


def note_run_log(log_file: Path) -> None:
    """Set the log file that errors of this process refer to."""
    _current[:] = [log_file]


def is_in_run_log(text: str) -> bool:
    """True if the end of the log has the text."""
    try:
        with _current[0].open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - _END_BYTES))
            return text.encode() in log.read()
    except (IndexError, OSError):
        return False


def describe_run_log() -> str:
    """Return a hint that locates the stack trace of a failure."""
    return f"the stack trace is in {_current[0]}" if _current else "the stack trace is in the log of the JVM"
