"""Identifies a process across observers: its ID, its start time, and the scope of such IDs.

Start times are ticks since boot. psutil reports wall-clock time, which shifts when the clock is set, so that
stored values would no longer match.
"""

import os
import platform
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
# Indexes of fields in `/proc/PID/stat` after the name, which may contain blanks and parentheses.
_STARTED_FIELD = 19
_STATE_FIELD = 0


@dataclass(frozen=True, slots=True)
class Process:
    """A process; `started` distinguishes it from a later one with the same ID, 0 if unknown."""

    number: int
    started: int

    def is_running(self) -> bool:
        """True if the process runs on this machine. Only valid if its `find_process_scope` equals ours."""
        found = find_process(self.number)
        return found is not None and found.started == self.started


def find_process(number: int) -> Process | None:
    """Find a local process by ID; None if it does not exist or is a zombie."""
    if not _PROC.joinpath("self").exists():
        return _ask_by_signal(number)
    try:
        text = _PROC.joinpath(str(number), "stat").read_text("utf-8", errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()
    return None if fields[_STATE_FIELD] in "ZX" else Process(number, int(fields[_STARTED_FIELD]))


def _ask_by_signal(number: int) -> Process | None:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    return Process(number, 0)


def find_process_scope() -> str:
    """Return the scope of process IDs: this machine since its boot, and the container on it."""
    parts = [platform.node()]
    for path in (_PROC / "sys/kernel/random/boot_id", _PROC / "self/ns/pid"):
        try:
            parts.append(str(path.readlink()) if path.is_symlink() else path.read_text("ascii").strip())
        except OSError:
            continue
    return " ".join(parts)
