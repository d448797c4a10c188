"""`ReconcileLoop`: the thread that lists the bucket during a run."""

import threading
from collections.abc import Callable

import structlog

from headwater.app.background import BackgroundLoop
from headwater.app.reconcile.passes import Reconcile
from headwater.app.reconcile.schedule import CapturedUntil
from headwater.errors import HeadwaterError

log = structlog.stdlib.get_logger(__name__)


class ReconcileLoop(BackgroundLoop):
    """Stops at the next object; the interrupted pass can be resumed."""

    def __init__(
        self, reconcile: Reconcile, captured_until: CapturedUntil, is_session_alive: Callable[[], bool]
    ) -> None:
        super().__init__("reconcile", is_session_alive)
        self._reconcile = reconcile
        self._captured_until = captured_until

    def work(self, stop: threading.Event) -> None:
        """Run passes as they become due."""
        try:
            self._reconcile.run(stop, self._captured_until)
        except HeadwaterError as error:
            log.warning("the bucket is not listed in this run", error=error.message, hint=error.hint)
