"""Crashes at named crash points: the process loses its memory, durable state stays."""

from collections import Counter
from typing import Literal, get_args

from headwater.observability.crash_points import CrashPointName

CrashPoint = Literal[
    # capture
    "received",
    "parsed",
    "quarantine to be written",
    "events to be written",
    "events written",
    "message deleted",
    "message deleted, answer lost",
    # a commit of any table
    "rollback begun",
    "rollback done",
    "requested",
    "inflight",
    "data file written",
    "all files written",
    "completed",
    "archived",
    # a data table
    "checkpoint read",
    "decided",
    "object read",
    "objects read",
    "rejects to be written",
    "rejects written",
    "rejects to be resolved",
    "data to be written",
    "ledger to be forgotten",
    "ledger to be written",
    "ledger written",
    # reconcile
    "listed",
    "compared",
    "differences requested",
    "differences written",
    "cleaning announced",
    "object cleaned",
]
"""Crash points, each between two effects."""

CRASH_POINTS: tuple[CrashPoint, ...] = get_args(CrashPoint)


class ProcessDied(BaseException):
    """Raised at a crash; the product must not catch it."""


class Crashes:
    """Counts the crash points reached and ends the process at the chosen one."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()
        self.deaths: Counter[str] = Counter()
        self.passed = 0
        self._left = 0

    def arm(self, count: int) -> None:
        """Arms a crash at the `count`-th crash point from now, starting at 1; 0 disarms it."""
        self._left = count

    @property
    def is_armed(self) -> bool:
        return self._left > 0

    def at(self, point: CrashPoint | CrashPointName) -> None:
        self.seen[point] += 1
        self.passed += 1
        if self._left:
            self._left -= 1
            if not self._left:
                self.deaths[point] += 1
                raise ProcessDied(point)
