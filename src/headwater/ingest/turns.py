"""`Turns`: the batches of many tables run a few at a time."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count

HOLD_SECONDS = 5.0
"""A batch that takes longer continues, but no longer holds back the others."""


class Turns:
    """Admits as many short batches at a time as there are cores, in the order in which tables ask.

    If all of them share the cores, each takes as long as all together. One after the other, the first ones
    are done much sooner, and the last one not later; and a table that waits reads its events after its turn
    has come, so that the batch has more of them. Long batches run next to each other, in Spark's fair pools.
    Use from any thread.
    """

    def __init__(
        self,
        count_cores: Callable[[], int],
        hold_seconds: float = HOLD_SECONDS,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._count_cores = count_cores
        self._hold_seconds = hold_seconds
        self._now = now
        self._changed = threading.Condition()
        self._tickets = count()
        self._waiting: deque[int] = deque()
        self._begun: dict[int, float] = {}

    @contextmanager
    def take(self) -> Iterator[None]:
        """Wait for a turn, and give it back at the end."""
        ticket = next(self._tickets)
        most = max(2, self._count_cores())
        with self._changed:
            self._waiting.append(ticket)
            while self._waiting[0] != ticket or len(self._list_holders()) >= most:
                self._changed.wait(self._find_pause())
            self._waiting.popleft()
            self._begun[ticket] = self._now()
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                del self._begun[ticket]
                self._changed.notify_all()

    def _list_holders(self) -> list[float]:
        now = self._now()
        return [begun for begun in self._begun.values() if now - begun < self._hold_seconds]

    def _find_pause(self) -> float | None:
        """Return the seconds until the next batch has held its turn for long enough."""
        holders = self._list_holders()
        return max(0.001, min(holders) + self._hold_seconds - self._now()) if holders else None
