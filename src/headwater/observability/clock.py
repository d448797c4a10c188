"""Time as a dependency: the system's clock, or one that a test advances."""

import threading
import time
from datetime import datetime, timedelta, timezone
from typing import Protocol


class WallClock(Protocol):
    """A wall clock."""

    def now(self) -> datetime:
        """Return the time of day, timezone-aware in UTC."""
        ...


class Clock(WallClock, Protocol):
    """The clock of loops. All methods are thread-safe."""

    def monotonic(self) -> float:
        """Return seconds since an arbitrary moment; never decreases."""
        ...

    def wait(self, condition: threading.Condition, seconds: float | None) -> None:
        """Wait on `condition`, which the caller holds, for at most `seconds` (None: until notified).

        May return early: callers loop against `monotonic`.
        """
        ...


class SystemClock:
    """The machine's clock."""

    def monotonic(self) -> float:
        """See `Clock.monotonic`."""
        return time.monotonic()

    def now(self) -> datetime:
        """See `Clock.now`."""
        return datetime.now(timezone.utc)

    def wait(self, condition: threading.Condition, seconds: float | None) -> None:
        """See `Clock.wait`."""
        condition.wait(None if seconds is None else max(0.0, min(seconds, threading.TIMEOUT_MAX)))


class ManualClock:
    """Stands still until `advance` is called."""

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=timezone.utc)) -> None:
        self._start = start
        self._elapsed = 0.0
        self._lock = threading.Lock()

    def monotonic(self) -> float:
        """See `Clock.monotonic`."""
        with self._lock:
            return self._elapsed

    def now(self) -> datetime:
        """See `Clock.now`."""
        return self._start + timedelta(seconds=self.monotonic())

    def wait(self, condition: threading.Condition, seconds: float | None) -> None:
        """See `Clock.wait`; polls every few real milliseconds to detect `advance`."""
        if seconds is None or seconds > 0:
            condition.wait(0.005)

    def advance(self, seconds: float) -> None:
        """Advance the clock by `seconds` at once."""
        with self._lock:
            self._elapsed += seconds
