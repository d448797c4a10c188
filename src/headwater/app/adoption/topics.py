"""Where topics of Kafka begin, so that the next run continues at the offsets of HoodieStreamer."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime

from headwater.app.adoption.checkpoints import KafkaCheckpoint
from headwater.capture.captured_event import CapturedEvent
from headwater.errors import SourceError
from headwater.sources.kafka.notifications import build_range_message
from headwater.sources.kafka.ranges import Announcement, CapturedRanges, OffsetRange, Partition, Position
from headwater.sources.kafka.topics import Topic, Topics
from headwater.sources.message_parser import parse_message


def list_conflicts(checkpoints: Mapping[str, KafkaCheckpoint]) -> list[str]:
    """Return which tables of one topic differ: a topic is captured from one offset on. Pure."""
    problems = []
    first: dict[str, str] = {}
    for name, checkpoint in checkpoints.items():
        other = first.setdefault(checkpoint.topic, name)
        there, here = checkpoints[other].offsets, checkpoint.offsets
        if there != here:
            problems.append(
                f"the tables {other} and {name} have different offsets of the topic {checkpoint.topic}: "
                f"{dict(there)} and {dict(here)}; run the job of the one that is behind until it has reached "
                "the other one"
            )
    return problems


def choose_offsets(checkpoints: Iterable[KafkaCheckpoint]) -> dict[Partition, int]:
    """Return the next offset of each partition, given checkpoints without conflicts. Pure."""
    return {
        Partition(checkpoint.topic, number): offset
        for checkpoint in checkpoints
        for number, offset in checkpoint.offsets.items()
    }


def list_topic_problems(
    offsets: Mapping[Partition, int], captured: CapturedRanges, topics: Topics
) -> list[str]:
    """Return why the partitions cannot begin at these offsets. Raises `SourceError`."""
    found = topics.describe(sorted({partition.topic for partition in offsets}))
    if errors := [error.message for error in found.values() if isinstance(error, SourceError)]:
        return errors
    known = {one for topic in found.values() if isinstance(topic, Topic) for one in topic.partitions}
    ends = topics.find_offsets(sorted(known & offsets.keys()), "end")
    problems = [error.message for error in ends.errors.values()]
    for partition, offset in sorted(offsets.items()):
        begun = captured.positions.get(partition)
        if partition not in known:
            problems.append(f"partition {partition} of a checkpoint does not exist")
        elif ends.found.get(partition, offset) < offset:
            problems.append(
                f"partition {partition} ends at offset {ends.found[partition]}, before the checkpoint at "
                f"{offset}: the topic was created again; create the table again, too"
            )
        elif begun is not None and begun.begin != offset:
            problems.append(
                f"partition {partition} is captured from offset {begun.begin} on, and the checkpoint is "
                f"{offset}; adopt the tables before the first `run` of the lake"
            )
    return problems


def iter_starts(
    offsets: Mapping[Partition, int], cluster: str, topics: Topics, now: datetime
) -> Iterator[CapturedEvent]:
    """Yield an event for each partition that records where it begins. The same offset has the same event.

    A partition of the topic without an offset begins at its first message, as with HoodieStreamer.
    """
    found = topics.describe(sorted({partition.topic for partition in offsets}))
    for partition, offset in sorted(offsets.items()):
        topic = found[partition.topic]
        if isinstance(topic, SourceError):
            raise topic
        position = Position(topic.topic_id, 0, offset, offset)
        body = build_range_message(
            cluster, Announcement(OffsetRange(partition, offset, offset), position), now
        )
        yield from (CapturedEvent(event, now, "") for event in parse_message(body).events)
