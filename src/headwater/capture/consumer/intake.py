"""`Intake`: shared state of receivers, committer, heartbeat and deleter, guarded by one lock."""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from headwater.capture.consumer.backlog import Backlog
from headwater.capture.consumer.batch import BatchLimits, Demand, MessageBatch, Pace, choose_active_receivers
from headwater.capture.consumer.emptiness import Emptiness
from headwater.capture.consumer.in_flight import InFlight
from headwater.capture.consumer.options import ConsumerOptions
from headwater.capture.consumer.reading import MessageReading
from headwater.capture.consumer.stats import StatsCounter
from headwater.observability.clock import Clock
from headwater.sources.queue import Message

# Maximum delay until a stop signal takes effect; an idle process wakes up this often.
_STOP_CHECK_SECONDS = 0.25


class Intake:
    """Holds the open batch and everything in flight.

    While one batch is committed, the next one fills. If that is full too, or too much is in flight,
    receivers wait. `failure` is the error that ended a receiver; `emptiness` is set in a run that ends
    when the queue is empty.
    """

    def __init__(
        self,
        options: ConsumerOptions,
        read: Callable[[Message], MessageReading],
        stats: StatsCounter,
        clock: Clock,
    ) -> None:
        self._options = options
        self._read = read
        self._stats = stats
        self._clock = clock
        self._limits = BatchLimits(
            options.batch_seconds,
            options.max_messages_per_batch,
            options.batch_bytes,
            options.min_sync_interval,
        )
        self._lock = threading.Lock()
        self._room = threading.Condition(self._lock)  # receivers wait here
        self._work = threading.Condition(self._lock)  # the committer
        self._beat = threading.Condition(self._lock)  # the heartbeat
        self._in_flight = InFlight(options.visibility_timeout)
        self._backlog = Backlog()
        self._batch = MessageBatch()
        self._pace = Pace()
        self._active = 1
        self._extensions_fail = False
        self._expected = 0  # messages that running receive calls may return
        self._reading = 0  # calls of `add` in progress
        self._closed = False
        self._finished = False
        self.emptiness: Emptiness | None = None
        self.failure: Exception | None = None

    def wait_for_turn(self, index: int) -> int:
        """Wait until receiver `index` is needed and has room; return the request size, 0 at the end."""
        asked = self._options.max_messages_per_request
        with self._lock:
            while not self._closed:
                if index < self._active and self._has_room(asked):
                    self._expected += asked
                    return asked
                self._clock.wait(self._room, None)
        return 0

    def _has_room(self, asked: int) -> bool:
        in_flight = len(self._in_flight) + self._expected
        if not in_flight:
            self._extensions_fail = False
        # A limit below one request must not block all receiving. Nothing is received while messages cannot be
        # kept hidden: more load would only delay the extensions, and more of them would come again.
        fits = in_flight + asked <= self._options.max_in_flight and not self._extensions_fail
        return (fits or not in_flight) and not self._batch.is_full(self._limits)

    def end_call(self, asked: int, messages: Sequence[Message] | None, started: float) -> None:
        """Record the end of a receive call that began at `started`; None: it failed."""
        with self._lock:
            self._expected -= asked
            received = len(messages or ())
            self._active = choose_active_receivers(self._active, self._options.receivers, received, asked)
            if messages is not None:
                ended, seconds = self._clock.now(), self._clock.monotonic() - started
                self._backlog.note_poll(messages, ended - timedelta(seconds=seconds), ended)
            self._pace = replace(self._pace, loaded=self._active > 1, lag_seconds=self._backlog.find_lag())
            if self.emptiness and messages is not None:
                self.emptiness.report(messages, started, self._clock.monotonic())
                self._work.notify_all()
            self._room.notify_all()

    def pause(self, seconds: float) -> None:
        """Wait, but not beyond the end of the run."""
        until = self._clock.monotonic() + seconds
        with self._lock:
            while not self._closed and (left := until - self._clock.monotonic()) > 0:
                self._clock.wait(self._room, left)

    def add(self, messages: Sequence[Message]) -> tuple[bool, list[str]]:
        """Accept messages unless the run has ended; return whether it did, and messages to delete."""
        with self._lock:
            if self._closed:
                return False, []
            received_at = self._clock.monotonic()
            fresh, done = self._note(messages, received_at)
            self._reading += 1
        readings: list[MessageReading] = []
        try:
            readings.extend(self._read(message) for message in fresh)
        finally:
            with self._lock:
                self._reading -= 1
                self._fill(readings, received_at)
        return True, done

    def _note(self, messages: Sequence[Message], now: float) -> tuple[list[Message], list[str]]:
        if not len(self._in_flight):
            self._beat.notify_all()
        fresh, done = [], []
        for message in messages:
            delivery = self._in_flight.receive(message.message_id, message.receipt_handle, now)
            if delivery == "new":
                fresh.append(message)
                self._backlog.open(message)
            elif delivery == "done":
                done.append(message.message_id)
        self._stats.add("messages", len(messages))
        self._stats.add("redelivered", len(messages) - len(fresh))
        return fresh, done

    def _fill(self, readings: Sequence[MessageReading], received_at: float) -> None:
        was_empty = not self._batch.message_ids
        now = self._clock.monotonic()
        if readings:
            self._batch.note_parsing(received_at, now)
        for reading in readings:
            self._batch.add(reading, now)
        if was_empty or self._batch.is_full(self._limits) or self._closed:
            self._work.notify_all()

    def fail(self, error: Exception) -> None:
        """Record a receiver's fatal error, which ends the run."""
        with self._lock:
            self.failure = self.failure or error
            self._work.notify_all()

    def set_demand(self, demand: Demand) -> None:
        """Set how many readers wait for the next commit."""
        with self._lock:
            self._pace = replace(self._pace, demand=demand)
            self._work.notify_all()

    def next_batch(self) -> MessageBatch | None:
        """Return the batch to commit now; None after a short wait without one."""
        with self._lock:
            left = self._seconds_until_close()
            if left > 0 and not self.failure:
                self._clock.wait(self._work, min(left, _STOP_CHECK_SECONDS))
                left = self._seconds_until_close()
            return self._take_batch() if left <= 0 else None

    def _seconds_until_close(self) -> float:
        if self._batch.message_ids and self.emptiness and self.emptiness.is_reached:
            return 0
        return self._batch.seconds_until_close(self._limits, self._pace, self._clock.monotonic())

    def _take_batch(self) -> MessageBatch:
        batch, self._batch = self._batch, MessageBatch()
        self._pace = replace(self._pace, commit_started=self._clock.monotonic())
        self._room.notify_all()
        return batch

    def end_commit(self, batch: MessageBatch) -> float:
        """Mark the batch as committed; return the duration in seconds."""
        with self._lock:
            now = self._clock.monotonic()
            seconds = now - self._pace.commit_started
            # Readers that waited are busy now and report their demand a moment later.
            self._pace = replace(self._pace, commit_ended=now, commit_seconds=seconds, demand="some")
            self._in_flight.commit(batch.message_ids)
            self._backlog.close(batch.message_ids)
            return seconds

    def close(self) -> MessageBatch:
        """End receiving; return the uncommitted messages after the last concurrent `add` is done."""
        with self._lock:
            self._closed = True
            self._room.notify_all()
            while self._reading:
                self._clock.wait(self._work, None)
            return self._take_batch()

    def finish(self) -> dict[str, str]:
        """End the heartbeat and drop uncommitted messages; return their handles for release."""
        with self._lock:
            self._closed = self._finished = True
            self._room.notify_all()
            self._beat.notify_all()
            return self._in_flight.take_uncommitted()

    def handles(self, message_ids: Iterable[str]) -> dict[str, str]:
        """Return the newest handles of those messages that are still in flight."""
        with self._lock:
            return self._in_flight.handles(message_ids)

    def end_deletion(self, used: Mapping[str, str]) -> list[str]:
        """Record a deletion with these handles; return messages redelivered in the meantime."""
        with self._lock:
            again = self._in_flight.finish(used)
            self._room.notify_all()
            return again

    def wait_for_heartbeat(self) -> dict[str, str] | None:
        """Wait until messages need a heartbeat; return their handles, or None at the end."""
        with self._lock:
            while not self._finished:
                now = self._clock.monotonic()
                due = self._in_flight.find_due(now)
                if due:
                    return due
                next_due = self._in_flight.next_due_at()
                self._clock.wait(self._beat, None if next_due is None else next_due - now)
        return None

    def end_heartbeat(self, used: Mapping[str, str], failed: Iterable[str], at: float) -> None:
        """Record an extension with these handles by a call that began at `at`."""
        refused = frozenset(failed)
        with self._lock:
            self._in_flight.extend(used, refused, at)
            self._extensions_fail = bool(refused)
            self._room.notify_all()

    def pause_heartbeat(self, seconds: float) -> None:
        """Wait after a failed call before the next attempt, but not beyond the end of the run."""
        until = self._clock.monotonic() + seconds
        with self._lock:
            self._extensions_fail = True
            while not self._finished and (left := until - self._clock.monotonic()) > 0:
                self._clock.wait(self._beat, left)

    def in_flight_count(self) -> int:
        """Return the number of messages received and not deleted."""
        with self._lock:
            return len(self._in_flight)

    def find_captured_until(self) -> datetime | None:
        """See `Backlog`."""
        with self._lock:
            return self._backlog.find_captured_until()

    def is_drained(self) -> bool:
        """True if enough polls were empty and no message is in process."""
        with self._lock:
            return (
                self.emptiness is not None
                and self.emptiness.is_reached
                and not self._reading
                and not self._batch.message_ids
                and not len(self._in_flight)
            )

    def keep_polling(self) -> None:
        """Restart the count of empty polls because the queue reports more messages."""
        with self._lock:
            if self.emptiness:
                self.emptiness.reset()
