"""`CommitSignal`: wakes the readers of a table when it may have a new commit."""

import threading
import time
from collections.abc import Callable


class CommitSignal:
    """Counts the commits of this process. `detect` finds those of other processes.

    `external_seconds`: how often readers look for the latter, at most.
    """

    external_seconds = 5.0

    def __init__(self, detect: Callable[[], None] = lambda: None) -> None:
        self._detect = detect
        self._detected_at = time.monotonic()
        self._changed = threading.Condition()
        self._count = 0

    @property
    def count(self) -> int:
        """Return the number of times that readers were woken, for use with `wait`."""
        return self._count

    def wait(self, seen: int, timeout: float) -> None:
        """Block until `count` exceeds `seen`, or `timeout` seconds passed."""
        with self._changed:
            self._changed.wait_for(lambda: self._count > seen, timeout)

    def wake(self) -> None:
        """Wake all waiting readers: after a commit, and at the end of a run."""
        with self._changed:
            self._count += 1
            self._changed.notify_all()

    def refresh(self) -> None:
        """Detect commits of other processes, unless a reader has done so within `external_seconds`."""
        now = time.monotonic()
        if now - self._detected_at >= self.external_seconds:
            self._detected_at = now
            self._detect()
