"""`ReconcileLoop`: the thread that lists a source during a run."""

import threading
from collections.abc import Callable

import structlog

from headwater.app.components import BackgroundLoop, RunReport
from headwater.app.reconcile.passes import Reconcile
from headwater.app.reconcile.schedule import CapturedUntil
from headwater.capture.reconcile import ReconcilePass
from headwater.errors import HeadwaterError

log = structlog.stdlib.get_logger(__name__)


class ReconcileLoop(BackgroundLoop):
    """Stops at the next object; the interrupted pass can be resumed."""

    def __init__(
        self,
        reconcile: Reconcile,
        captured_until: CapturedUntil,
        is_session_alive: Callable[[], bool],
        label: str = "",
    ) -> None:
        super().__init__(f"reconcile.{label}" if label else "reconcile", is_session_alive)
        self._reconcile = reconcile
        self._captured_until = captured_until
        self._done: ReconcilePass | None = None

    def work(self, stop: threading.Event) -> None:
        """Run passes as they become due."""
        try:
            self._reconcile.run(stop, self._captured_until, self._note_pass)
        except HeadwaterError as error:
            self.part.fail(error.message)
            log.warning("reconcile disabled for this run", error=error.message, hint=error.hint)

    def _note_pass(self, error: HeadwaterError | None) -> None:
        if error is None:
            self.part.note("running")
        else:
            self.part.retry(error.message)

    def backfill(self, stop: threading.Event) -> None:
        """Run a pass if one is due."""
        try:
            found = self._reconcile.run_once(stop)
        except HeadwaterError:
            self._reconcile.count_failure()
            raise
        self._done = found.done if found is not None else None

    def add_to(self, report: RunReport) -> None:
        """Add the pass and the failure."""
        super().add_to(report)
        if self._done is not None:
            report.reconciles.append(self._done)
