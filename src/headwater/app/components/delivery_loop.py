"""`DeliveryLoop`: a background loop that delivers items in order to a target that may be unavailable."""

import threading
import time
from abc import abstractmethod
from collections import deque
from typing import Generic, TypeVar

from headwater.app.components.background_loop import BackgroundLoop

_FLUSH_SECONDS = 10.0
"""How long an ending run waits for items that are still to be delivered."""

Item = TypeVar("Item")


class DeliveryLoop(BackgroundLoop, Generic[Item]):
    """Never delays or fails a batch. Items wait while the target is unavailable; beyond `max_waiting`, the
    oldest are dropped. An ending run waits a few seconds for the rest."""

    is_early = True

    def __init__(self, name: str, max_waiting: int) -> None:
        # The loop needs no session, and also reports a run whose JVM has died.
        super().__init__(name, lambda: True)
        self._max_waiting = max_waiting
        self._waiting: deque[Item] = deque()
        self._changed = threading.Condition()
        self._deadline = 0.0

    @abstractmethod
    def drop(self, item: Item, reason: str) -> None:
        """Log and count an item that will not be delivered. Called by any thread."""

    def put(self, item: Item) -> None:
        """Queue an item. Returns at once."""
        with self._changed:
            self._waiting.append(item)
            oldest = self._waiting.popleft() if len(self._waiting) > self._max_waiting else None
            self._changed.notify()
        if oldest is not None:
            self.drop(oldest, "too many are waiting for the target")

    def stop(self) -> None:
        """Deliver the remaining items for a few seconds, then end."""
        with self._changed:
            self._deadline = time.monotonic() + _FLUSH_SECONDS
            self._stop.set()
            self._changed.notify()
        super().stop()

    def wait_for_items(self) -> bool:
        """True if an item is waiting; False when the run ends and all are delivered, or time is up."""
        with self._changed:
            while not self._waiting and not self._stop.is_set():
                self._changed.wait()
            return bool(self._waiting) and (not self._stop.is_set() or time.monotonic() < self._deadline)

    def take(self) -> Item:
        """Take the oldest item; there must be one."""
        with self._changed:
            return self._waiting.popleft()

    def put_back(self, item: Item) -> None:
        """Return an item that was taken, to be delivered next."""
        with self._changed:
            self._waiting.appendleft(item)

    def list_waiting(self) -> list[Item]:
        """Return the items that are waiting, the oldest first."""
        with self._changed:
            return list(self._waiting)

    def drop_waiting(self) -> None:
        """Drop all items at the end of the run."""
        with self._changed:
            left = list(self._waiting)
            self._waiting.clear()
        for item in left:
            self.drop(item, "the run ended before the target accepted it")
