"""Where a machine keeps the copies of its ledgers."""

import hashlib
import time
from contextlib import suppress
from pathlib import Path

_KEPT_SECONDS = 30 * 24 * 60 * 60
_SUFFIX = ".sqlite"
_LOADING = ".loading"
_LOGS = ("-wal", "-shm")


def find_copy_file(state_folder: Path, lake: str, table: str) -> Path:
    """Return the file for the states of one table of a lake; delete those that no run opened for 30 days."""
    folder = state_folder / "ledgers"
    _delete_unused(folder, time.time() - _KEPT_SECONDS)
    return folder / f"{table}-{hashlib.sha256(lake.encode()).hexdigest()[:16]}{_SUFFIX}"


def find_loading_file(file: Path) -> Path:
    """Return the file in which a copy is written until it is complete."""
    return file.with_name(file.name + _LOADING)


def delete_copy(file: Path) -> None:
    """Delete a copy, complete or not. Raises `OSError`."""
    # With its log: SQLite would apply what a killed process left there to a new file of that name.
    for suffix in (*_LOGS, ""):
        file.with_name(file.name + suffix).unlink(missing_ok=True)


def _delete_unused(folder: Path, before: float) -> None:
    # Another process may delete the same file concurrently, or not be allowed to.
    with suppress(OSError):
        for file in folder.iterdir():
            with suppress(OSError):
                if file.name.endswith((_SUFFIX, _LOADING)) and file.stat().st_mtime < before:
                    delete_copy(file)
