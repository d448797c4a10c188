"""What is announced of topics, with a cluster in memory."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from headwater.config.source import KafkaSourceConfig
from headwater.errors import QueueNotFoundError, SourceUnavailableError
from headwater.sources.kafka import offset_poller
from headwater.sources.kafka.offset_poller import OffsetPoller
from headwater.sources.kafka.ranges import CapturedRanges, OffsetRange, Partition, Position, parse_range
from headwater.sources.memory.queue import MemoryQueue
from headwater.sources.message_parser import parse_message
from tests.fixtures.memory_topics import MemoryTopics

A0, A1, B0 = Partition("a", 0), Partition("a", 1), Partition("b", 0)


@dataclass
class MemoryGroup:
    committed: list[Mapping[Partition, int]] = field(default_factory=list)

    def commit(self, offsets: Mapping[Partition, int]) -> None:
        self.committed.append(dict(offsets))


def configure(**given: object) -> KafkaSourceConfig:
    fields = {
        "type": "kafka",
        "bootstrap": "broker:9092",
        "topics": ["a", "b"],
        "poll_interval": 0.01,
        **given,
    }
    return KafkaSourceConfig.model_validate(fields)


class Announced:
    """A poller, and what it has announced."""

    def __init__(
        self, cluster: MemoryTopics, captured: CapturedRanges | None = None, **given: object
    ) -> None:
        self.queue, self.group = MemoryQueue(), MemoryGroup()
        config = configure(**given)
        self.poller = OffsetPoller(
            config, cluster, captured or CapturedRanges({}), self.queue, group=self.group
        )

    def take(self) -> dict[Partition, list[tuple[int, int]]]:
        """Return the ranges of messages announced since the last call, by partition."""
        found: dict[Partition, list[tuple[int, int]]] = {}
        while messages := self.queue.receive(10, 0):
            self.queue.ack({message.message_id: message.receipt_handle for message in messages})
            for message in messages:
                one = parse_range(parse_message(message.body).events[0].key)
                assert one is not None
                if not one.is_start:
                    found.setdefault(one.partition, []).append((one.begin, one.end))
        return found


def test_each_start_announces_what_is_not_captured() -> None:
    topics = MemoryTopics({A0: 5, A1: 0, B0: 7}, first={B0: 4})
    announced = Announced(topics)
    announced.poller.announce_existing()
    assert announced.take() == {A0: [(0, 5)], B0: [(4, 7)]}
    topics.ends[A1] = 2
    announced.poller.announce_existing()
    assert announced.take() == {A1: [(0, 2)]}


def test_what_the_lake_lacks_is_announced_again_with_the_same_bounds() -> None:
    positions = {A0: Position("id of a", 0, 0, 40)}
    captured = CapturedRanges(positions, [OffsetRange(A0, 10, 20)])
    announced = Announced(MemoryTopics({A0: 41}), captured, topics=["a"])
    announced.poller.announce_existing()
    assert announced.take() == {A0: [(10, 20), (40, 41)]}


@pytest.mark.parametrize(
    ("start", "expected"),
    [("earliest", [(0, 9)]), ("latest", []), ("2026-11-27", [(6, 9)])],
    ids=["earliest", "latest", "time"],
)
def test_a_topic_begins_where_it_is_configured_to(start: str, expected: list[tuple[int, int]]) -> None:
    topics = MemoryTopics({A0: 9}, at_time={A0: 6})
    announced = Announced(topics, topics=["a"], start_from=start)
    announced.poller.announce_existing()
    assert announced.take().get(A0, []) == expected
    topics.ends[A0] = 12
    announced.poller.announce_existing()
    assert announced.take() == {A0: [(9, 12)]}


def test_a_partition_that_is_added_later_begins_at_its_first_message() -> None:
    topics = MemoryTopics({A0: 9})
    captured = CapturedRanges({A0: Position("id of a", 0, 9, 9)})
    topics.ends[A1] = 3
    announced = Announced(topics, captured, topics=["a"], start_from="latest")
    announced.poller.announce_existing()
    assert announced.take() == {A1: [(0, 3)]}


def test_a_missing_topic_is_an_error_after_all_others_are_announced() -> None:
    announced = Announced(MemoryTopics({A0: 5}, missing={"b"}))
    announced.poller.announce_existing()
    assert isinstance(announced.poller.incomplete, QueueNotFoundError)
    assert "topic b" in announced.poller.incomplete.message
    assert announced.take() == {A0: [(0, 5)]}


def test_a_topic_created_again_stops_with_the_setting_that_continues() -> None:
    captured = CapturedRanges({A0: Position("older id", 0, 0, 40)})
    topics = MemoryTopics({A0: 5, B0: 1})
    announced = Announced(topics, captured)
    announced.poller.announce_existing()
    assert announced.poller.incomplete is not None
    assert "created again" in announced.poller.incomplete.message
    assert "recreated_topics: continue" in announced.poller.incomplete.hint
    assert announced.take() == {B0: [(0, 1)]}
    allowed = Announced(topics, captured, recreated_topics="continue")
    allowed.poller.announce_existing()
    assert allowed.take() == {A0: [(0, 5)], B0: [(0, 1)]}


def test_a_partition_without_a_leader_is_tried_again_and_the_others_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(offset_poller, "_START_PAUSE_SECONDS", 0.01)
    topics = MemoryTopics({A0: 5, A1: 6}, down={A1})
    announced = Announced(topics, topics=["a"])
    announced.poller.announce_existing()
    assert isinstance(announced.poller.incomplete, SourceUnavailableError)
    assert "a/1" in announced.poller.incomplete.message
    assert announced.take() == {A0: [(0, 5)]}
    topics.down.clear()
    announced.poller.announce_existing()
    assert announced.take() == {A1: [(0, 6)]}


def test_a_running_poller_follows_and_commits_to_the_group_what_the_lake_has() -> None:
    topics = MemoryTopics({A0: 5})
    announced = Announced(topics, topics=["a"])
    announced.poller.announce_existing()
    stop = threading.Event()
    thread = threading.Thread(target=announced.poller.run, args=(stop,), daemon=True)
    thread.start()
    try:
        assert not announced.group.committed  # its message is not deleted yet
        assert announced.take() == {A0: [(0, 5)]}
        topics.ends[A0] = 8
        deadline = threading.Event()
        for _ in range(500):
            if announced.group.committed and announced.group.committed[-1] == {A0: 8}:
                break
            announced.take()
            deadline.wait(0.01)
    finally:
        stop.set()
        thread.join(5)
    assert announced.group.committed[-1] == {A0: 8}
