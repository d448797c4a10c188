"""Message bodies that announce ranges of offsets, and their parser. Pure."""

import json
from collections.abc import Mapping
from datetime import datetime

from headwater.sources.kafka.ranges import DIGITS, Announcement, OffsetRange, Partition
from headwater.sources.notifications.fields import quote, read_text
from headwater.sources.notifications.json_text import to_json
from headwater.sources.notifications.outcome import UnusableRecordError
from headwater.sources.notifications.times import read_time
from headwater.sources.object_event import ObjectEvent, build_order_key

PROVIDER = "kafka"
RANGE_EVENT = "OffsetsWritten"
START_EVENT = "PartitionStarted"
_MARK = "headwaterKafka"
_VERSION = 1
_GENERATION_DIGITS = 8
# Kafka does not report sizes; batches and tasks are divided by approximate ones.
_TYPICAL_BYTES = 1024


def build_range_message(cluster: str, announced: Announcement, now: datetime) -> str:
    """Return the body that announces a range."""
    one, position = announced.range, announced.position
    return json.dumps(
        {
            _MARK: _VERSION,
            "cluster": cluster,
            "topic": one.partition.topic,
            "topicId": position.topic_id,
            "generation": position.generation,
            "partition": one.partition.number,
            "begin": one.begin,
            "end": one.end,
            # Which ranges are missing is known even if that of the begin was lost with its process.
            "partitionBegin": position.begin,
            "time": now.isoformat(),
        }
    )


def is_kafka_range(body: Mapping[str, object]) -> bool:
    """True for a body of `build_range_message`."""
    return _MARK in body


def parse_kafka_range(body: Mapping[str, object]) -> ObjectEvent:
    """Parse a body. Raises `UnusableRecordError`."""
    if body.get(_MARK) != _VERSION:
        raise UnusableRecordError("unknown_shape", f"{_MARK} is not {_VERSION}: {quote(body.get(_MARK))}")
    numbers = {name: _read_number(body, name) for name in ("partition", "begin", "end", "generation")}
    if numbers["end"] < numbers["begin"]:
        raise UnusableRecordError("unknown_shape", "end is before begin")
    partition = Partition(read_text(body, "topic"), numbers["partition"])
    one = OffsetRange(partition, numbers["begin"], numbers["end"])
    # Orders the events of one key: the same offsets of a topic that was created again.
    sequencer = f"{numbers['generation']:0{_GENERATION_DIGITS}x}"
    return ObjectEvent(
        provider=PROVIDER,
        bucket=read_text(body, "cluster"),
        key=one.key,
        version_id=read_text(body, "topicId"),
        sequencer=sequencer,
        order_key=build_order_key(sequencer),
        kind="other" if one.is_start else "created",
        event_name=START_EVENT if one.is_start else RANGE_EVENT,
        event_time=read_time(body, "time"),
        size=(one.end - one.begin) * _TYPICAL_BYTES,
        etag=None,
        raw=to_json(body),
    )


def _read_number(body: Mapping[str, object], name: str) -> int:
    value = body.get(name)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 10**DIGITS // 2:
        raise UnusableRecordError("unknown_shape", f"{name} is no number of the expected size")
    return value
