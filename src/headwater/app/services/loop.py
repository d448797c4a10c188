"""`ServicesLoop`: the table services that writers leave to others, as a part of a run."""

import threading
from collections.abc import Mapping, Sequence

import structlog

from headwater.app.application import App
from headwater.app.components import BackgroundLoop
from headwater.app.services.worker import ServicesWorker
from headwater.errors import HeadwaterError

log = structlog.stdlib.get_logger(__name__)


class ServicesLoop(BackgroundLoop):
    """Stops after the current pass."""

    def __init__(self, app: App, tables: Sequence[str]) -> None:
        super().__init__("services", app.is_session_alive, stop_seconds=None)
        self._worker = ServicesWorker(app, tables, on_failures=self._note_failures)

    def work(self, stop: threading.Event) -> None:
        """Run passes with pauses between them."""
        self._worker.run_until(stop)

    def _note_failures(self, failures: Mapping[str, HeadwaterError]) -> None:
        if failures:
            self.part.retry("; ".join(f"{name}: {error.message}" for name, error in failures.items()))
        else:
            self.part.note("running")

    def catch_up(self, stop: threading.Event) -> None:
        """Run one pass."""
        if stop.is_set():
            return
        for error in self._worker.run_pass().failures.values():
            self.failure = error
