"""`GaugeLoop`: the thread that refreshes the gauges of queue and tables during a run."""

import math
import threading
import time
from collections.abc import Sequence

import structlog

from headwater.app.application import App, read_clock
from headwater.app.captures import Captures
from headwater.app.components import BackgroundLoop
from headwater.app.status import StatusReader
from headwater.errors import HeadwaterError
from headwater.lake.storage_options import build_storage_options
from headwater.observability.metrics import Metrics

log = structlog.stdlib.get_logger(__name__)

_SECONDS = 5.0
_SHARE = 0.1
"""Maximum share of one core: counting the events behind a checkpoint reads them from the lake."""


class GaugeLoop(BackgroundLoop):
    """Reads the lake without the JVM, so it works before the session is up."""

    is_early = True

    def __init__(self, app: App, capture: Captures | None, metrics: Metrics, tables: Sequence[str]) -> None:
        # This loop runs while the session starts: asking for the session here would start another one.
        super().__init__("gauges", lambda: True)
        self._settings = app.settings
        self._tables = tuple(tables)
        self._capture = capture
        self._metrics = metrics
        self._failing: set[str] = set()

    def work(self, stop: threading.Event) -> None:
        """Refresh the gauges, pausing in between."""
        pause = 0.0
        while not stop.wait(pause):
            began = time.monotonic()
            self._refresh()
            pause = max(_SECONDS, (time.monotonic() - began) / _SHARE)

    def _refresh(self) -> None:
        metrics = self._metrics
        if self._capture:
            metrics.set("in_flight_ratio", self._capture.in_flight_ratio)
            depth = self._capture.read_queue_depth()
            metrics.set("queue_depth", math.nan if depth is None else depth)
        settings = self._settings
        options = build_storage_options(settings.lake, settings.lake_storage)
        reader = StatusReader(settings, options, read_clock())
        for name in self._tables:
            try:
                lag, sets = reader.read_lag(name), reader.read_sets(name)
            except HeadwaterError as error:
                self._note_failure(name, error)
                metrics.set("lag_events", math.nan, table=name)
                metrics.set("lag_seconds", math.nan, table=name)
            else:
                self._failing.discard(name)
                if not self._failing:
                    self.part.note("running")
                metrics.set("lag_events", lag.count, table=name)
                metrics.set("lag_seconds", lag.seconds, table=name)
                if sets is not None:
                    metrics.set("sets_open", len(sets.open), table=name)

    def _note_failure(self, table: str, error: HeadwaterError) -> None:
        """Log a failure once, until the next success."""
        if table not in self._failing:
            self._failing.add(table)
            log.warning("table lag unavailable", table=table, error=error.message)
        self.part.retry(f"table {table}: {error.message}")
