"""A process as others can look for it: its number, when it started, and where such numbers mean anything.

Starts are told in ticks since the machine started. What psutil tells is a time of day, which moves when the
clock is set, and two that are kept in a file and looked at later would no longer be the same.
"""

import os
import platform
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
# Fields of /proc/PID/stat behind the name, which may hold blanks and brackets.
_STARTED_FIELD = 19
_STATE_FIELD = 0


@dataclass(frozen=True, slots=True)
class Process:
    """`started` tells it from a later one of the same number; 0 where the system does not say."""

    number: int
    started: int

    def is_running(self) -> bool:
        """Asked of this machine: only for a process whose `find_place` is ours."""
        found = find_process(self.number)
        return found is not None and found.started == self.started


def find_process(number: int) -> Process | None:
    """The process of that number here; None when there is none, or it has ended and waits to be noticed."""
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


def find_place() -> str:
    """Where numbers of processes are ours: the machine since it started, and the container on it."""
    parts = [platform.node()]
    for path in (_PROC / "sys/kernel/random/boot_id", _PROC / "self/ns/pid"):
        try:
            parts.append(str(path.readlink()) if path.is_symlink() else path.read_text("ascii").strip())
        except OSError:
            continue
    return " ".join(parts)
