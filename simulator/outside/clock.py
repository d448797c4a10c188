"""Time that advances only on request."""

import threading
from datetime import datetime, timedelta, timezone

START = datetime(2026, 5, 1, tzinfo=timezone.utc)


class HasToWaitError(Exception):
    """Raised when a thread has nothing to do now; its step is retried later."""


class SimulatedClock:
    """Wall clock and monotonic clock in one; counts in milliseconds."""

    def __init__(self) -> None:
        self._millis = 0

    def now(self) -> datetime:
        return START + timedelta(milliseconds=self._millis)

    def monotonic(self) -> float:
        return self._millis / 1000

    def wait(self, condition: threading.Condition, seconds: float | None) -> None:
        """Raises `HasToWaitError`: a simulation never blocks."""
        del condition, seconds
        raise HasToWaitError

    def advance(self, seconds: float) -> None:
        self._millis += int(seconds * 1000)

    def next_moment(self) -> datetime:
        """Returns a unique time."""
        self._millis += 1
        return self.now()

    def next_instant(self) -> str:
        """Returns a unique Hudi instant (`yyyyMMddHHmmssSSS`); Hudi creates instants under a lock."""
        moment = self.next_moment()
        return f"{moment:%Y%m%d%H%M%S}{moment.microsecond // 1000:03d}"
