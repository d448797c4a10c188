"""Queue to events table: the real parts of `headwater.capture.consumer`, one thread's step at a time."""

import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future
from dataclasses import replace
from typing import Any
from urllib.parse import quote_plus, unquote_plus

from headwater.capture.captured_event import CapturedEvent
from headwater.capture.consumer.batch import MessageBatch
from headwater.capture.consumer.committer import Committer
from headwater.capture.consumer.deleter import delete_messages
from headwater.capture.consumer.emptiness import Emptiness
from headwater.capture.consumer.heartbeat import Heartbeat
from headwater.capture.consumer.intake import Intake
from headwater.capture.consumer.options import ConsumerOptions
from headwater.capture.consumer.reading import MessageReading, read_message
from headwater.capture.consumer.receivers import Receivers
from headwater.capture.consumer.stats import StatsCounter
from headwater.capture.quarantine_item import QuarantineItem
from headwater.errors import LakeError
from headwater.sources.message_parser import parse_message
from headwater.sources.notifications.outcome import ParsedMessage
from headwater.sources.object_event import ObjectEvent
from headwater.sources.queue import Message, QueueDepth
from simulator.bugs import Bugs
from simulator.outside.clock import HasToWaitError, SimulatedClock
from simulator.outside.crash import Crashes, ProcessDied
from simulator.outside.hudi import HudiTable, Write
from simulator.outside.queue import SimulatedQueue
from simulator.product.events_table import SimulatedEventsTable

_ASKED = 10
_STOPPED = threading.Event()
_STOPPED.set()


class QueuePort:
    """The queue as one process sees it; the current step selects the fault.

    `refused`: the queue deletes nothing and reports it; `answer_lost`: it deletes, but the response is lost.
    `overtakes`: happens while a delete call is in progress.
    """

    def __init__(self, queue: SimulatedQueue, crashes: Crashes, bugs: Bugs) -> None:
        self._queue = queue
        self._crashes = crashes
        self._bugs = bugs
        self._first_handles: dict[str, str] = {}
        self.most, self.skip = _ASKED, 0
        self.refused = self.answer_lost = False
        self.overtakes: Callable[[Mapping[str, str]], None] | None = None

    def receive(self, max_messages: int, wait_seconds: float) -> Sequence[Message]:
        del wait_seconds
        messages = self._queue.receive(min(max_messages, self.most), self.skip)
        for message in messages:
            self._first_handles.setdefault(message.message_id, message.receipt_handle)
        if messages:
            self._crashes.at("received")
        return messages

    def ack(self, handles: Mapping[str, str]) -> Mapping[str, str]:
        overtakes, self.overtakes = self.overtakes, None
        if overtakes is not None:
            overtakes(handles)
        if self.refused:
            return dict.fromkeys(handles, "refused")
        if "first_handle_used" in self._bugs:
            handles = {name: self._first_handles[name] for name in handles}
        for message_id, handle in handles.items():
            self._queue.ack({message_id: handle})
            self._crashes.at("message deleted, answer lost" if self.answer_lost else "message deleted")
        return dict.fromkeys(handles, "no answer") if self.answer_lost else {}

    def extend(self, handles: Mapping[str, str], seconds: int) -> Mapping[str, str]:
        return dict.fromkeys(self._queue.extend(handles, seconds), "too late")

    def release(self, handles: Mapping[str, str]) -> None:
        self._queue.release(handles)

    def depth(self) -> QueueDepth:
        return QueueDepth(len(self._queue.letters), 0)

    def close(self) -> None:
        """Does nothing: the queue outlives the process."""


