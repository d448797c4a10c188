"""What the threads of capture report of themselves."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from headwater.capture.consumer import Consumer, ConsumerOptions
from headwater.errors import (
    CredentialsError,
    HeadwaterError,
    LakeError,
    LakeNotWritableError,
    SourceUnavailableError,
)
from headwater.observability.part_board import PartBoard
from headwater.sources.memory.queue import MemoryQueue
from headwater.sources.queue import Message
from tests.fixtures.capture import FAST, Tables, send_keys

ONCE: dict[str, Any] = {"empty_polls": 2, "empty_poll_seconds": 0.05}


class FlakyQueue(MemoryQueue):
    """Raises errors in its first receive calls, and rejects the first acknowledgements."""

    def __init__(
        self, *errors: HeadwaterError, ack: Callable[[], None] = lambda: None, visibility_timeout: float = 30
    ) -> None:
        super().__init__(visibility_timeout=visibility_timeout)
        self.errors = list(errors)
        self._ack = ack

    def receive(self, max_messages: int, wait_seconds: float) -> Sequence[Message]:
        if self.errors:
            raise self.errors.pop(0)
        return super().receive(max_messages, wait_seconds)

    def ack(self, handles: Mapping[str, str]) -> Mapping[str, str]:
        self._ack()
        return super().ack(handles)


def watch(queue: MemoryQueue, tables: Tables) -> tuple[Consumer, list[tuple[str, str, str]], PartBoard]:
    """A consumer, and every state of its parts in order: name, status, error."""
    board = PartBoard()
    seen: list[tuple[str, str, str]] = []
    board.subscribe(lambda name, state: seen.append((name, state.status, state.error)))
    consumer = Consumer(queue, tables.append_events, tables.append_quarantine, ConsumerOptions(**FAST))
    consumer.report_to(board)
    return consumer, seen, board


def test_every_thread_is_listed_before_it_starts_and_after_it_ended() -> None:
    queue = MemoryQueue(visibility_timeout=30)
    consumer, _, board = watch(queue, Tables())
    names = ["capture-receivers", "capture-committer", "capture-deleter", "capture-heartbeat"]
    assert {name: state.status for name, state in board.read().items()} == dict.fromkeys(names, "starting")
    send_keys(queue, "a")
    consumer.run_once(**ONCE)
    ended = {name: state.status for name, state in board.read().items()}
    assert ended == dict.fromkeys(names, "stopped") | {"capture-committer": "waiting"}
    queue.close()


def test_a_queue_that_does_not_answer_is_retried() -> None:
    queue = FlakyQueue(SourceUnavailableError("no answer"))
    send_keys(queue, "a")
    consumer, seen, _ = watch(queue, Tables())
    consumer.run_once(**ONCE)
    at = seen.index(("capture-receivers", "retrying", "no answer"))
    assert ("capture-receivers", "running", "") in seen[at:]
    queue.close()


def test_a_receiver_that_cannot_go_on_is_dead() -> None:
    queue = FlakyQueue(CredentialsError("access denied"))
    consumer, _, board = watch(queue, Tables())
    with pytest.raises(CredentialsError):
        consumer.run_once(**ONCE)
    state = board.read()["capture-receivers"]
    assert (state.status, state.error) == ("failed", "access denied")
    queue.close()


def test_a_commit_that_fails_is_retried_and_then_forgotten() -> None:
    queue, tables = MemoryQueue(visibility_timeout=30), Tables(failures=[LakeError("no answer")])
    send_keys(queue, "a")
    consumer, seen, _ = watch(queue, tables)
    consumer.run_once(**ONCE)
    of_committer = [(status, error) for name, status, error in seen if name == "capture-committer"]
    assert of_committer[:4] == [("starting", ""), ("working", ""), ("retrying", "no answer"), ("waiting", "")]
    queue.close()


def test_a_commit_that_cannot_succeed_is_the_committers_end() -> None:
    queue, tables = MemoryQueue(visibility_timeout=30), Tables(failures=[LakeNotWritableError("read-only")])
    send_keys(queue, "a")
    consumer, _, board = watch(queue, tables)
    with pytest.raises(LakeNotWritableError):
        consumer.run_once(**ONCE)
    assert board.read()["capture-committer"].error == "read-only"
    queue.close()


def test_an_unexpected_error_of_a_deletion_is_no_secret() -> None:
    left = [1]

    def fail_once() -> None:
        if left:
            left.clear()
            raise RuntimeError("a bug")

    queue = FlakyQueue(ack=fail_once, visibility_timeout=1)
    send_keys(queue, "a")
    consumer, seen, _ = watch(queue, Tables())
    consumer.run_once(**ONCE)
    assert ("capture-deleter", "retrying", "a bug") in seen
    queue.close()
