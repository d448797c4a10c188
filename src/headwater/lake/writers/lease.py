"""`Lease`: the lease of a process that writes tables, in a file of the lake."""

import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from typing import Any, Literal

from headwater.lake.writers.process import Process
from headwater.observability.part_state import PartState

Role = Literal["run", "service"]
SILENT_SECONDS = 60.0
"""After this time without renewal, a lease from another machine has expired."""


@dataclass(frozen=True, slots=True)
class Lease:
    """The lease of a writer.

    `tables` are those that no other writer may write, `shared` those that others may share.
    `processes` are the process itself and its JVM, which may complete a commit after the former was killed.
    `alone` excludes all other writers, regardless of locks. `parts` are the states of the parts of a run.
    """

    token: str
    role: Role
    command: str
    tables: tuple[str, ...]
    alone: bool
    place: str
    processes: tuple[Process, ...]
    since: str
    parts: Mapping[str, PartState] = field(default_factory=dict)
    shared: tuple[str, ...] = ()

    def to_bytes(self) -> bytes:
        """Return the content of the lease file."""
        return json.dumps(asdict(self), default=datetime.isoformat).encode()

    @property
    def machine(self) -> str:
        """Return the name of the machine."""
        return self.place.partition(" ")[0]

    def describe(self) -> str:
        """Describe the writer for a message."""
        return f"{self.command} (process {self.processes[0].number} on {self.machine}, since {self.since})"


_FIELDS = frozenset(member.name for member in fields(Lease))


def parse_lease(content: bytes) -> Lease | None:
    """Parse the output of `Lease.to_bytes`; None for invalid content or a file that is being written."""
    try:
        data = json.loads(content)
        data["processes"] = tuple(Process(**process) for process in data["processes"])
        data |= {name: tuple(data.get(name, ())) for name in ("tables", "shared")}
        data["parts"] = {name: _parse_part(part) for name, part in data.get("parts", {}).items()}
        # Of another release: fields that this one does not know do not matter to it.
        return Lease(**{name: value for name, value in data.items() if name in _FIELDS})
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _parse_part(data: dict[str, Any]) -> PartState:
    return PartState(**{**data, "since": datetime.fromisoformat(data["since"])})


def is_alive(lease: Lease | None, place: str, silent_seconds: float) -> bool:
    """True if the lease holder may still write. `silent_seconds` is the time since the last renewal."""
    if lease is not None and lease.place == place:
        return any(process.is_running() for process in lease.processes)
    return silent_seconds < SILENT_SECONDS


def excludes(mine: Lease, other: Lease | None, *, is_locked: bool) -> bool:
    """True if the two must not write concurrently; an unreadable lease is assumed to conflict.

    `is_locked`: a lock serializes commits of different processes. Two runs still exclude each other, because
    both would ingest the same events. So do two services that would execute the same plan.
    """
    if other is None:
        return True
    if not find_contested(mine, other, is_locked=is_locked):
        return False
    if not is_locked or mine.alone or other.alone:
        return True
    return (mine.role == "run") == (other.role == "run")


def find_contested(mine: Lease, other: Lease, *, is_locked: bool) -> set[str]:
    """Return the tables that only one of the two may write; without a lock, nothing can be shared."""
    contested = {*mine.tables, *mine.shared} & {*other.tables, *other.shared}
    return contested - (set(mine.shared) & set(other.shared)) if is_locked else contested


def write_time(now: datetime) -> str:
    """Format a time in UTC to the second."""
    return now.strftime("%Y-%m-%d %H:%M:%S UTC")


def name_tables(tables: Collection[str]) -> str:
    """Return up to three table names for a message."""
    names = sorted(tables)
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
