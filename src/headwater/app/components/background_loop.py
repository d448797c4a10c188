"""`BackgroundLoop`: a component that works in a thread of its own."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable

import structlog

from headwater.app.components.component import Component
from headwater.observability.part_board import describe_error

log = structlog.stdlib.get_logger(__name__)

_STOP_SECONDS = 60.0


class BackgroundLoop(Component, ABC):
    """Never ends a run. The work logs and retries expected errors itself; any other is kept as `defect`."""

    def __init__(
        self, name: str, is_session_alive: Callable[[], bool], *, stop_seconds: float | None = _STOP_SECONDS
    ) -> None:
        super().__init__(name)
        self._is_session_alive = is_session_alive
        self._stop_seconds = stop_seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> None:
        """Start the thread; the session must be up."""
        self._thread.start()

    def stop(self) -> None:
        """Ask the work to end and wait for it. Idempotent."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(self._stop_seconds)

    @property
    def has_ended(self) -> bool:
        """True if the thread has ended or was never started."""
        return not self._thread.is_alive()

    @abstractmethod
    def work(self, stop: threading.Event) -> None:
        """Do all work of the thread; return soon after `stop` is set."""

    def note_defect(self, error: Exception) -> None:
        """Keep the error, unless the JVM has died: then its death is reported instead."""
        if self._is_session_alive():
            log.exception("loop ended by an unexpected error", loop=self.name)
            self.defect = error
            self.part.retry(describe_error(error))

    def _run(self) -> None:
        try:
            with self.part.reporting():
                self.work(self._stop)
        except Exception as error:
            self.note_defect(error)
