"""Queue to events table, as `headwater.capture.consumer` does it, one thread's step at a time."""

from collections.abc import Mapping
from dataclasses import replace
from urllib.parse import quote_plus, unquote_plus

from headwater.capture.consumer.batch import Batch, BatchLimits, Pace
from headwater.capture.consumer.in_flight import InFlight
from headwater.capture.consumer.reading import read_message
from headwater.capture.notifications import ParsedMessage, parse_message
from headwater.capture.object_event import ObjectEvent
from headwater.capture.quarantine_item import QuarantineItem
from headwater.capture.queues.protocol import Message
from headwater.errors import LakeError
from simulator.bugs import Bugs
from simulator.outside.clock import SimulatedClock
from simulator.outside.crash import Crashes
from simulator.outside.hudi import HudiTable, Write
from simulator.outside.queue import SimulatedQueue
from simulator.product.events_table import SimulatedEventsTable

_DELETE_ROUNDS = 3


class SimulatedCapture:
    """The memory of one process's capture: the open batch, what is in flight, what is to be deleted."""

    def __init__(
        self,
        queue: SimulatedQueue,
        events: SimulatedEventsTable,
        quarantine: HudiTable[QuarantineItem],
        limits: BatchLimits,
        clock: SimulatedClock,
        crashes: Crashes,
        bugs: Bugs,
    ) -> None:
        self._queue = queue
        self._events = events
        self._quarantine = quarantine
        self._limits = limits
        self._clock = clock
        self._crashes = crashes
        self._bugs = bugs
        self._in_flight = InFlight(queue.limits.visibility)
        self._batch = Batch()
        self._closed: Batch | None = None
        self._pace = Pace()
        self._to_delete: list[str] = []
        self._first_handles: dict[str, str] = {}

    @property
    def is_idle(self) -> bool:
        return not (self._batch.message_ids or self._closed or self._to_delete)

    def receive(self, wanted: int, skip: int = 0) -> int:
        """One receive call and what becomes of its messages; returns how many came."""
        if self._batch.is_full(self._limits):
            return 0
        messages = self._queue.receive(wanted, skip)
        if messages:
            self._crashes.at("received")
        for message in messages:
            now = self._clock.monotonic()
            delivery = self._in_flight.receive(message.message_id, message.receipt_handle, now)
            self._first_handles.setdefault(message.message_id, message.receipt_handle)
            if delivery == "new":
                self._take(message)
            elif delivery == "done":
                self._to_delete.append(message.message_id)
        if messages:
            self._crashes.at("parsed")
        return len(messages)

    def _take(self, message: Message) -> None:
        reading = read_message(message, self._parse)
        if "rejects_forgotten" in self._bugs:
            reading = replace(reading, quarantine=())
        self._batch.add(reading, self._clock.monotonic())
        if "ack_on_parse" in self._bugs:
            self._queue.ack({message.message_id: message.receipt_handle})

    def _parse(self, body: str, attributes: Mapping[str, str]) -> ParsedMessage:
        parsed = parse_message(body, attributes)
        return replace(parsed, events=tuple(spoil_event(event, self._bugs) for event in parsed.events))

    def commit(self, *, force: bool = False) -> bool:
        """Commit the batch if it is due, or the one whose commit failed; whether something was done."""
        if self._closed is None:
            due = self._batch.seconds_until_close(self._limits, self._pace, self._clock.monotonic())
            if not self._batch.message_ids or (due > 0 and not force):
                return False
            self._closed, self._batch = self._batch, Batch()
            self._pace = replace(self._pace, commit_started=self._clock.monotonic())
        try:
            self._write(self._closed)
        except LakeError:
            return False  # tried again at the next step; the heartbeat holds the messages
        self._end(self._closed)
        self._closed = None
        return True

    def _write(self, batch: Batch) -> None:
        if "poison_fails_batch" in self._bugs and batch.quarantine:
            raise LakeError("a message could not be parsed")
        if "delete_before_commit" in self._bugs:
            self._queue.ack(self._in_flight.handles(batch.message_ids))
        if "rejects_after_delete" not in self._bugs:
            self._write_quarantine(batch)
        if batch.events:
            self._crashes.at("events to be written")
            self._events.append(list(batch.events.values()))
        self._crashes.at("events written")

    def _write_quarantine(self, batch: Batch) -> None:
        if batch.quarantine:
            self._crashes.at("quarantine to be written")
            self._quarantine.write(Write(list(batch.quarantine.items())))

    def _end(self, batch: Batch) -> None:
        now = self._clock.monotonic()
        seconds = now - self._pace.commit_started
        self._pace = replace(self._pace, commit_ended=now, commit_seconds=seconds)
        self._in_flight.commit(batch.message_ids)
        self._to_delete += batch.message_ids
        if "rejects_after_delete" in self._bugs:
            self.delete(len(self._to_delete))
            self._write_quarantine(batch)

    def delete(
        self, count: int, *, answer_lost: bool = False, refused: bool = False, overtaken: bool = False
    ) -> int:
        """Delete some of the committed messages; returns how many were tried.

        `refused`: the queue does nothing and says so; `answer_lost`: it does it, and nobody hears of it.
        Either way the message is let go, and recognised when it comes again. `overtaken`: while the call
        is on its way the messages are delivered again, so that the handles it carries are stale.
        """
        left, self._to_delete = self._to_delete[:count], self._to_delete[count:]
        tried = len(left)
        for _ in range(_DELETE_ROUNDS):
            used = self._in_flight.handles(left)
            if not used:
                break
            chosen = {name: self._first_handles[name] for name in used}
            if overtaken:
                self._queue.expire(used)
                self.receive(10)
                overtaken = False
            handles = chosen if "first_handle_used" in self._bugs else used
            if not refused:
                for message_id, handle in handles.items():
                    self._queue.ack({message_id: handle})
                    self._crashes.at("message deleted, answer lost" if answer_lost else "message deleted")
            left = self._in_flight.finish(used)
        return tried

    def beat(self) -> None:
        """One heartbeat: extend what has been hidden for a third of the time-out."""
        now = self._clock.monotonic()
        due = self._in_flight.find_due(now)
        if due:
            failed = self._queue.extend(due, self._queue.limits.visibility)
            self._in_flight.extend(due, failed, now)

    def stop(self) -> None:
        """A clean end: what is not committed goes back to the queue."""
        self._queue.release(self._in_flight.take_uncommitted())


def spoil_event(event: ObjectEvent, bugs: Bugs) -> ObjectEvent:
    """The event as a wrong parser would give it; without bugs, itself."""
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
