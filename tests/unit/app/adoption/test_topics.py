"""Where the partitions of topics begin: at the offsets of HoodieStreamer, the same for all tables."""

from datetime import datetime, timezone

from headwater.app.adoption.checkpoints import KafkaCheckpoint
from headwater.app.adoption.topics import choose_offsets, iter_starts, list_conflicts, list_topic_problems
from headwater.sources.kafka.ranges import CapturedRanges, Partition, Position, advance
from headwater.sources.kafka.ranges import PartitionState as State
from tests.fixtures.memory_topics import MemoryTopics

A0, A1, B0 = Partition("a", 0), Partition("a", 1), Partition("b", 0)
NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
TOPICS = MemoryTopics({A0: 10, A1: 20, B0: 30})


def test_the_next_run_continues_at_the_offsets() -> None:
    offsets = choose_offsets([KafkaCheckpoint("a", {0: 4, 1: 20}), KafkaCheckpoint("b", {0: 7})])
    assert list_topic_problems(offsets, CapturedRanges({}), TOPICS) == []
    events = [one.event for one in iter_starts(offsets, "shop", TOPICS, NOW)]
    assert [(event.key[:4], event.event_name, event.bucket) for event in events] == [
        ("a/0/", "PartitionStarted", "shop"),
        ("a/1/", "PartitionStarted", "shop"),
        ("b/0/", "PartitionStarted", "shop"),
    ]
    positions = {A0: Position("id of a", 0, 4, 4), A1: Position("id of a", 0, 20, 20)}
    found = advance(
        positions, {A0: State("id of a", 0, 10), A1: State("id of a", 0, 20)}, {}, most=100, may_restart=False
    )
    assert [(one.range.partition, one.range.begin, one.range.end) for one in found.announcements] == [
        (A0, 4, 10)
    ]


def test_a_repeated_start_is_the_same_event() -> None:
    offsets = {A0: 4}
    first, second = (
        [one.event.event_id for one in iter_starts(offsets, "shop", TOPICS, NOW.replace(year=year))]
        for year in (2026, 2027)
    )
    assert first == second


def test_tables_with_different_offsets_of_a_topic_are_refused() -> None:
    same = {"x": KafkaCheckpoint("a", {0: 4}), "y": KafkaCheckpoint("a", {0: 4})}
    assert list_conflicts(same) == []
    (problem,) = list_conflicts({**same, "z": KafkaCheckpoint("a", {0: 5})})
    assert "the tables x and z have different offsets of the topic a: {0: 4} and {0: 5}" in problem


def test_offsets_that_no_partition_has_are_refused() -> None:
    offsets = {A0: 11, Partition("a", 7): 0}
    ended, unknown = list_topic_problems(offsets, CapturedRanges({}), TOPICS)
    assert "partition a/0 ends at offset 10, before the checkpoint at 11" in ended
    assert unknown == "partition a/7 of a checkpoint does not exist"
    absent = MemoryTopics({A0: 10}, missing={"a"})
    assert list_topic_problems({A0: 1}, CapturedRanges({}), absent) == ["Kafka topic a: unknown"]


def test_a_topic_that_is_captured_from_another_offset_on_is_refused() -> None:
    captured = CapturedRanges({A0: Position("id of a", 0, 0, 10), A1: Position("id of a", 0, 4, 8)})
    (problem,) = list_topic_problems({A0: 4, A1: 4}, captured, TOPICS)
    assert "partition a/0 is captured from offset 0 on, and the checkpoint is 4" in problem
