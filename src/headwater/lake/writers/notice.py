"""`Notice`: what a process that writes tables says of itself, in a file of the lake."""

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Literal

from headwater.lake.writers.process import Process

Role = Literal["run", "service"]
SILENT_SECONDS = 60.0
"""A notice that was silent for so long is of a process that has gone, on a machine that cannot be asked."""


@dataclass(frozen=True, slots=True)
class Notice:
    """`processes` are the process itself and its JVM: that one may complete a commit when the first was
    killed. `alone` is what can be beside no other writer, whatever lock there is. `failures` holds the last
    error of each table whose batches fail."""

    token: str
    role: Role
    command: str
    tables: tuple[str, ...]
    alone: bool
    place: str
    processes: tuple[Process, ...]
    since: str
    failures: Mapping[str, str] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        """As the file holds it."""
        return json.dumps(asdict(self)).encode()

    def describe(self) -> str:
        """For a message."""
        machine = self.place.partition(" ")[0]
        return f"{self.command} (process {self.processes[0].number} on {machine}, since {self.since})"


def parse_notice(content: bytes) -> Notice | None:
    """Inverse of `Notice.to_bytes`; None for a file that is being written, or is none."""
    try:
        data = json.loads(content)
        processes = tuple(Process(**process) for process in data.pop("processes"))
        return Notice(tables=tuple(data.pop("tables")), processes=processes, **data)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def is_alive(notice: Notice | None, place: str, silent_seconds: float) -> bool:
    """Whether its process writes, or may. `silent_seconds` have passed since it was renewed."""
    if notice is not None and notice.place == place:
        return any(process.is_running() for process in notice.processes)
    return silent_seconds < SILENT_SECONDS


def excludes(mine: Notice, other: Notice | None, *, is_locked: bool) -> bool:
    """Whether the two must not write at the same time; of an unreadable notice nothing is known yet.

    `is_locked`: a lock keeps the commits of processes apart. Two runs exclude each other all the same, for
    both would take the same events to the same tables, and so do two that would carry out one plan.
    """
    if other is None:
        return True
    if not set(mine.tables) & set(other.tables):
        return False
    if not is_locked or mine.alone or other.alone:
        return True
    return (mine.role == "run") == (other.role == "run")


def write_time(now: datetime) -> str:
    """To the second, UTC."""
    return now.strftime("%Y-%m-%d %H:%M:%S UTC")


def name_tables(tables: Collection[str]) -> str:
    """A few of them, for a message."""
    names = sorted(tables)
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
