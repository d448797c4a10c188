"""The queue seam: what capture requires of a queue, independent of the messages' content."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

SOURCE_ATTRIBUTE = "headwater-source"
"""Message attribute with which headwater's own listings identify themselves."""


@dataclass(frozen=True, slots=True)
class Message:
    """One delivery of one message. `receipt_handle` belongs to this delivery, not to the message.

    `sent_at` is when the message entered the queue, if the queue reports it.
    """

    message_id: str
    receipt_handle: str
    body: str
    received_at: datetime
    attributes: Mapping[str, str] = field(default_factory=dict)
    receive_count: int = 1
    sent_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class QueueDepth:
    """Approximate counts of waiting messages (`visible`) and messages at a consumer (`in_flight`)."""

    visible: int
    in_flight: int


class Queue(Protocol):
    """At-least-once queue with visibility timeouts. All methods are thread-safe.

    Every method raises `SourceError` or a subclass; `retryable = True` means that the same call may succeed
    later. Any response can be lost: nothing is exactly-once.
    """

    def receive(self, max_messages: int, wait_seconds: float) -> Sequence[Message]:
        """Wait at most `wait_seconds` for messages; empty if none came. May return fewer than exist."""
        ...

    def ack(self, handles: Mapping[str, str]) -> Mapping[str, str]:
        """Delete any number of messages, given the newest receipt handle by message id.

        Retries partial failures. Returns the reasons for the remaining ones by message id; these messages
        reappear after their visibility timeout. Success is no proof: a stale handle deletes nothing, and a
        queue need not report it.
        """
        ...

    def extend(self, handles: Mapping[str, str], seconds: int) -> Mapping[str, str]:
        """Hide messages for `seconds` from now. Returns failures as `ack` does."""
        ...

    def release(self, handles: Mapping[str, str]) -> None:
        """Make messages visible again at once; best effort, raises nothing."""
        ...

    def depth(self) -> QueueDepth | None:
        """Return the approximate depth, which never proves that the queue is empty. None if the service does
        not report it."""
        ...

    def close(self) -> None:
        """Close connections. Idempotent."""
        ...
