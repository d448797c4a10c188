"""Extends the visibility timeout of undeleted messages while their batch is open or being committed."""

import threading
from collections.abc import Mapping

import structlog

from headwater.capture.consumer.in_flight import choose_extension
from headwater.capture.consumer.intake import Intake
from headwater.capture.consumer.stats import StatsCounter
from headwater.errors import SourceError
from headwater.observability.clock import Clock
from headwater.observability.part_board import Part, build_part
from headwater.sources.queue import Queue

log = structlog.stdlib.get_logger(__name__)

_PAUSE_AFTER_FAILURE = 1.0


class Heartbeat:
    """A thread that extends each message's visibility after a third of the timeout, for a longer one."""

    def __init__(
        self,
        queue: Queue,
        intake: Intake,
        stats: StatsCounter,
        clock: Clock,
        *,
        visibility_timeout: int,
        part: Part | None = None,
    ) -> None:
        self._queue = queue
        self._intake = intake
        self._stats = stats
        self._clock = clock
        self._part = part or build_part("heartbeat")
        self._extension_seconds = int(choose_extension(visibility_timeout))
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    def start(self) -> None:
        """Start the thread; it ends with the intake."""
        self._thread.start()

    def join(self) -> None:
        """Wait for the thread; call `Intake.finish` first."""
        self._thread.join()

    def _run(self) -> None:
        with self._part.reporting():
            while (due := self._intake.wait_for_heartbeat()) is not None:
                self.extend(due)

    def extend(self, due: Mapping[str, str]) -> None:
        """Hide the messages with these handles for longer; a failed one is soon due again."""
        at = self._clock.monotonic()
        try:
            failed = self._queue.extend(due, self._extension_seconds)
        except SourceError as error:
            self._stats.add("extensions_failed", len(due))
            log.warning("visibility extension failed; retrying", error=error.message)
            self._part.retry(error.message)
            self._intake.pause_heartbeat(_PAUSE_AFTER_FAILURE)
            return
        self._part.note("running")
        self._intake.end_heartbeat(due, failed, at)
        self._stats.add("extended", len(due) - len(failed))
        self._stats.add("extensions_failed", len(failed))
