"""Time that passes only when told to."""

import threading
from datetime import datetime, timedelta, timezone

START = datetime(2026, 5, 1, tzinfo=timezone.utc)


class HasToWaitError(Exception):
    """A thread has nothing to do now; its step is taken later."""


class SimulatedClock:
    """Wall clock and monotonic clock in one; counts milliseconds."""

    def __init__(self) -> None:
        self._millis = 0

    def now(self) -> datetime:
        return START + timedelta(milliseconds=self._millis)

    def monotonic(self) -> float:
        return self._millis / 1000

    def wait(self, condition: threading.Condition, seconds: float | None) -> None:
        """Nobody waits in a simulation. Raises `HasToWaitError`."""
        del condition, seconds
        raise HasToWaitError

    def advance(self, seconds: float) -> None:
        self._millis += int(seconds * 1000)

    def next_moment(self) -> datetime:
        """A time that nobody else is given."""
        self._millis += 1
        return self.now()

    def next_instant(self) -> str:
        """A Hudi instant (`yyyyMMddHHmmssSSS`) that no other action has: Hudi makes them under a lock."""
        moment = self.next_moment()
        return f"{moment:%Y%m%d%H%M%S}{moment.microsecond // 1000:03d}"
