"""`CommitSignal`: wakes the readers of a table when it may have a new commit."""

import threading
import time
from collections.abc import Callable


class CommitSignal:
    """Counts the commits of this process. `detect` finds those of other processes."""

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

    def refresh(self, at_most_every: float = 0) -> None:
        """Detect commits of other processes, at most once per `at_most_every` seconds."""
        now = time.monotonic()
        if now - self._detected_at >= at_most_every:
            self._detected_at = now
            self._detect()
