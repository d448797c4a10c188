"""When a bucket is listed during a run: at its start, then at intervals."""

import threading
from collections.abc import Callable
from datetime import datetime, timedelta
from math import inf

import structlog

from headwater.capture.reconcile.passes import LISTING, ReconcilePass, find_first, find_last_finished
from headwater.config.source import ReconcileConfig
from headwater.errors import HeadwaterError
from headwater.observability.clock import Clock

log = structlog.stdlib.get_logger(__name__)

RETRY_SECONDS = 300.0
"""Seconds until the retry of an aborted pass."""
CAUGHT_UP_SECONDS = 30.0
"""How far capture may lag behind the queue when a pass starts, unless `settle_seconds` is more."""
WARN_SECONDS = 600.0
"""Seconds of waiting for the queue after which a pass logs a warning."""
_POLL_SECONDS = 1.0

CapturedUntil = Callable[[], datetime | None]
"""Time up to which everything sent to the queue is captured; None while unknown."""


class PassSchedule:
    """Runs passes when they are due. A failed pass is logged and retried, and never ends the run."""

    def __init__(
        self,
        run_pass: Callable[[threading.Event, datetime], ReconcilePass],
        list_passes: Callable[[], list[ReconcilePass]],
        config: ReconcileConfig,
        clock: Clock,
        *,
        on_failure: Callable[[HeadwaterError], None] = lambda _error: None,
        poll_seconds: float = _POLL_SECONDS,
        is_watched: bool = False,
    ) -> None:
        self._run_pass = run_pass
        self._list_passes = list_passes
        self._config = config
        self._clock = clock
        self._on_failure = on_failure
        self._poll_seconds = poll_seconds
        self._is_watched = is_watched

    def run(self, stop: threading.Event, captured_until: CapturedUntil) -> None:
        """Run passes until `stop` is set, or no pass will ever be due.

        Each waits, without limit, until capture has caught up with the queue: an object whose notification is
        queued is not missing.

        Raises `LakeError` when earlier passes cannot be read at the start.
        """
        passes, now = self._list_passes(), self._clock.now()
        due = choose_first_due(passes, self._config, now, is_watched=self._is_watched)
        while due is not None and not self._wait_until(due, stop):
            until = self._wait_for_queue(captured_until, stop)
            if until is None:
                return
            due = self._run_due(stop, until)

    def _wait_for_queue(self, captured_until: CapturedUntil, stop: threading.Event) -> datetime | None:
        """Return the time up to which the queue is captured, once recent enough; None when `stop` came
        first."""
        allowed = timedelta(seconds=max(self._config.settle_seconds, CAUGHT_UP_SECONDS))
        warn_at = self._clock.monotonic() + WARN_SECONDS
        while True:
            until = captured_until()
            if until is not None and is_caught_up(until, self._clock.now(), allowed):
                return until
            if self._clock.monotonic() >= warn_at:
                warn_at = inf
                log.warning(
                    "reconcile is waiting for capture to catch up with the queue",
                    captured_until=None if until is None else until.isoformat(),
                )
            if stop.wait(self._poll_seconds):
                return None

    def _run_due(self, stop: threading.Event, captured_until: datetime) -> datetime | None:
        """Run a pass; return when the next one is due."""
        try:
            is_first = find_last_finished(self._list_passes()) is None
            done = self._run_pass(stop, captured_until)
            if is_first and done.unsettled:
                # Notifications may have been set up after these objects were created.
                return done.started_at + timedelta(seconds=self._config.settle_seconds)
            return choose_due(self._list_passes(), self._config.backfill_interval, self._clock.now())
        except HeadwaterError as error:
            log.warning("reconcile aborted; retrying", error=error.message, hint=error.hint)
            self._on_failure(error)
            return self._clock.now() + timedelta(seconds=RETRY_SECONDS)

    def _wait_until(self, due: datetime, stop: threading.Event) -> bool:
        """True if `stop` came first."""
        while (left := (due - self._clock.now()).total_seconds()) > 0:
            if stop.wait(min(left, self._poll_seconds)):
                return True
        return stop.is_set()


def is_caught_up(captured_until: datetime, now: datetime, allowed: timedelta) -> bool:
    """True if a listing that starts now is conclusive for all but the youngest objects."""
    return captured_until >= now - allowed


def choose_first_due(
    passes: list[ReconcilePass], config: ReconcileConfig, now: datetime, *, is_watched: bool = False
) -> datetime | None:
    """Return when the first pass of a run is due; None for never. `is_watched`: each start lists the source
    anyway, so only the interval counts."""
    if is_watched:
        known = find_last_finished(passes) is not None or not config.backfill_interval
        interval = timedelta(seconds=config.backfill_interval)
        return choose_due(passes, config.backfill_interval, now) if known else now + interval
    return now if config.include_existing_files else choose_due(passes, config.backfill_interval, now)


def choose_due(passes: list[ReconcilePass], interval_seconds: float, now: datetime) -> datetime | None:
    """Return when a bucket with these passes is to be listed again; None for an interval of 0."""
    if not interval_seconds:
        return None
    interval = timedelta(seconds=interval_seconds)
    # An inventory is hours old when it arrives: it replaces no listing.
    last = find_last_finished(p for p in passes if p.listing == LISTING) or find_first(passes)
    return last.started_at + interval if last else now
