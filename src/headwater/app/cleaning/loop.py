"""`CleanLoop`: the thread that cleans the source during a run."""

import threading
import time
from collections.abc import Callable

import structlog

from headwater.app.cleaning.passes import CleanSource
from headwater.app.components import BackgroundLoop, RunReport
from headwater.errors import HeadwaterError
from headwater.ingest.cleaning.cleaning_pass import CleanReport

log = structlog.stdlib.get_logger(__name__)

_FIRST_SECONDS = 60.0
"""Seconds until the first pass: a run first catches up."""
_LONGEST_PAUSE = 3_600.0
_SHORTEST_PAUSE = 60.0
_DRAIN_PATIENCE = 600.0
"""Seconds after which the loop stops waiting for a queue that never empties."""
_POLL_SECONDS = 1.0


def choose_pause(delay_seconds: float) -> float:
    """Return the seconds between passes: a tenth of the delay, an hour at most."""
    return min(_LONGEST_PAUSE, max(_SHORTEST_PAUSE, delay_seconds / 10))


class CleanLoop(BackgroundLoop):
    """Stops at the next object; a later pass does the rest."""

    # A table that lags may still need the objects.
    needs_all_tables = True

    def __init__(
        self,
        clean: CleanSource,
        delay_seconds: float,
        is_drained: Callable[[], bool],
        is_session_alive: Callable[[], bool],
        *,
        label: str = "",
        first_seconds: float = _FIRST_SECONDS,
    ) -> None:
        super().__init__(f"clean-source.{label}" if label else "clean-source", is_session_alive)
        self._clean = clean
        self._pause = choose_pause(delay_seconds)
        self._first = first_seconds
        self._is_drained = is_drained
        self._done: CleanReport | None = None

    def work(self, stop: threading.Event) -> None:
        """Run passes with pauses between them."""
        pause = self._first
        while not stop.wait(pause):
            pause = self._pause
            self._wait_for_queue(stop)
            if stop.is_set():
                return
            try:
                self._clean.run_pass(stop)
                self.part.note("running")
            except HeadwaterError as error:
                self.part.retry(error.message)
                self._clean.count_failure()
                log.warning("source cleaning failed; retrying", error=error.message, hint=error.hint)

    def catch_up(self, stop: threading.Event) -> None:
        """Clean once."""
        if stop.is_set():
            return
        try:
            self._done = self._clean.run_pass(stop)
        except HeadwaterError:
            self._clean.count_failure()
            raise

    def add_to(self, report: RunReport) -> None:
        """Add the pass and the failure."""
        super().add_to(report)
        if self._done is not None:
            report.cleans.append(self._done)

    def _wait_for_queue(self, stop: threading.Event) -> None:
        """Wait until the queue is empty: its messages may be about objects that are due."""
        deadline = time.monotonic() + _DRAIN_PATIENCE
        while not self._is_drained() and time.monotonic() < deadline:
            if stop.wait(_POLL_SECONDS):
                return
