"""`MemoryQueue`: an in-process queue with the semantics of the real ones.

The folder source feeds it. Its messages are lost with the process, so the source must send everything
again at the next start.
"""

import heapq
import threading
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from headwater.errors import SourceError, SourceUnavailableError
from headwater.observability.clock import Clock, SystemClock
from headwater.sources.queue import Message, QueueDepth

if TYPE_CHECKING:
    from headwater.config.source import SourceConfig

MAX_MESSAGES_PER_RECEIVE = 10


@dataclass(slots=True)
class _Stored:
    body: str
    attributes: Mapping[str, str]
    sent_at: datetime
    visible_at: float
    receive_count: int = 0
    receipt_handle: str | None = None


class MemoryQueue:
    """At-least-once, roughly first in first out, bounded.

    A received message is hidden for `visibility_timeout` seconds. Only the newest receipt handle of a message
    is valid: an older one deletes nothing, without an error. `send` blocks while `capacity` messages are
    undeleted.
    """

    def __init__(
        self,
        *,
        visibility_timeout: float = 30,
        capacity: int = 10_000,
        clock: Clock | None = None,
    ) -> None:
        self._visibility_timeout = visibility_timeout
        self._capacity = capacity
        self._clock = clock or SystemClock()
        self._lock = threading.Lock()
        self._arrived = threading.Condition(self._lock)
        self._left = threading.Condition(self._lock)
        self._messages: dict[str, _Stored] = {}
        # (visible_at, order, message id); an entry is outdated if its time differs from the message's.
        self._schedule: list[tuple[float, int, str]] = []
        self._order = 0
        self._closed = False

    def send(
        self,
        body: str,
        attributes: Mapping[str, str] | None = None,
        *,
        message_id: str | None = None,
        timeout: float | None = None,
    ) -> str:
        """Add a message and return its id; wait while the queue is full, at most `timeout` seconds.

        A `message_id` that is already in the queue adds nothing. Raises `SourceUnavailableError` if the queue
        stayed full, and `SourceError` if it is closed.
        """
        message_id = message_id or uuid.uuid4().hex
        with self._lock:
            self._wait_for_room(timeout)
            if message_id not in self._messages:
                now = self._clock.monotonic()
                stored = _Stored(body, dict(attributes or {}), self._clock.now(), now)
                self._messages[message_id] = stored
                self._schedule_visibility(message_id, stored, now)
        return message_id

    def _wait_for_room(self, timeout: float | None) -> None:
        deadline = None if timeout is None else self._clock.monotonic() + timeout
        while len(self._messages) >= self._capacity and not self._closed:
            left = None if deadline is None else deadline - self._clock.monotonic()
            if left is not None and left <= 0:
                raise SourceUnavailableError(f"the queue is full: {self._capacity} messages are waiting")
            self._clock.wait(self._left, left)
        if self._closed:
            raise SourceError("the queue is closed")

    def receive(self, max_messages: int, wait_seconds: float) -> Sequence[Message]:
        """See `Queue.receive`. Raises `SourceError` if the queue is closed."""
        deadline = self._clock.monotonic() + wait_seconds
        wanted = min(max_messages, MAX_MESSAGES_PER_RECEIVE)
        with self._lock:
            while True:
                if self._closed:
                    raise SourceError("the queue is closed")
                found = self._take(wanted)
                now = self._clock.monotonic()
                if found or now >= deadline:
                    return found
                until = min(deadline, self._schedule[0][0]) if self._schedule else deadline
                self._clock.wait(self._arrived, until - now)

    def _take(self, wanted: int) -> list[Message]:
        now = self._clock.monotonic()
        found: list[Message] = []
        later: list[tuple[str, _Stored]] = []
        while self._schedule and self._schedule[0][0] <= now and len(found) < wanted:
            visible_at, _, message_id = heapq.heappop(self._schedule)
            stored = self._messages.get(message_id)
            if stored is None or stored.visible_at != visible_at:
                continue
            stored.receive_count += 1
            stored.receipt_handle = f"{message_id}:{stored.receive_count}"
            later.append((message_id, stored))
            found.append(
                Message(
                    message_id,
                    stored.receipt_handle,
                    stored.body,
                    self._clock.now(),
                    stored.attributes,
                    stored.receive_count,
                    stored.sent_at,
                )
            )
        for message_id, stored in later:
            self._schedule_visibility(message_id, stored, now + self._visibility_timeout)
        return found

    def _schedule_visibility(self, message_id: str, stored: _Stored, visible_at: float) -> None:
        stored.visible_at = visible_at
        self._order += 1
        heapq.heappush(self._schedule, (visible_at, self._order, message_id))
        self._arrived.notify()

    def ack(self, handles: Mapping[str, str]) -> Mapping[str, str]:
        """See `Queue.ack`. A stale handle counts as success, as with SQS."""
        with self._lock:
            for message_id, handle in handles.items():
                if self._is_newest(message_id, handle):
                    del self._messages[message_id]
            self._left.notify_all()
        return {}

    def extend(self, handles: Mapping[str, str], seconds: int) -> Mapping[str, str]:
        """See `Queue.extend`."""
        failed = {}
        with self._lock:
            now = self._clock.monotonic()
            for message_id, handle in handles.items():
                stored = self._messages.get(message_id)
                if stored is None or stored.receipt_handle != handle:
                    failed[message_id] = "the receipt handle is not the newest"
                elif stored.visible_at <= now:
                    failed[message_id] = "the message is not in flight"
                else:
                    self._schedule_visibility(message_id, stored, now + seconds)
        return failed

    def release(self, handles: Mapping[str, str]) -> None:
        """See `Queue.release`."""
        with self._lock:
            now = self._clock.monotonic()
            for message_id, handle in handles.items():
                if self._is_newest(message_id, handle):
                    self._schedule_visibility(message_id, self._messages[message_id], now)

    def _is_newest(self, message_id: str, handle: str) -> bool:
        stored = self._messages.get(message_id)
        return stored is not None and stored.receipt_handle == handle

    def depth(self) -> QueueDepth:
        """See `Queue.depth`; exact at the moment of the call."""
        with self._lock:
            now = self._clock.monotonic()
            visible = sum(stored.visible_at <= now for stored in self._messages.values())
            return QueueDepth(visible, len(self._messages) - visible)

    def close(self) -> None:
        """Wake all waiting threads; every later `send` and `receive` raises `SourceError`."""
        with self._lock:
            self._closed = True
            self._arrived.notify_all()
            self._left.notify_all()


def build_memory_queue(_source: "SourceConfig") -> MemoryQueue:
    """Build a queue for a folder's announcements; it needs no settings."""
    return MemoryQueue()
