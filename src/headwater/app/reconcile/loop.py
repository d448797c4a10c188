"""`ReconcileLoop`: the thread beside a run in which the bucket is listed."""

import threading
from collections.abc import Callable

import structlog

from headwater.app.reconcile.passes import Reconcile
from headwater.errors import HeadwaterError

log = structlog.stdlib.get_logger(__name__)

_STOP_SECONDS = 60.0


class ReconcileLoop:
    """Never ends a run: trouble is logged, and a `defect` kept, to be raised at the run's end."""

    def __init__(
        self, reconcile: Reconcile, is_drained: Callable[[], bool], is_session_alive: Callable[[], bool]
    ) -> None:
        self._reconcile = reconcile
        self._is_drained = is_drained
        self._is_session_alive = is_session_alive
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="reconcile", daemon=True)
        self.defect: Exception | None = None

    def start(self) -> None:
        """Begin; the session must be up."""
        self._thread.start()

    def stop(self) -> None:
        """End at the next object; the pass in hand can be gone on with. Idempotent."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(_STOP_SECONDS)

    def _run(self) -> None:
        try:
            self._reconcile.run(self._stop, self._is_drained)
        except HeadwaterError as error:
            log.warning("the bucket is not listed in this run", error=error.message, hint=error.hint)
        except Exception as error:
            # What a dying JVM makes fail is told by its death.
            if self._is_session_alive():
                log.exception("the reconcile ended by a defect")
                self.defect = error
