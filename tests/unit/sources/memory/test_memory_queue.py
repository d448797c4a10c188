import threading

import pytest

from headwater.errors import SourceError, SourceUnavailableError
from headwater.observability.clock import ManualClock
from headwater.sources.memory.queue import MemoryQueue

DEADLINE = 10.0


def test_message_returns_after_its_visibility_timeout() -> None:
    clock = ManualClock()
    queue = MemoryQueue(visibility_timeout=30, clock=clock)
    queue.send("m")
    assert queue.receive(10, 0)
    clock.advance(29.9)
    assert not queue.receive(10, 0)
    clock.advance(0.2)
    assert [message.receive_count for message in queue.receive(10, 0)] == [2]


def test_extension_counts_from_now() -> None:
    clock = ManualClock()
    queue = MemoryQueue(visibility_timeout=30, clock=clock)
    queue.send("m")
    (message,) = queue.receive(10, 0)
    clock.advance(20)
    assert not queue.extend({message.message_id: message.receipt_handle}, 30)
    clock.advance(29)
    assert not queue.receive(10, 0)
    clock.advance(2)
    assert queue.receive(10, 0)


def test_expired_message_cannot_be_extended() -> None:
    clock = ManualClock()
    queue = MemoryQueue(visibility_timeout=30, clock=clock)
    queue.send("m")
    (message,) = queue.receive(10, 0)
    clock.advance(31)
    assert queue.extend({message.message_id: message.receipt_handle}, 30)


def test_send_blocks_until_a_message_is_deleted() -> None:
    queue = MemoryQueue(capacity=1)
    queue.send("first")
    sender = threading.Thread(target=queue.send, args=("second",))
    sender.start()
    (message,) = queue.receive(10, 0)
    assert sender.is_alive()
    queue.ack({message.message_id: message.receipt_handle})
    sender.join(DEADLINE)
    assert [message.body for message in queue.receive(10, 0)] == ["second"]


def test_send_gives_up_on_a_full_queue_when_asked_to() -> None:
    queue = MemoryQueue(capacity=1)
    queue.send("first")
    with pytest.raises(SourceUnavailableError, match="full"):
        queue.send("second", timeout=0)


def test_a_message_id_that_is_there_already_adds_nothing() -> None:
    queue = MemoryQueue()
    assert queue.send("one", message_id="same") == queue.send("two", message_id="same") == "same"
    assert [message.body for message in queue.receive(10, 0)] == ["one"]


def test_closing_wakes_who_waits() -> None:
    queue = MemoryQueue(capacity=1)
    queue.send("first")
    raised: list[SourceError] = []

    def wait_in_send() -> None:
        try:
            queue.send("second")
        except SourceError as error:
            raised.append(error)

    def wait_in_receive() -> None:
        try:
            while True:
                queue.receive(10, 20)
        except SourceError as error:
            raised.append(error)

    threads = [threading.Thread(target=target) for target in (wait_in_send, wait_in_receive)]
    for thread in threads:
        thread.start()
    queue.close()
    for thread in threads:
        thread.join(DEADLINE)
    assert len(raised) == 2
