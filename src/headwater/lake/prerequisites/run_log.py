"""The log of the JVM: one file for each run, kept in a folder of their own when the process has ended."""

import os
import shutil
import tempfile
from datetime import datetime
from pathlib import Path

KEPT_RUNS = 20
_FILE = "spark.log"
_PREFIX = "headwater-"

_current: list[Path] = []


def open_run_log(state_folder: Path, now: datetime) -> Path:
    """Where the JVM of this process writes; the folders of all but the newest runs are removed.

    Where `state_folder` cannot be written, the log lies in a new folder for temporary files.
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
            # Another process may remove it at the same time.
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
    """From now on errors of this process name this file."""
    _current[:] = [log_file]


def describe_run_log() -> str:
    """Where the stack trace of a failure is to be found, as a hint says it."""
    return f"the stack trace is in {_current[0]}" if _current else "the log of the JVM has the stack trace"
