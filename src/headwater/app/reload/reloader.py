"""`Reloader`: loads the configuration again on request, and ends the run that is to continue with it."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import structlog

from headwater.app.reload.changes import find_changes, keep_fixed
from headwater.config.settings import Settings
from headwater.errors import HeadwaterError
from headwater.observability.metrics import Metrics
from headwater.observability.part_board import PartBoard

log = structlog.stdlib.get_logger(__name__)

CONFIGURATION = "configuration"
"""The part that reports a failed reload. There is none until a reload fails."""


class Reloader:
    """Reloads when `requested` is set, in a thread of its own: a run continues while a configuration is
    checked.

    `load` and `check` raise `HeadwaterError` for a configuration that cannot be used: the run keeps the one
    it has, and says so. Otherwise `stop` is set, and `take` returns what the run is to continue with.
    """

    def __init__(
        self,
        settings: Settings,
        load: Callable[[], Settings],
        check: Callable[[Settings], None],
        stop: threading.Event,
        requested: threading.Event,
    ) -> None:
        self._settings = settings
        self._load = load
        self._check = check
        self._stop = stop
        self._next: Settings | None = None
        self._lock = threading.Lock()
        self._requested = requested
        self._is_closed = False
        self._board: PartBoard | None = None
        self._metrics: Metrics | None = None
        self._thread = threading.Thread(target=self._work, name="reload", daemon=True)

    def report_to(self, board: PartBoard, metrics: Metrics | None) -> None:
        """Report reloads to the board and the metrics."""
        self._board, self._metrics = board, metrics

    @contextmanager
    def working(self) -> Iterator[None]:
        """Accept requests inside the block."""
        self._thread.start()
        try:
            yield
        finally:
            self._is_closed = True
            self._requested.set()

    def take(self) -> Settings | None:
        """Return the configuration to continue with, once, and clear `stop`.

        None if the run ended for another reason; then `stop` stays set.
        """
        # With the lock, so that a reload in between is neither lost nor taken for the end of the process.
        with self._lock:
            taken, self._next = self._next, None
            if taken is not None:
                self._stop.clear()
            return taken

    def _work(self) -> None:
        while True:
            self._requested.wait()
            self._requested.clear()
            if self._is_closed:
                return
            try:
                self._reload()
            except HeadwaterError as error:
                self._note_failure(error.message, error.hint)
            except Exception as error:
                # The thread must outlive it: the next reload may succeed.
                log.exception("reload failed unexpectedly")
                text = f"unexpected {type(error).__name__}: {error}"
                self._note_failure(text, "this is a bug in headwater: please report it with the log")

    def _reload(self) -> None:
        loaded = self._load()
        changes = find_changes(self._settings, loaded)
        if changes.fixed:
            log.warning("changes apply after a restart only", keys=list(changes.fixed))
        new = keep_fixed(self._settings, loaded)
        if changes.applicable:
            self._check(new)
        if self._metrics:
            self._metrics.set("config_reload_successful", 1)
        if not changes.applicable:
            log.info("reload: nothing to apply")
            if self._board and CONFIGURATION in self._board.read():
                self._board.add(CONFIGURATION).note("waiting")
            return
        log.info("reload: continuing with the new configuration", keys=list(changes.applicable))
        with self._lock:
            self._settings = self._next = new
            self._stop.set()

    def _note_failure(self, error: str, hint: str | None) -> None:
        log.error("reload failed; the run continues with its configuration", error=error, hint=hint)
        if self._metrics:
            self._metrics.set("config_reload_successful", 0)
        if self._board:
            self._board.add(CONFIGURATION).retry(f"reload failed: {error}")