class SimulatedCapture:
    """State of one process's capture: the open batch, messages in flight, messages to delete."""

    def __init__(
        self,
        queue: SimulatedQueue,
        events: SimulatedEventsTable,
        quarantine: HudiTable[QuarantineItem],
        max_messages: int,
        clock: SimulatedClock,
        crashes: Crashes,
        bugs: Bugs,
    ) -> None:
        self._outside = queue
        self._port = QueuePort(queue, crashes, bugs)
        self._events = events
        self._quarantine = quarantine
        self._clock = clock
        self._crashes = crashes
        self._bugs = bugs
        visibility = int(queue.limits.visibility)
        options = ConsumerOptions(
            visibility_timeout=visibility,
            max_messages_per_request=_ASKED,
            max_messages_per_batch=max_messages,
            batch_seconds=1.0,
            batch_bytes=1 << 20,
        )
        self._stats = StatsCounter(None)
        self._intake = Intake(options, self._read, self._stats, clock)
        self._receivers = Receivers(
            self._port, self._intake, clock, wait_seconds=0, patience=0, delete=self._note_done
        )
        self._heartbeat = Heartbeat(
            self._port, self._intake, self._stats, clock, visibility_timeout=visibility
        )
        self._executor = LateExecutor(crashes)
        self._committer = Committer(self._append_events, self._append_quarantine, options, self._executor)
        self._failed: MessageBatch | None = None
        self._to_delete: list[str] = []

    @property
    def is_idle(self) -> bool:
        return not (self._intake.in_flight_count() or self._failed or self._to_delete)

    def _note_done(self, message_ids: Sequence[str]) -> None:
        self._to_delete += message_ids

    def receive(self, wanted: int, skip: int = 0) -> int:
        """Makes one receive call and handles its messages; returns their number."""
        self._port.most, self._port.skip = wanted, skip
        try:
            asked = self._intake.wait_for_turn(0)
        except HasToWaitError:
            return 0
        messages = self._receivers.poll(asked)
        if messages:
            self._crashes.at("parsed")
        return len(messages or ())

    def _read(self, message: Message) -> MessageReading:
        reading = read_message(message, self._parse)
        if "rejects_forgotten" in self._bugs:
            reading = replace(reading, quarantine=())
        if "ack_on_parse" in self._bugs:
            self._outside.ack({message.message_id: message.receipt_handle})
        return reading

    def _parse(self, body: str, attributes: Mapping[str, str]) -> ParsedMessage:
        parsed = parse_message(body, attributes)
        return replace(parsed, events=tuple(spoil_event(event, self._bugs) for event in parsed.events))

    def commit(self, *, force: bool = False, quarantine_last: bool = False) -> bool:
        """Commits the batch if it is due, or retries a failed commit; returns whether it did either."""
        batch = self._failed or self._take_batch(force=force)
        if batch is None:
            return False
        self._failed = batch
        self._executor.is_late = quarantine_last
        try:
            self._commit(batch)
        except LakeError:
            return False  # retried at the next step; the heartbeat holds the messages
        self._failed = None
        return True

    def _take_batch(self, *, force: bool) -> MessageBatch | None:
        # A forced batch is not waited for, as in a run that found the queue empty.
        self._intake.emptiness = Emptiness(self._clock.now(), 0) if force else None
        try:
            return self._intake.next_batch()
        except HasToWaitError:
            return None

    def _commit(self, batch: MessageBatch) -> None:
        if "poison_fails_batch" in self._bugs and batch.quarantine:
            raise LakeError("a message could not be parsed")
        if "delete_before_commit" in self._bugs:
            self._outside.ack(self._intake.handles(batch.message_ids))
        is_late = "rejects_after_delete" in self._bugs
        self._committer.commit(replace(batch, quarantine={}) if is_late else batch, _STOPPED)
        self._intake.end_commit(batch)
        self._to_delete += batch.message_ids
        if is_late:
            self.delete(len(self._to_delete))
            self._append_quarantine(list(batch.quarantine.values()))

    def _append_events(self, events: Sequence[CapturedEvent]) -> None:
        self._crashes.at("events to be written")
        self._events.append(events)
        self._crashes.at("events written")

    def _append_quarantine(self, items: Sequence[QuarantineItem]) -> None:
        if items:
            self._crashes.at("quarantine to be written")
            self._quarantine.write(Write([(item.quarantine_id, item) for item in items]))

    def delete(
        self, count: int, *, answer_lost: bool = False, refused: bool = False, overtaken: bool = False
    ) -> int:
        """Deletes some of the committed messages; returns the number attempted. See `QueuePort`.

        `overtaken`: the messages are delivered again during the call, so its handles are stale.
        """
        left, self._to_delete = self._to_delete[:count], self._to_delete[count:]
        port = self._port
        port.answer_lost, port.refused = answer_lost, refused
        port.overtakes = self._deliver_again if overtaken else None
        delete_messages(port, self._intake, self._stats, left)
        port.answer_lost = port.refused = False
        port.overtakes = None
        return len(left)

    def _deliver_again(self, used: Mapping[str, str]) -> None:
        self._outside.expire(used)
        self.receive(_ASKED)

    def beat(self) -> None:
        """Sends one heartbeat if it is due."""
        try:
            due = self._intake.wait_for_heartbeat()
        except HasToWaitError:
            return
        if due:
            self._heartbeat.extend(due)

    def stop(self) -> None:
        """Stops cleanly: uncommitted messages return to the queue."""
        self._port.release(self._intake.finish())


class LateExecutor(Executor):
    """Runs a call at once or, if late, when a living process needs the result."""

    def __init__(self, crashes: Crashes) -> None:
        self._crashes = crashes
        self.is_late = False

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> "Future[Any]":
        deaths = self._crashes.deaths.total()

        def call() -> Any:
            if self._crashes.deaths.total() > deaths:
                raise ProcessDied("its thread is gone with the process")
            return fn(*args, **kwargs)

        future = LateFuture(call)
        if not self.is_late:
            future.run()
        return future


class LateFuture(Future[Any]):
    """The result of a call that may not have run yet."""

    def __init__(self, call: Callable[[], Any]) -> None:
        super().__init__()
        self._call: Callable[[], Any] | None = call

    def run(self) -> None:
        call, self._call = self._call, None
        if call is not None:
            try:
                self.set_result(call())
            except BaseException as error:
                if not isinstance(error, Exception):
                    raise
                self.set_exception(error)

    def exception(self, timeout: float | None = None) -> BaseException | None:
        self.run()
        return super().exception(timeout)


def spoil_event(event: ObjectEvent, bugs: Bugs) -> ObjectEvent:
    """Returns the event as a wrong parser would; without bugs, the event itself."""
    if not bugs:
        return event
    if "key_decoded_twice" in bugs or ("event_bus_decoded" in bugs and '"detail"' in event.raw):
        event = replace(event, key=unquote_plus(event.key))
    if "key_not_decoded" in bugs and '"detail"' not in event.raw:
        event = replace(event, key=quote_plus(event.key, safe="/"))
    if "sequencer_not_padded" in bugs and event.sequencer:
        event = replace(event, order_key=event.sequencer.lower().rjust(64, "0"))
    if "sequencer_case_kept" in bugs and event.sequencer:
        event = replace(event, order_key=event.sequencer.ljust(64, "0"))
    return event
