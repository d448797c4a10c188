"""`StopWhen`: ends a continuous run by itself, in the same order as SIGTERM does."""

import threading
import time
from collections.abc import Callable, Mapping

import structlog

from headwater.app.components import BackgroundLoop, BatchNote
from headwater.capture.consumer import CommitReport
from headwater.config.stop_when import StopWhenConfig
from headwater.observability.part_board import PartBoard
from headwater.observability.part_state import TABLE_PREFIX, PartState

log = structlog.stdlib.get_logger(__name__)

_LOOK_SECONDS = 1.0
_FEEDING = (TABLE_PREFIX, "capture")
"""Parts that bring rows into tables start with one of these. A catalog that is away is none."""


class StopWhen(BackgroundLoop):
    """Calls `end` once, when the first condition is met.

    A run is idle while capture holds no message (`is_waiting`), and no table works on a batch or retries one:
    then nothing is known that it could still do.
    """

    def __init__(
        self,
        config: StopWhenConfig,
        end: Callable[[], None],
        is_waiting: Callable[[], bool],
        *,
        clock: Callable[[], float] = time.monotonic,
        look_seconds: float = _LOOK_SECONDS,
    ) -> None:
        super().__init__("stop-when", lambda: True)
        self._config = config
        self._end = end
        self._is_waiting = is_waiting
        self._clock = clock
        self._look_seconds = look_seconds
        self._board = PartBoard()
        self._lock = threading.Lock()
        self._rows = 0
        self._started = self._active = clock()

    def report_to(self, board: PartBoard) -> None:
        """See `Component`; the board also has the parts that decide whether a run is idle."""
        super().report_to(board)
        self._board = board

    def start(self) -> None:
        """Begin to count time."""
        self._started = self._active = self._clock()
        super().start()

    def on_batch(self, batch: BatchNote) -> None:
        """Count the rows."""
        with self._lock:
            self._active = self._clock()
            self._rows += batch.result.rows if batch.result else 0

    def on_capture(self, report: CommitReport) -> None:
        """Note that notifications arrived."""
        if report.messages:
            with self._lock:
                self._active = self._clock()

    def work(self, stop: threading.Event) -> None:
        """Look for a reason to end until there is one."""
        while not stop.wait(self._look_seconds):
            if reason := self.find_reason():
                log.info("the run ends by `stop_when`", reason=reason)
                self._end()
                return

    def find_reason(self) -> str:
        """Return why the run should end now; empty if it should not."""
        config, now = self._config, self._clock()
        with self._lock:
            if is_feeding(self._board.read()) or not self._is_waiting():
                self._active = now
            if config.rows and self._rows >= config.rows:
                return f"{self._rows:,} rows committed"
            if config.deadline and now - self._started >= config.deadline:
                return f"deadline of {config.deadline:g} seconds"
            if config.idle_for and now - self._active >= config.idle_for:
                return f"idle for {config.idle_for:g} seconds"
        return ""


def is_feeding(parts: Mapping[str, PartState]) -> bool:
    """True if a part of capture, or a table, works or retries."""
    return any(
        state.status in {"working", "retrying"} for name, state in parts.items() if name.startswith(_FEEDING)
    )
