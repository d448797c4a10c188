"""What every queue does, run on every one of them; SQS as a real server process."""

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pytest

from headwater.config.source import S3SourceConfig
from headwater.demo.emulator import CREDENTIALS
from headwater.sources.azure.queue import AzureQueue
from headwater.sources.gcs.clients import build_subscriber
from headwater.sources.gcs.queue import PubSubQueue
from headwater.sources.memory.queue import MemoryQueue
from headwater.sources.queue import Message, Queue
from headwater.sources.registry import build_queue
from tests.fixtures.emulator import EmulatorSession
from tests.fixtures.google import PubSub

DEADLINE = 20.0
VISIBILITY = 1


@dataclass
class Harness:
    """A queue whose messages are hidden for a second, and how to send to it."""

    queue: Queue
    send: Callable[[str], object]
    reports_depth: bool = True
    # Those in flight count as waiting.
    reports_all_as_waiting: bool = False
    counts_deliveries: bool = True

    def read_depth(self) -> tuple[int, int]:
        """Waiting messages, and those in flight."""
        depth = self.queue.depth()
        assert depth is not None
        return depth.visible, depth.in_flight

    def receive(self, count: int, wait_seconds: float = 1) -> dict[str, Message]:
        """Receive until there are `count` messages; the newest delivery of each, by body."""
        found: dict[str, Message] = {}
        deadline = time.monotonic() + DEADLINE
        while len(found) < count:
            assert time.monotonic() < deadline, f"{len(found)} of {count} messages came"
            found.update((message.body, message) for message in self.queue.receive(10, wait_seconds))
        return found


def handles(messages: dict[str, Message]) -> dict[str, str]:
    return {message.message_id: message.receipt_handle for message in messages.values()}


@pytest.fixture(params=["memory", "azure", "pubsub", "sqs"])
def harness(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Harness]:
    if request.param == "memory":
        memory = MemoryQueue(visibility_timeout=VISIBILITY)
        yield Harness(memory, memory.send)
        memory.close()
        return
    if request.param == "azure":
        client = request.getfixturevalue("azurite").create_queue()
        stored = AzureQueue(client, visibility_timeout=VISIBILITY)
        yield Harness(stored, client.send_message, reports_all_as_waiting=True)
        stored.close()
        return
    if request.param == "pubsub":
        pubsub: PubSub = request.getfixturevalue("pubsub")
        topic = pubsub.create_topic()
        # Below what a configuration allows: a test would wait for ten seconds.
        pulled = PubSubQueue(
            build_subscriber(pubsub.endpoint), pubsub.subscribe(topic), ack_deadline=VISIBILITY
        )
        yield Harness(
            pulled,
            lambda body: pubsub.publish(topic, body),
            reports_depth=False,
            counts_deliveries=False,
        )
        pulled.close()
        return
    emulator: EmulatorSession = request.getfixturevalue("emulator")
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    url = emulator.create_queue()
    source = S3SourceConfig.model_validate(
        {"type": "s3", "bucket": "any", "queue": {"url": url, "visibility_timeout": VISIBILITY}}
    )
    queue = build_queue(source)
    yield Harness(queue, lambda body: emulator.clients.sqs.send_message(QueueUrl=url, MessageBody=body))
    queue.close()


def test_a_message_arrives_as_it_was_sent(harness: Harness) -> None:
    harness.send("ünï {}")
    message = harness.receive(1)["ünï {}"]
    assert message.receive_count == 1
    assert message.received_at.utcoffset() is not None
    assert message.sent_at is not None
    assert message.message_id


def test_all_messages_arrive(harness: Harness) -> None:
    sent = {f"m{number}" for number in range(35)}
    for body in sent:
        harness.send(body)
    assert set(harness.receive(35)) == sent


def test_receive_returns_at_most_the_requested_number(harness: Harness) -> None:
    for number in range(5):
        harness.send(f"m{number}")
    assert len(harness.queue.receive(2, 1)) <= 2


def test_a_received_message_is_hidden(harness: Harness) -> None:
    harness.send("m")
    harness.receive(1)
    assert not harness.queue.receive(10, 0)


def test_a_message_that_is_not_deleted_comes_back_with_a_new_handle(harness: Harness) -> None:
    harness.send("m")
    first = harness.receive(1)["m"]
    second = harness.receive(1)["m"]
    assert second.message_id == first.message_id
    assert second.receipt_handle != first.receipt_handle
    assert second.receive_count == (2 if harness.counts_deliveries else 1)


