"""Announced ranges as message bodies."""

import json
from datetime import datetime, timezone

import pytest

from headwater.sources.kafka.notifications import build_range_message
from headwater.sources.kafka.ranges import Announcement, OffsetRange, Partition, Position
from headwater.sources.message_parser import parse_message

NOW = datetime(2026, 11, 27, 12, 0, 1, tzinfo=timezone.utc)
P3 = Partition("orders", 3)


def announce(begin: int, end: int, generation: int = 0) -> str:
    position = Position("topic-id", generation, 0, end)
    return build_range_message("production", Announcement(OffsetRange(P3, begin, end), position), NOW)


def test_a_range_is_an_object_that_was_created() -> None:
    (event,) = parse_message(announce(5, 10)).events
    assert (event.provider, event.bucket, event.kind) == ("kafka", "production", "created")
    assert event.key == f"orders/3/{5:020d}-{9:020d}"
    assert (event.version_id, event.event_time) == ("topic-id", NOW)


def test_the_begin_of_a_partition_is_no_content() -> None:
    (event,) = parse_message(announce(5, 5)).events
    assert event.kind == "other"
    assert event.key == f"orders/3/{5:020d}"


def test_the_same_range_has_the_same_id_whenever_it_is_announced() -> None:
    first, again = (parse_message(announce(5, 10)).events[0] for _ in range(2))
    assert first.event_id == again.event_id


def test_the_same_offsets_of_a_topic_that_was_created_again_are_a_later_event() -> None:
    (before,), (after,) = (parse_message(announce(5, 10, generation)).events for generation in (9, 10))
    assert (before.order_key or "") < (after.order_key or "")


@pytest.mark.parametrize(
    "changed",
    [
        {"headwaterKafka": 2},
        {"topic": ""},
        {"topicId": None},
        {"partition": -1},
        {"begin": "5"},
        {"end": True},
        {"end": 4},
        {"generation": 10**30},
        {"time": "today"},
    ],
    ids=str,
)
def test_a_malformed_announcement_is_rejected(changed: dict[str, object]) -> None:
    body = json.dumps({**json.loads(announce(5, 10)), **changed})
    parsed = parse_message(body)
    assert not parsed.events
    assert parsed.rejected in ("unknown_shape", "missing_field")
