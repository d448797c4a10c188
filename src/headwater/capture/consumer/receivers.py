"""Receiver threads: one when idle, up to `receivers` under load."""

import threading
from collections.abc import Callable, Sequence

import structlog

from headwater.capture.consumer.intake import Intake
from headwater.errors import SourceError
from headwater.observability.clock import Clock
from headwater.observability.crash_points import crash_point
from headwater.observability.part_board import Part, build_part, describe_error
from headwater.sources.queue import Message, Queue

log = structlog.stdlib.get_logger(__name__)

_SHORTEST_PAUSE = 0.1
_LONGEST_PAUSE = 30.0
# A faster empty response did not wait: `long_poll_wait` is 0, or the service ignores it.
_SHORT_POLL = 0.5
_LONGEST_IDLE_PAUSE = 1.0


class Receivers:
    """Long-polls a queue from several threads until the intake closes.

    Retries transient errors: without limit after the queue's first response, for `patience` seconds before
    it. Any other error ends the run through `Intake.fail`.
    """

    def __init__(
        self,
        queue: Queue,
        intake: Intake,
        clock: Clock,
        *,
        wait_seconds: float,
        patience: float,
        delete: Callable[[Sequence[str]], None],
        part: Part | None = None,
    ) -> None:
        self._queue = queue
        self._intake = intake
        self._clock = clock
        self._wait_seconds = wait_seconds
        self._patience = patience
        self._delete = delete
        self._part = part or build_part("receivers")
        self._started = clock.monotonic()
        self._has_answered = False
        self._threads: list[threading.Thread] = []

    def start(self, count: int) -> None:
        """Start the threads; all but the first sleep until they are needed."""
        self._threads = [
            threading.Thread(target=self._run, args=(index,), name=f"receive-{index}", daemon=True)
            for index in range(count)
        ]
        for thread in self._threads:
            thread.start()

    def join(self, seconds: float) -> None:
        """Wait for the threads, `seconds` in total.

        A thread that still waits for messages is abandoned: it releases the messages it receives.
        """
        until = self._clock.monotonic() + seconds
        for thread in self._threads:
            thread.join(max(0.0, until - self._clock.monotonic()))

    def _run(self, index: int) -> None:
        pause = _SHORTEST_PAUSE
        self._part.note("running")
        try:
            while asked := self._intake.wait_for_turn(index):
                started = self._clock.monotonic()
                messages = self.poll(asked)
                if messages:
                    pause = _SHORTEST_PAUSE
                    continue
                failed = messages is None
                if failed or self._clock.monotonic() - started < _SHORT_POLL:
                    self._intake.pause(pause)
                    pause = min(2 * pause, _LONGEST_PAUSE if failed else _LONGEST_IDLE_PAUSE)
        except Exception as error:  # a thread that died silently would look like an idle queue
            self._part.fail(describe_error(error))
            self._intake.fail(error)
        else:
            self._part.note("stopped")

    def poll(self, asked: int) -> Sequence[Message] | None:
        """Receive once and pass the messages on; return None after a transient failure."""
        started = self._clock.monotonic()
        messages = self._receive(asked, started)
        self._intake.end_call(asked, messages, started)
        if messages:
            crash_point("after_receive")
            self._accept(messages)
        return messages

    def _receive(self, asked: int, started: float) -> Sequence[Message] | None:
        try:
            messages = self._queue.receive(asked, self._wait_seconds)
        except SourceError as error:
            is_hopeless = not self._has_answered and started - self._started >= self._patience
            if not error.retryable or is_hopeless:
                raise
            log.warning("queue unavailable; retrying", error=error.message)
            self._part.retry(error.message)
            return None
        self._part.note("running")
        self._has_answered = True
        return messages

    def _accept(self, messages: Sequence[Message]) -> None:
        taken, done = self._intake.add(messages)
        if not taken:
            self._queue.release({message.message_id: message.receipt_handle for message in messages})
        if done:
            self._delete(done)
