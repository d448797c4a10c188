"""Options of the capture loop, the same for every type of source."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headwater.config.source import CaptureConfig, QueueConfig, StorageQueueConfig, SubscriptionConfig


@dataclass(frozen=True, slots=True)
class ConsumerOptions:
    """Times in seconds. The defaults suit an in-process queue.

    `commit_patience` limits retries of a failing commit, with pauses that grow from `commit_pause`.
    `receive_patience` limits how long a queue may be unreachable before its first response.
    `stop_patience` limits the wait for pending receive calls at the end of a run. A poll of this queue that
    has lasted `empty_poll_seconds` without a message has asked all of it.
    """

    visibility_timeout: int = 30
    long_poll_wait: float = 20
    receivers: int = 2
    max_messages_per_request: int = 10
    max_messages_per_batch: int = 20_000
    max_in_flight: int = 60_000
    batch_seconds: float = 0.5
    batch_bytes: int = 64 * 1024 * 1024
    min_sync_interval: float = 0
    delete_threads: int = 2
    commit_patience: float = 60
    commit_pause: float = 1
    receive_patience: float = 60
    stop_patience: float = 2
    empty_poll_seconds: float = 0.05


def build_options(
    queue: "QueueConfig | SubscriptionConfig | StorageQueueConfig | None", capture: "CaptureConfig"
) -> ConsumerOptions:
    """Return the options of a source; without a queue configuration those of an in-process queue."""
    if queue is None:
        return ConsumerOptions(
            batch_seconds=capture.batch_seconds,
            batch_bytes=int(capture.batch_bytes),
            min_sync_interval=capture.min_sync_interval,
        )
    return ConsumerOptions(
        # 0 would never hide a message; the queue treats it as 1, too.
        visibility_timeout=max(1, queue.visibility_timeout),
        long_poll_wait=queue.long_poll_wait,
        receivers=queue.receivers,
        max_messages_per_request=queue.max_messages_per_request,
        max_messages_per_batch=queue.max_messages_per_batch,
        max_in_flight=queue.max_in_flight,
        batch_seconds=capture.batch_seconds,
        batch_bytes=int(capture.batch_bytes),
        min_sync_interval=capture.min_sync_interval,
        delete_threads=max(2, queue.receivers // 2),
        empty_poll_seconds=queue.empty_poll_seconds,
    )
