"""The actions of a timeline and their file names: `<requested>[_<completed>].<action>[.<state>]`."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Literal

from headwater.lake.options import COMMIT_METADATA_PREFIX
from headwater.lake.table_files import StoredFile

State = Literal["requested", "inflight", "completed"]

WRITES = frozenset({"commit", "deltacommit", "replacecommit"})
"""The action names of completed writes, compactions and clusterings."""

# A completed service has the action name of the equivalent write.
_COMPLETES_AS = {"compaction": "commit", "logcompaction": "deltacommit", "clustering": "replacecommit"}
_ACTIONS = "|".join(
    (*WRITES, *_COMPLETES_AS, "clean", "rollback", "savepoint", "restore", "indexing", "schemacommit")
)
_FILE = re.compile(
    rf"(?P<requested>\d{{14,17}})(?:_(?P<completed>\d{{14,17}})\.(?P<done>{_ACTIONS})"
    rf"|(?:\.(?P<begun>{_ACTIONS}))?\.(?P<state>requested|inflight))"
)
_PLANS = frozenset({("compaction", "requested"), ("logcompaction", "requested")})
"""Hudi removes empty plans of cleans and rollbacks itself."""
_STATES: tuple[State, ...] = ("requested", "inflight", "completed")


@dataclass(frozen=True, slots=True, order=True)
class Commit:
    """A completed write. Both times are Hudi's `yyyyMMddHHmmssSSS` text; ordered by completion.

    `extra_metadata` is in Hudi's form, without the table's schema; empty if it was not read.
    """

    completed: str
    requested: str
    action: str
    extra_metadata: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def own_metadata(self) -> Mapping[str, str]:
        """Headwater's own metadata in this commit, without the prefix."""
        return select_own(self.extra_metadata)


@dataclass(frozen=True, slots=True, order=True)
class Instant:
    """One action. `requested` and `completed` are Hudi's `yyyyMMddHHmmssSSS` text; `completed` may be empty.

    `action` is Hudi's name. Completed compactions and clusterings have that of a write; `planned_as` then
    holds the original, if known. `files` are its files on the active timeline by state.
    """

    requested: str
    action: str
    completed: str = ""
    state: State = "completed"
    planned_as: str = field(default="", compare=False)
    files: dict[State, StoredFile] = field(default_factory=dict, compare=False, hash=False, repr=False)
    archived: bool = False

    @property
    def is_write(self) -> bool:
        """True if the action is, or will be, a write of rows or files."""
        return _COMPLETES_AS.get(self.action, self.action) in WRITES

    @property
    def is_commit(self) -> bool:
        """True if the action is a completed write."""
        return self.state == "completed" and self.is_write and bool(self.completed)

    @property
    def commit(self) -> Commit:
        """Return a completed write as a commit."""
        return Commit(self.completed, self.requested, self.action)


def select_own(extra_metadata: Mapping[str, str]) -> dict[str, str]:
    """Return headwater's own metadata, without the prefix."""
    prefix = COMMIT_METADATA_PREFIX
    return {
        name.removeprefix(prefix): value for name, value in extra_metadata.items() if name.startswith(prefix)
    }


def parse_instant_name(name: str) -> tuple[str, str, str, State] | None:
    """Return requested time, completed time (or empty), action and state; None for any other file."""
    found = _FILE.fullmatch(name)
    if found is None:
        return None
    if found["done"]:
        return found["requested"], found["completed"], found["done"], "completed"
    # The inflight file of a commit has no action in its name.
    state: State = "requested" if found["state"] == "requested" else "inflight"
    return found["requested"], "", found["begun"] or "commit", state


def is_unfilled(name: str, size: int) -> bool:
    """True for a file that must have content and has none: it is being written, or its writer was killed.

    Such files exist only in Azure, where a file is visible before its content.
    """
    parsed = parse_instant_name(name)
    return parsed is not None and not size and (parsed[3] == "completed" or parsed[2:] in _PLANS)


def build_instants(files: Iterable[StoredFile]) -> list[Instant]:
    """Build one instant for the files of each action, in its latest state; in order of request."""
    # A savepoint has the instant of the commit that it keeps, so the time alone is ambiguous.
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


def sort_by_completion(instants: Iterable[Instant]) -> list[Instant]:
    """Sort by completion, oldest first."""
    return sorted(instants, key=lambda instant: (instant.completed, instant.requested))


def find_just_before(instant: str) -> str:
    """Return the exclusive start of a range whose first instant is this one, because Hudi excludes the start.

    Instants are digits of equal width and compared as text. The previous number therefore sorts directly
    before, even if it is no valid time.
    """
    return str(int(instant) - 1).zfill(len(instant))


def parse_time(instant: str, zone: str) -> datetime | None:
    """Parse the time of an instant; None for Hudi's own marker instants.

    `zone` is `UTC` or `LOCAL`, which is read as this machine's zone.
    """
    try:
        when = datetime.strptime(instant.ljust(17, "0") + "000", "%Y%m%d%H%M%S%f")
    except ValueError:
        return None
    return when.replace(tzinfo=timezone.utc) if zone == "UTC" else when.astimezone(timezone.utc)
