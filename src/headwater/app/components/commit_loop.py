"""`CommitLoop`: a background loop that follows the commits of the data tables."""

import threading
from abc import abstractmethod
from collections.abc import Callable

from headwater.app.components.background_loop import BackgroundLoop
from headwater.app.components.batch_note import BatchNote

_POLL_SECONDS = 30.0
"""How often to check for commits without a wake-up: another process's, or those left after a failure."""
_PAUSE_SECONDS = 5.0
"""Minimum time between two passes, however many commits there were."""
_LONGEST_SECONDS = 300.0


class CommitLoop(BackgroundLoop):
    """Never delays or fails a commit. After failures it backs off, up to five minutes."""

    def __init__(self, name: str, is_session_alive: Callable[[], bool]) -> None:
        super().__init__(name, is_session_alive)
        self._wake = threading.Event()

    @abstractmethod
    def run_pass(self, stop: threading.Event) -> bool:
        """Process each table with a new commit. Returns True if all of it worked."""

    def on_batch(self, batch: BatchNote) -> None:
        """Start a pass soon after a commit."""
        if batch.is_committed:
            self._wake.set()

    def catch_up(self, stop: threading.Event) -> None:
        """Make one pass. A failure is logged, and the next run tries again."""
        self.run_pass(stop)

    def stop(self) -> None:
        """End after the current call has completed or timed out."""
        self._stop.set()
        self._wake.set()
        super().stop()

    def work(self, stop: threading.Event) -> None:
        """Make a pass after each commit, and at intervals."""
        failures = 0
        while not stop.is_set():
            self._wake.clear()
            is_done = self.run_pass(stop)
            failures = 0 if is_done else failures + 1
            if is_done:
                self._wake.wait(_POLL_SECONDS)
                stop.wait(_PAUSE_SECONDS)
            else:
                # A new commit is no reason to retry an unresponsive target sooner.
                stop.wait(min(_LONGEST_SECONDS, _PAUSE_SECONDS * 2**failures))
