"""When a bucket is listed beside the live flow: at the start of a run, then at intervals."""

import threading
from collections.abc import Callable
from datetime import datetime, timedelta

import structlog

from headwater.capture.reconcile.passes import LISTING, ReconcilePass, find_first, find_last_finished
from headwater.config.source import ReconcileConfig
from headwater.errors import HeadwaterError
from headwater.observability.clock import Clock

log = structlog.stdlib.get_logger(__name__)

RETRY_SECONDS = 300.0
"""After a pass that broke off."""
DRAIN_PATIENCE = 600.0
"""Seconds after which a queue that never gets empty is not waited for: too many events are harmless."""
_LOOK_SECONDS = 1.0


class PassSchedule:
    """Runs passes when they are due; one that fails is logged and tried again, and never ends the run."""

    def __init__(
        self,
        run_pass: Callable[[threading.Event], ReconcilePass],
        list_passes: Callable[[], list[ReconcilePass]],
        config: ReconcileConfig,
        clock: Clock,
        *,
        on_failure: Callable[[HeadwaterError], None] = lambda _error: None,
        look_seconds: float = _LOOK_SECONDS,
        is_watched: bool = False,
    ) -> None:
        self._run_pass = run_pass
        self._list_passes = list_passes
        self._config = config
        self._clock = clock
        self._on_failure = on_failure
        self._look_seconds = look_seconds
        self._is_watched = is_watched

    def run(self, stop: threading.Event, is_drained: Callable[[], bool]) -> None:
        """Passes until `stop` is set, or none will ever be due.

        The first one waits until what the queue held is captured: notifications come first.

        Raises `LakeError` when the passes of the past cannot be read at the start.
        """
        deadline = self._clock.monotonic() + DRAIN_PATIENCE
        while not (is_drained() or self._clock.monotonic() > deadline):
            if stop.wait(self._look_seconds):
                return
        passes, now = self._list_passes(), self._clock.now()
        due = choose_first_due(passes, self._config, now, is_watched=self._is_watched)
        while due is not None and not self._wait_until(due, stop):
            due = self._run_due(stop)

    def _run_due(self, stop: threading.Event) -> datetime | None:
        """A pass; returns when the next one is due."""
        try:
            is_first = find_last_finished(self._list_passes()) is None
            done = self._run_pass(stop)
            if is_first and done.unsettled:
                # Nobody promised that a notification was set up before they landed.
                return done.started_at + timedelta(seconds=self._config.settle_seconds)
            return choose_due(self._list_passes(), self._config.backfill_interval, self._clock.now())
        except HeadwaterError as error:
            log.warning("a reconcile broke off; it is tried again", error=error.message, hint=error.hint)
            self._on_failure(error)
            return self._clock.now() + timedelta(seconds=RETRY_SECONDS)

    def _wait_until(self, due: datetime, stop: threading.Event) -> bool:
        """Whether `stop` came first."""
        while (left := (due - self._clock.now()).total_seconds()) > 0:
            if stop.wait(min(left, self._look_seconds)):
                return True
        return stop.is_set()


def choose_first_due(
    passes: list[ReconcilePass], config: ReconcileConfig, now: datetime, *, is_watched: bool = False
) -> datetime | None:
    """When the first pass of a run is due; None for never. `is_watched`: the source is listed at each start
    anyway, so that only the interval counts."""
    if is_watched:
        known = find_last_finished(passes) is not None or not config.backfill_interval
        interval = timedelta(seconds=config.backfill_interval)
        return choose_due(passes, config.backfill_interval, now) if known else now + interval
    return now if config.include_existing_files else choose_due(passes, config.backfill_interval, now)


def choose_due(passes: list[ReconcilePass], interval_seconds: float, now: datetime) -> datetime | None:
    """When a bucket with these passes is to be listed again; None for an interval of 0."""
    if not interval_seconds:
        return None
    interval = timedelta(seconds=interval_seconds)
    # An inventory is hours old when it comes: it replaces no listing.
    last = find_last_finished(p for p in passes if p.listing == LISTING) or find_first(passes)
    return last.started_at + interval if last else now
