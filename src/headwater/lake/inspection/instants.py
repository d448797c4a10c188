"""The actions of a timeline, by their files: `<requested>[_<completed>].<action>[.<state>]`."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Literal

from headwater.lake.inspection.folder import StoredFile

State = Literal["requested", "inflight", "completed"]

WRITES = frozenset({"commit", "deltacommit", "replacecommit"})
"""What a write, a compaction and a clustering are called once they are complete."""

# A service completes under the name of the write that it amounts to.
_COMPLETES_AS = {"compaction": "commit", "logcompaction": "deltacommit", "clustering": "replacecommit"}
_ACTIONS = "|".join(
    (*WRITES, *_COMPLETES_AS, "clean", "rollback", "savepoint", "restore", "indexing", "schemacommit")
)
_FILE = re.compile(
    rf"(?P<requested>\d{{14,17}})(?:_(?P<completed>\d{{14,17}})\.(?P<done>{_ACTIONS})"
    rf"|(?:\.(?P<begun>{_ACTIONS}))?\.(?P<state>requested|inflight))"
)
_STATES: tuple[State, ...] = ("requested", "inflight", "completed")


@dataclass(frozen=True, slots=True, order=True)
class Instant:
    """One action. `requested` and `completed` are Hudi's `yyyyMMddHHmmssSSS` text; `completed` may be empty.

    `action` is Hudi's word: of a completed compaction or clustering that of a write, `planned_as` then has
    the other. `files` are its files on the active timeline by state; an archived one has `content`.
    """

    requested: str
    action: str
    completed: str = ""
    state: State = "completed"
    planned_as: str = ""
    files: dict[State, StoredFile] = field(default_factory=dict, compare=False, hash=False, repr=False)
    archived: bool = False
    content: bytes | None = field(default=None, compare=False, repr=False)

    @property
    def is_write(self) -> bool:
        """Whether it is, or will be, a write of rows or files."""
        return _COMPLETES_AS.get(self.action, self.action) in WRITES


def parse_instant_name(name: str) -> tuple[str, str, str, State] | None:
    """Requested time, completed time (or empty), action and state; None for any other file."""
    found = _FILE.fullmatch(name)
    if found is None:
        return None
    if found["done"]:
        return found["requested"], found["completed"], found["done"], "completed"
    # A commit's own file has no action in its name while it is inflight.
    state: State = "requested" if found["state"] == "requested" else "inflight"
    return found["requested"], "", found["begun"] or "commit", state


def build_instants(files: Iterable[StoredFile]) -> list[Instant]:
    """One for the files of each action, in the state that got furthest; in order of request."""
    # A savepoint has the time of the commit that it keeps: the time alone names no action.
    found: dict[tuple[str, str], dict[State, tuple[str, str, StoredFile]]] = {}
    for file in files:
        parsed = parse_instant_name(file.name)
        if parsed:
            requested, completed, action, state = parsed
            key = requested, _COMPLETES_AS.get(action, action)
            found.setdefault(key, {})[state] = completed, action, file
    return sorted(_build_instant(requested, states) for (requested, _), states in found.items())


def _build_instant(requested: str, states: dict[State, tuple[str, str, StoredFile]]) -> Instant:
    furthest = max(states, key=_STATES.index)
    completed, action, _ = states[furthest]
    planned = next((word for _, word, _ in states.values() if word in _COMPLETES_AS), "")
    files = {state: file for state, (_, _, file) in states.items()}
    return Instant(requested, action, completed, furthest, planned, files)


def parse_time(instant: str, zone: str) -> datetime | None:
    """When that was; `zone` is `UTC` or `LOCAL`, which is taken for this machine's. None for Hudi's own
    marks, which are no time."""
    try:
        when = datetime.strptime(instant.ljust(17, "0") + "000", "%Y%m%d%H%M%S%f")
    except ValueError:
        return None
    return when.replace(tzinfo=timezone.utc) if zone == "UTC" else when.astimezone(timezone.utc)
