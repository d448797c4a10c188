"""`Consumer`: the capture loop. Receive -> parse -> commit events and quarantine -> delete."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime
from functools import partial

import structlog

from headwater.capture.consumer.batch import Demand, MessageBatch
from headwater.capture.consumer.committer import AppendEvents, AppendQuarantine, Committer
from headwater.capture.consumer.deleter import Deleter
from headwater.capture.consumer.emptiness import Emptiness
from headwater.capture.consumer.heartbeat import Heartbeat
from headwater.capture.consumer.in_flight import choose_extension
from headwater.capture.consumer.intake import Intake
from headwater.capture.consumer.options import ConsumerOptions
from headwater.capture.consumer.reading import read_message
from headwater.capture.consumer.receivers import Receivers
from headwater.capture.consumer.stats import CaptureStats, StatsCounter
from headwater.errors import (
    SourceError,
)
from headwater.observability.clock import Clock, SystemClock
from headwater.observability.metrics import Metrics
from headwater.observability.part_board import PartBoard
from headwater.observability.tracing.traces import Traces, annotate, record_span
from headwater.sources.message_parser import parse_message
from headwater.sources.queue import Queue

log = structlog.stdlib.get_logger(__name__)

_PARTS = ("receivers", "committer", "deleter", "heartbeat")
# Margin above the longest visibility timeout for the messages of a dead predecessor.
_PREDECESSOR_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class CommitReport:
    """One committed batch; `seconds` is the wall time of its commits."""

    messages: int
    events: int
    quarantined: int
    seconds: float


class Consumer:
    """Captures the messages of a queue into the events table: at-least-once delivery, each event stored once.

    `append_events` and `append_quarantine` are idempotent and durable when they return. A batch's two calls
    run in parallel, each always in the same thread. Messages are deleted only after both.
    """

    def __init__(
        self,
        queue: Queue,
        append_events: AppendEvents,
        append_quarantine: AppendQuarantine,
        options: ConsumerOptions,
        *,
        on_commit: Callable[[CommitReport], None] | None = None,
        metrics: Metrics | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._queue = queue
        self._options = options
        self._on_commit = on_commit
        self._stats = StatsCounter(metrics)
        self._clock = clock or SystemClock()
        self._intake: Intake | None = None
        self._predecessor_until = 0.0
        quarantine_executor = ThreadPoolExecutor(1, thread_name_prefix="quarantine")
        self._build_committer = partial(
            Committer, append_events, append_quarantine, options, quarantine_executor
        )
        self._demand: Demand = "some"
        self._traces = Traces()
        self.report_to(PartBoard())

    def report_to(self, board: PartBoard, suffix: str = "") -> None:
        """Report the states of the threads to the board, by names with the suffix. Call it before `run`."""
        self._parts = {name: board.add(f"capture-{name}{suffix}") for name in _PARTS}
        self._committer = self._build_committer(part=self._parts["committer"])

    def trace_to(self, traces: Traces) -> None:
        """Make a trace of each batch. Call it before `run`."""
        self._traces = traces

    @property
    def stats(self) -> CaptureStats:
        """Return the totals over all runs."""
        return self._stats.read()

    def set_demand(self, demand: Demand) -> None:
        """Set how many readers of the events wait for them, which controls how soon a batch closes."""
        self._demand = demand
        if self._intake:
            self._intake.set_demand(demand)

    @property
    def in_flight_ratio(self) -> float:
        """Return messages received and not yet deleted, as a share of the limit at which receiving stops."""
        intake = self._intake
        return intake.in_flight_count() / self._options.max_in_flight if intake else 0.0

    def find_captured_until(self) -> datetime | None:
        """Return the time before which every sent message is committed; None if not known yet."""
        intake, now = self._intake, self._clock.now()
        if intake is None:
            return None
        try:
            depth = self._queue.depth()
        except SourceError:
            return None
        if depth is not None and not (depth.visible or depth.in_flight or intake.in_flight_count()):
            return now
        if self._clock.monotonic() < self._predecessor_until:
            # Messages of a dead predecessor are hidden from every poll and reappear later.
            return None
        return intake.find_captured_until()

    def run(self, stop: threading.Event) -> CaptureStats:
        """Capture until `stop` is set, then drains: commits the open batch, deletes, releases the rest.

        Raises `HeadwaterError` if it cannot continue: the queue does not exist, credentials are invalid, or
        the commit failed for `commit_patience` seconds. Uncommitted messages are then released.
        """
        self._loop(stop, self._options.long_poll_wait, None)
        return self.stats

    def run_once(
        self,
        stop: threading.Event | None = None,
        *,
        empty_polls: int = 2,
        empty_poll_seconds: float | None = None,
        is_fed: Callable[[], bool] = lambda: True,
    ) -> CaptureStats:
        """Capture every message now in the queue, then returns. Raises as `run` does.

        A poll lasts `empty_poll_seconds`, by default those of the options. The queue counts as empty after
        `empty_polls` consecutive long polls without an older message; its approximate depth can only trigger
        further polls. If the queue reports its depth, waits for the messages of a dead predecessor, slightly
        longer than the visibility timeout at most. Keeps polling while `is_fed` returns False: another thread
        of this process is still sending.
        """

        def is_finished(intake: Intake) -> bool:
            if not is_fed():
                intake.keep_polling()
                return False
            return intake.is_drained() and (
                self._clock.monotonic() > self._predecessor_until or self._is_left(intake)
            )

        emptiness = Emptiness(self._clock.now(), empty_polls)
        seconds = self._options.empty_poll_seconds if empty_poll_seconds is None else empty_poll_seconds
        self._loop(stop or threading.Event(), seconds, emptiness, is_finished)
        return self.stats

    def _is_left(self, intake: Intake) -> bool:
        """True if the queue's depth confirms that it is empty, or is not reported; else polling continues."""
        try:
            depth = self._queue.depth()
        except SourceError as error:
            log.warning("cannot read queue depth", error=error.message)
            return not error.retryable
        if depth is not None and (depth.visible or depth.in_flight > intake.in_flight_count()):
            intake.keep_polling()
            return False
        return True

    def _loop(
        self,
        stop: threading.Event,
        wait_seconds: float,
        emptiness: Emptiness | None,
        is_finished: Callable[[Intake], bool] = lambda _: False,
    ) -> None:
        options = self._options
        intake = Intake(
            options, lambda message: read_message(message, parse_message), self._stats, self._clock
        )
        intake.emptiness = emptiness
        intake.set_demand(self._demand)
        self._intake = intake
        hidden_seconds = choose_extension(options.visibility_timeout)
        self._predecessor_until = self._clock.monotonic() + hidden_seconds + _PREDECESSOR_SECONDS
        deleter = Deleter(self._queue, intake, self._stats, options.delete_threads, self._parts["deleter"])
        heartbeat = self._build_heartbeat(intake)
        receivers = Receivers(
            self._queue,
            intake,
            self._clock,
            wait_seconds=wait_seconds,
            patience=options.receive_patience,
            delete=deleter.submit,
            part=self._parts["receivers"],
        )
        heartbeat.start()
        receivers.start(options.receivers)
        try:
            while not (stop.is_set() or intake.failure or is_finished(intake)):
                batch = intake.next_batch()
                if batch:
                    self._commit(batch, intake, deleter, stop)
            rest = intake.close()
            if rest.message_ids:
                self._commit(rest, intake, deleter, stop)
        finally:
            self._end(intake, receivers, deleter, heartbeat)
        if intake.failure:
            raise intake.failure

    def _build_heartbeat(self, intake: Intake) -> Heartbeat:
        return Heartbeat(
            self._queue,
            intake,
            self._stats,
            self._clock,
            visibility_timeout=self._options.visibility_timeout,
            part=self._parts["heartbeat"],
        )

    def _end(self, intake: Intake, receivers: Receivers, deleter: Deleter, heartbeat: Heartbeat) -> None:
        intake.close()
        deleter.close()
        uncommitted = intake.finish()
        heartbeat.join()
        if uncommitted:
            log.info("uncommitted messages released", messages=len(uncommitted))
            self._queue.release(uncommitted)
        receivers.join(self._options.stop_patience)

    def _commit(self, batch: MessageBatch, intake: Intake, deleter: Deleter, stop: threading.Event) -> None:
        with self._traces.begin("capture", ago=self._clock.monotonic() - batch.received_at):
            self._trace_intake(batch)
            duplicates = batch.duplicates + self._committer.commit(batch, stop)
            annotate(duplicates=duplicates)
            seconds = intake.end_commit(batch)
            self._note(batch, duplicates, seconds)
            deleter.submit(batch.message_ids)
            if self._on_commit and (batch.events or batch.quarantine):
                counts = len(batch.message_ids), len(batch.events), len(batch.quarantine)
                self._on_commit(CommitReport(*counts, seconds))

    def _trace_intake(self, batch: MessageBatch) -> None:
        """Add to the trace how the batch was filled. Receivers do both steps in turn, request by request."""
        now = self._clock.monotonic()
        began, messages = now - batch.received_at, len(batch.message_ids)
        annotate(messages=messages, events=len(batch.events), quarantined=len(batch.quarantine))
        record_span("receive", ago=began, messages=messages)
        record_span(
            "parse",
            ago=began,
            ended_ago=now - batch.touched_at,
            parse_seconds=batch.parse_seconds,
            characters=batch.size,
        )

    def _note(self, batch: MessageBatch, duplicates: int, seconds: float) -> None:
        stats = self._stats
        stats.add("events", len(batch.events) + batch.duplicates - duplicates)
        stats.add("duplicates", duplicates)
        stats.add("quarantined", len(batch.quarantine))
        stats.add("commits", 1 if batch.events or batch.quarantine else 0)
        stats.add_skipped(batch.skipped)
        metrics = stats.metrics
        if metrics:
            metrics.count("messages_failed", len({item.message_id for item in batch.quarantine.values()}))
            metrics.observe("commit_seconds", seconds, table="events")
            for captured in batch.events.values():
                delay = (captured.received_at - captured.event.event_time).total_seconds()
                metrics.observe("message_delay_seconds", max(0.0, delay))
