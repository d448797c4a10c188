"""The state of one part of a run, and the health of all of them: pure values.

A part is anything that works on its own: the Spark session, a thread of capture, a table, a background loop.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal

PartStatus = Literal[
    # not yet at work
    "starting",
    # idle, and ready for the next batch
    "waiting",
    # a batch is in progress
    "working",
    # a loop that never ends
    "running",
    # the Spark session, or the lease of the writer, is held
    "up",
    # the last attempt failed; the next one follows
    "retrying",
    # ended in order
    "stopped",
    # ended by an error, and not restarted in this run
    "failed",
    # the Spark session, or the lease of the writer, no longer exists
    "lost",
]
Health = Literal["ok", "degraded", "failed"]

DEAD: Final[frozenset[PartStatus]] = frozenset({"failed", "lost"})
SESSION: Final = "session"
LEASE: Final = "lease"
TABLE_PREFIX: Final = "table-"
_RANKS: Final[Mapping[Health, int]] = {"ok": 0, "degraded": 1, "failed": 2}


@dataclass(frozen=True, slots=True)
class PartState:
    """The state of a part since a time. `attempt` counts the failed attempts of a part that is retrying.

    `error` is the message of the last failure; empty for a healthy part.
    """

    status: PartStatus
    since: datetime
    error: str = ""
    attempt: int = 0

    @property
    def is_dead(self) -> bool:
        """True if the part does no more work in this run."""
        return self.status in DEAD

    @property
    def health(self) -> Health:
        """Return the health of this part alone."""
        if self.is_dead:
            return "failed"
        return "degraded" if self.status == "retrying" else "ok"


def advance(state: PartState, status: PartStatus, now: datetime, error: str = "") -> PartState:
    """Return the state after a report.

    A dead part stays dead. `working` does not end `retrying`: the attempt in progress may fail again.
    """
    if state.is_dead or (state.status == "retrying" and status == "working"):
        return state
    if status == "retrying" and state.status == "retrying":
        return replace(state, error=error, attempt=state.attempt + 1)
    if status == state.status:
        return state
    return PartState(status, now, error, 1 if status == "retrying" else 0)


def judge_health(states: Iterable[PartState]) -> Health:
    """Return the worst health of the parts; `ok` without any."""
    return max((state.health for state in states), key=_RANKS.__getitem__, default="ok")


def find_obstacles(states: Mapping[str, PartState]) -> list[str]:
    """Return why a run is not ready: one sentence per part; empty for a run that is ready.

    A run is ready when the session is up, every table has started, and no part is dead.
    """
    obstacles = []
    is_standby = LEASE in states and states[LEASE].status == "waiting"
    if SESSION not in states:
        obstacles.append("the Spark session is not up")
    for name, state in states.items():
        if state.is_dead:
            obstacles.append(
                f"{name}: {state.status}: {state.error}" if state.error else f"{name}: {state.status}"
            )
        elif name == LEASE and is_standby:
            obstacles.append("standby: another process writes the tables")
        # A standby starts its session when it takes over.
        elif name == SESSION and state.status != "up" and not is_standby:
            obstacles.append(f"the Spark session is {state.status}")
        elif name.startswith(TABLE_PREFIX) and state.status == "starting":
            obstacles.append(f"{name}: starting")
    return obstacles