def test_a_deleted_message_does_not_come_back(harness: Harness) -> None:
    harness.send("m")
    assert not harness.queue.ack(handles(harness.receive(1)))
    assert not harness.queue.receive(10, 2 * VISIBILITY)


def test_an_extended_message_stays_hidden(harness: Harness) -> None:
    harness.send("m")
    received = harness.receive(1)
    assert not harness.queue.extend(handles(received), 30)
    assert not harness.queue.receive(10, 2 * VISIBILITY)
    assert not harness.queue.ack(handles(received))


def test_a_released_message_comes_back_at_once(harness: Harness) -> None:
    harness.send("m")
    received = harness.receive(1)
    harness.queue.extend(handles(received), 60)
    harness.queue.release(handles(received))
    assert harness.queue.receive(10, 1)


def test_a_stale_handle_does_not_delete(harness: Harness) -> None:
    """Real SQS and the memory queue say nothing of it; the emulator reports it. Either is allowed."""
    harness.send("m")
    stale = harness.receive(1)
    newest = harness.receive(1)
    harness.queue.ack(handles(stale))
    harness.queue.release(handles(newest))
    assert harness.queue.receive(10, 1)


def test_a_handle_stays_good_after_the_time_out_until_there_is_a_newer_one(harness: Harness) -> None:
    harness.send("m")
    received = harness.receive(1)
    time.sleep(1.5 * VISIBILITY)
    assert not harness.queue.ack(handles(received))
    assert not harness.queue.receive(10, 1)


def test_more_than_ten_messages_are_deleted_in_one_call(harness: Harness) -> None:
    for number in range(25):
        harness.send(f"m{number}")
    assert not harness.queue.ack(handles(harness.receive(25, 0)))
    assert not harness.queue.receive(10, 2 * VISIBILITY)


def test_failures_are_reported_by_message_and_the_others_are_done(harness: Harness) -> None:
    for number in range(12):
        harness.send(f"m{number}")
    received = harness.receive(12)
    wanted = handles(received)
    wrong = received["m3"].message_id
    failed = harness.queue.extend({**wanted, wrong: "not-a-handle"}, 60)
    assert set(failed) == {wrong}
    assert failed[wrong]
    assert set(harness.receive(1)) == {"m3"}


def test_a_long_poll_ends_when_a_message_arrives(harness: Harness) -> None:
    found: list[Message] = []
    poll = threading.Thread(target=lambda: found.extend(harness.queue.receive(10, 20)))
    started = time.monotonic()
    poll.start()
    harness.send("m")
    poll.join(DEADLINE)
    assert [message.body for message in found] == ["m"]
    assert time.monotonic() - started < 10


def test_a_poll_without_waiting_returns_at_once(harness: Harness) -> None:
    started = time.monotonic()
    assert not harness.queue.receive(10, 0)
    assert time.monotonic() - started < 1


def test_depth_distinguishes_waiting_from_in_flight(harness: Harness) -> None:
    if not harness.reports_depth:
        assert harness.queue.depth() is None
        return
    for number in range(3):
        harness.send(f"m{number}")
    assert harness.read_depth() == (3, 0)
    received = harness.queue.receive(1, 1)
    assert harness.read_depth() == ((3, 0) if harness.reports_all_as_waiting else (2, 1))
    harness.queue.ack({message.message_id: message.receipt_handle for message in received})
    assert harness.read_depth() == (2, 0)


def test_many_threads_receive_each_message_once_while_it_is_hidden(harness: Harness) -> None:
    sent = {f"m{number}" for number in range(60)}
    for body in sent:
        harness.send(body)
    got: list[str] = []

    def drain() -> None:
        while messages := harness.queue.receive(10, 0):
            got.extend(message.body for message in messages)
            harness.queue.ack({message.message_id: message.receipt_handle for message in messages})

    threads = [threading.Thread(target=drain) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE)
    assert sorted(got) == sorted(sent)


def test_nothing_to_delete_is_no_error(harness: Harness) -> None:
    assert not harness.queue.ack({})
    assert not harness.queue.extend({}, 30)
    harness.queue.release({})


def test_closing_twice_is_no_error(harness: Harness) -> None:
    harness.queue.close()
    harness.queue.close()
