"""`ReconcileLoop`: the thread beside a run in which the bucket is listed."""

import threading
from collections.abc import Callable

import structlog

from headwater.app.background import BackgroundLoop
from headwater.app.reconcile.passes import Reconcile
from headwater.errors import HeadwaterError

log = structlog.stdlib.get_logger(__name__)


class ReconcileLoop(BackgroundLoop):
    """Stops at the next object; the pass in hand can be gone on with."""

    def __init__(
        self, reconcile: Reconcile, is_drained: Callable[[], bool], is_session_alive: Callable[[], bool]
    ) -> None:
        super().__init__("reconcile", is_session_alive)
        self._reconcile = reconcile
        self._is_drained = is_drained

    def work(self, stop: threading.Event) -> None:
        """Passes, as they are due."""
        try:
            self._reconcile.run(stop, self._is_drained)
        except HeadwaterError as error:
            log.warning("the bucket is not listed in this run", error=error.message, hint=error.hint)
