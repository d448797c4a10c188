"""`Committer`: makes one batch durable: its events and its quarantine items."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from contextvars import copy_context
from typing import Protocol

import structlog
from tenacity import (
    RetryCallState,
    Retrying,
    retry_if_exception,
    stop_after_delay,
    stop_any,
    stop_when_event_set,
    wait_random_exponential,
)
from tenacity.nap import sleep_using_event

from headwater.capture.captured_event import CapturedEvent
from headwater.capture.consumer.batch import MessageBatch
from headwater.capture.consumer.options import ConsumerOptions
from headwater.capture.quarantine_item import QuarantineItem
from headwater.errors import HeadwaterError, LakeError, LakeNotWritableError, TableNotFoundError
from headwater.observability.crash_points import crash_point
from headwater.observability.part_board import Part, build_part, describe_error
from headwater.observability.tracing.traces import span

log = structlog.stdlib.get_logger(__name__)


class Appended(Protocol):
    """The result of a commit to an events table."""

    @property
    def duplicates(self) -> int:
        """Return the number of events that were already in the table."""
        ...


AppendEvents = Callable[[Sequence[CapturedEvent]], Appended | None]
AppendQuarantine = Callable[[Sequence[QuarantineItem]], None]


class Committer:
    """Commits the events of a batch, and its quarantine items in a thread of `executor`.

    A commit mostly waits for files to be listed and renamed, and a batch may need two. A later call may
    commit either part again.
    """

    def __init__(
        self,
        append_events: AppendEvents,
        append_quarantine: AppendQuarantine,
        options: ConsumerOptions,
        executor: Executor,
        part: Part | None = None,
    ) -> None:
        self._append_events = append_events
        self._append_quarantine = append_quarantine
        self._options = options
        self._executor = executor
        self._part = part or build_part("committer")

    def commit(self, batch: MessageBatch, stop: threading.Event) -> int:
        """Commit the whole batch durably; return the number of events already in the table.

        Raises `HeadwaterError` if a commit cannot succeed, has failed for `commit_patience` seconds, or
        fails after `stop` is set.
        """
        self._part.note("working")
        try:
            duplicates = self._commit_all(batch, stop)
        except Exception as error:
            self._part.fail(describe_error(error))
            raise
        self._part.note("waiting")
        return duplicates

    def _commit_all(self, batch: MessageBatch, stop: threading.Event) -> int:
        events, items = list(batch.events.values()), list(batch.quarantine.values())
        appended: Appended | None = None
        quarantined: Future[None] | None = None
        if items:
            # In a copy of the context, which holds the trace of the batch.
            quarantined = self._executor.submit(copy_context().run, self._commit_quarantine, items, stop)
        try:
            if events:
                crash_point("before_events_commit")
                with span("commit events", events=len(events)):
                    appended = self._retry(stop, lambda: self._append_events(events))
        finally:
            # Both commits end before either is retried; the error of the events takes precedence.
            failure = quarantined.exception() if quarantined else None
        if failure:
            raise failure
        crash_point("after_events_commit")
        return appended.duplicates if appended else 0

    def _commit_quarantine(self, items: Sequence[QuarantineItem], stop: threading.Event) -> None:
        crash_point("before_quarantine_commit")
        with span("commit quarantine", items=len(items)):
            self._retry(stop, lambda: self._append_quarantine(items))

    def _retry(self, stop: threading.Event, commit: Callable[[], Appended | None]) -> Appended | None:
        """Commit with retries on transient errors; the heartbeat keeps the messages hidden."""
        attempts = Retrying(
            retry=retry_if_exception(_may_pass),
            # A stopped run tries once: the queue redelivers uncommitted messages.
            stop=stop_any(stop_after_delay(self._options.commit_patience), stop_when_event_set(stop)),
            wait=wait_random_exponential(multiplier=self._options.commit_pause, max=10),
            sleep=sleep_using_event(stop),
            before_sleep=self._note_attempt,
            reraise=True,
        )
        return attempts(commit)

    def _note_attempt(self, state: RetryCallState) -> None:
        error = str(state.outcome and state.outcome.exception())
        log.warning("commit failed; retrying", attempt=state.attempt_number, error=error)
        self._part.retry(error)


def _may_pass(error: BaseException) -> bool:
    if isinstance(error, LakeNotWritableError | TableNotFoundError):
        return False
    return isinstance(error, LakeError) or (isinstance(error, HeadwaterError) and error.retryable)
