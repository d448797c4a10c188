"""The queue seam: what capture needs of a queue, and nothing of what is in the messages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Message:
    """One delivery of one message. `receipt_handle` belongs to this delivery, not to the message.

    `sent_at` is when the message entered the queue, where the queue tells.
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
    """About how many messages wait (`visible`) and are with a consumer (`in_flight`)."""

    visible: int
    in_flight: int


class Queue(Protocol):
    """At-least-once queue with visibility time-outs. All methods may be called from many threads.

    Every method raises `SourceError` (or a child of it); a child with `retryable = True` means that
    the same call may work later. A lost answer is possible everywhere: nothing is exactly once.
    """

    def receive(self, max_messages: int, wait_seconds: float) -> Sequence[Message]:
        """Wait at most `wait_seconds` for messages; empty when none came. May return fewer than exist."""
        ...

    def ack(self, handles: Mapping[str, str]) -> Mapping[str, str]:
        """Delete messages, given the newest receipt handle by message id, of any number.

        Partial failures are retried inside. Returns what could still not be deleted, with the
        reason, by message id; those come back after their visibility time-out. No failure is no
        proof: a stale handle deletes nothing, and a queue need not say so.
        """
        ...

    def extend(self, handles: Mapping[str, str], seconds: int) -> Mapping[str, str]:
        """Keep messages hidden for `seconds` from now. Returns failures as `ack` does."""
        ...

    def release(self, handles: Mapping[str, str]) -> None:
        """Make messages visible again at once; best effort, raises nothing."""
        ...

    def depth(self) -> QueueDepth:
        """Approximate; never a proof that the queue is empty."""
        ...

    def close(self) -> None:
        """Free connections. Idempotent."""
        ...
