"""What the events table says of the ranges of a cluster."""

from datetime import datetime, timezone
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.capture.announced_ranges import read_captured_ranges
from headwater.sources.kafka.notifications import build_range_message
from headwater.sources.kafka.ranges import Announcement, OffsetRange, Partition, Position
from headwater.sources.message_parser import parse_message
from headwater.sources.object_event import ObjectEvent
from tests.fixtures.event_lake import EventLake

P0, P1 = Partition("orders", 0), Partition("orders", 1)
SOURCE = {"type": "kafka", "bootstrap": "one:9092", "topics": "orders", "cluster": "c"}


def announce(
    partition: Partition, begin: int, end: int, generation: int = 0, *, first: int = 0
) -> ObjectEvent:
    position = Position(f"id {generation}", generation, first, end)
    announced = Announcement(OffsetRange(partition, begin, end), position)
    (event,) = parse_message(build_range_message("c", announced, datetime.now(timezone.utc))).events
    return event


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> EventLake:
    return EventLake(spark, tmp_path, SOURCE, {"orders": {"path": "orders/**", "format": "json"}})


def test_a_new_lake_has_captured_nothing(lake: EventLake) -> None:
    assert not read_captured_ranges(lake.app.events, "c").positions


def test_positions_and_gaps_of_each_partition(lake: EventLake) -> None:
    lake.announce(*(announce(P0, begin, end, first=5) for begin, end in ((5, 5), (5, 10), (20, 30))))
    lake.announce(*(announce(P0, begin, end, first=5) for begin, end in ((30, 40), (44, 45))))
    # The begin of the other partition was lost with its process.
    lake.announce(announce(P1, 7, 9, first=2))
    found = read_captured_ranges(lake.app.events, "c")
    assert found.positions == {P0: Position("id 0", 0, 5, 45), P1: Position("id 0", 0, 2, 9)}
    assert list(found.missing) == [OffsetRange(P0, 10, 20), OffsetRange(P0, 40, 44), OffsetRange(P1, 2, 7)]
    assert not read_captured_ranges(lake.app.events, "another").positions


def test_only_the_newest_topic_of_a_name_counts(lake: EventLake) -> None:
    lake.announce(announce(P0, 0, 0), announce(P0, 0, 90))
    lake.announce(announce(P0, 3, 3, 1, first=3), announce(P0, 3, 8, 1, first=3))
    found = read_captured_ranges(lake.app.events, "c")
    assert found.positions == {P0: Position("id 1", 1, 3, 8)}
    assert not found.missing
