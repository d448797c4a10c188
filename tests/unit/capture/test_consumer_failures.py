from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from headwater.errors import (
    CredentialsError,
    LakeError,
    LakeNotWritableError,
    SourceError,
    SourceUnavailableError,
)
from headwater.observability.clock import ManualClock
from headwater.sources.memory.queue import MemoryQueue
from headwater.sources.queue import Message, QueueDepth
from tests.fixtures.capture import (
    RunningConsumer,
    Tables,
    build_consumer,
    build_keys,
    send_keys,
)

ONCE: dict[str, Any] = {"empty_polls": 2, "empty_poll_seconds": 0.05}
EMPTY = QueueDepth(0, 0)


def test_a_slow_commit_does_not_let_messages_come_back() -> None:
    clock = ManualClock()
    queue, tables = MemoryQueue(visibility_timeout=30, clock=clock), Tables()
    tables.gate.clear()
    send_keys(queue, *build_keys(12))
    # The queue's clock stands still, so its long poll would never end.
    quick = {"batch_seconds": 0, "stop_patience": 0.05}
    with RunningConsumer(queue, tables, clock, visibility_timeout=30, **quick) as running:
        running.wait_for(messages=12)
        assert tables.waiting.wait(10)
        for beat in range(1, 10):
            # From its first heartbeat on, a message is hidden for four times as long.
            clock.advance(10 if beat == 1 else 40)
            running.wait_for(extended=12 * beat)
        tables.gate.set()
        running.wait_for(deleted=12)
        assert running.consumer.stats.redelivered == 0
    queue.close()


def test_the_newest_handle_deletes_a_message_that_came_again_during_its_commit() -> None:
    clock = ManualClock()
    queue, tables = MemoryQueue(visibility_timeout=5, clock=clock), Tables()
    tables.gate.clear()
    send_keys(queue, "k")
    with RunningConsumer(queue, tables, visibility_timeout=3600, stop_patience=0.05) as running:
        assert tables.waiting.wait(10)
        clock.advance(6)
        running.wait_for(redelivered=1)
        tables.gate.set()
        running.wait_for(deleted=1)
        assert queue.depth() == EMPTY
    queue.close()
    assert tables.keys == ["k"]


class FlakyQueue(MemoryQueue):
    """Fails as it is told to: errors of the next receive calls, and reasons of the next deletions."""

    def __init__(self, **options: float) -> None:
        super().__init__(visibility_timeout=options.get("visibility_timeout", 30))
        self.receive_errors: list[SourceError] = []
        self.refused_deletions = 0

    def receive(self, max_messages: int, wait_seconds: float) -> Sequence[Message]:
        if self.receive_errors:
            raise self.receive_errors.pop(0)
        return super().receive(max_messages, wait_seconds)

    def ack(self, handles: Mapping[str, str]) -> Mapping[str, str]:
        if self.refused_deletions:
            self.refused_deletions -= 1
            return dict.fromkeys(handles, "refused")
        return super().ack(handles)


def test_a_message_whose_deletion_failed_is_deleted_when_it_comes_back_and_not_committed_again() -> None:
    queue, tables = FlakyQueue(visibility_timeout=0.2), Tables()
    queue.refused_deletions = 1
    send_keys(queue, "k")
    with RunningConsumer(queue, tables, visibility_timeout=1) as running:
        running.wait_for(deletes_failed=1, deleted=1)
    assert tables.keys == ["k"]
    assert queue.depth() == EMPTY


def test_a_queue_that_does_not_answer_for_a_moment_is_waited_for() -> None:
    queue, tables = FlakyQueue(), Tables()
    queue.receive_errors = [SourceUnavailableError("503"), SourceUnavailableError("503")]
    send_keys(queue, "k")
    build_consumer(queue, tables).run_once(**ONCE)
    assert tables.keys == ["k"]


def test_a_queue_that_never_answered_ends_the_run_after_a_while() -> None:
    queue = FlakyQueue()
    queue.receive_errors = [SourceUnavailableError("503") for _ in range(100)]
    with pytest.raises(SourceUnavailableError):
        build_consumer(queue, Tables(), receive_patience=0).run_once(**ONCE)


def test_invalid_credentials_end_the_run_after_received_events_are_committed() -> None:
    queue, tables = FlakyQueue(), Tables()
    send_keys(queue, "k")
    with RunningConsumer(queue, tables, batch_seconds=60, receivers=1) as running:
        running.wait_for(messages=1)
        queue.receive_errors = [CredentialsError("expired")]
        with pytest.raises(CredentialsError):
            running.join()
        running._error = None
    assert tables.keys == ["k"]
    assert queue.depth() == EMPTY


def test_a_failing_commit_is_tried_again_and_counts_once() -> None:
    queue, tables = MemoryQueue(), Tables(failures=[LakeError("no"), LakeError("no")])
    queue.send("?")
    send_keys(queue, "k")
    build_consumer(queue, tables, batch_seconds=0.2).run_once(**ONCE)
    assert sorted(tables.commits) == [("events", 1), ("quarantine", 1)]
    assert queue.depth() == EMPTY


@pytest.mark.parametrize("error", [LakeNotWritableError("read-only"), ValueError("a bug")])
def test_a_commit_that_cannot_work_ends_the_run_and_gives_the_messages_back(error: Exception) -> None:
    queue, tables = MemoryQueue(), Tables(failures=[error])
    send_keys(queue, *build_keys(3))
    with pytest.raises(type(error)):
        build_consumer(queue, tables, batch_seconds=0.2).run_once(**ONCE)
    assert queue.depth() == QueueDepth(visible=3, in_flight=0)


def test_a_commit_that_keeps_failing_ends_the_run_and_gives_the_messages_back() -> None:
    queue, tables = MemoryQueue(), Tables(failures=[LakeError("no") for _ in range(1000)])
    send_keys(queue, "k")
    with pytest.raises(LakeError):
        build_consumer(queue, tables, commit_patience=0.05).run_once(**ONCE)
    assert queue.depth() == QueueDepth(visible=1, in_flight=0)
