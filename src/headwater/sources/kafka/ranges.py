"""Ranges of offsets as objects: their keys, and which ranges are next. Pure.

A key is `topic/partition/first-last`, with offsets of 20 digits, so that keys are in the order of offsets.
`topic/partition/first` without an end records where a partition begins.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

DIGITS = 20
_KEY = re.compile(r"(?P<topic>[^/]+)/(?P<partition>\d+)/(?P<first>\d{20})(?:-(?P<last>\d{20}))?")


_OFFSET = re.compile(r"(?P<partition>[^/]+/\d+)/(?P<offset>\d{1,19})")


class Partition(NamedTuple):
    """One partition of a topic."""

    topic: str
    number: int

    def __str__(self) -> str:
        return f"{self.topic}/{self.number}"


@dataclass(frozen=True, slots=True, order=True)
class OffsetRange:
    """The offsets from `begin` to `end` (exclusive); an empty one records where the partition begins."""

    partition: Partition
    begin: int
    end: int

    @property
    def is_start(self) -> bool:
        """True if it only records where the partition begins."""
        return self.begin == self.end

    @property
    def key(self) -> str:
        """Return the key of the object."""
        first = f"{self.partition}/{self.begin:0{DIGITS}d}"
        return first if self.is_start else f"{first}-{self.end - 1:0{DIGITS}d}"


def parse_range(key: str) -> OffsetRange | None:
    """Return the range of a key; None for another key."""
    found = _KEY.fullmatch(key)
    if found is None:
        return None
    begin = int(found["first"])
    end = begin if found["last"] is None else int(found["last"]) + 1
    if end < begin:
        return None
    return OffsetRange(Partition(found["topic"], int(found["partition"])), begin, end)


def find_offset(key: str, number: int) -> tuple[Partition, int] | None:
    """Return the partition and the offset of a record, by its number in a range; None if it has no offset.

    Further records of one message have numbers after all offsets.
    """
    one = parse_range(key)
    if one is None or one.is_start or number > one.end - one.begin:
        return None
    return one.partition, one.begin + number - 1


def parse_offset(address: str) -> tuple[str, str] | None:
    """Parse `topic/partition/offset`; return the first part of the keys of its partition, and a text that is
    after the key of its range and before that of the next. None for another address."""
    found = _OFFSET.fullmatch(address)
    if found is None:
        return None
    partition = f"{found['partition']}/"
    return partition, f"{partition}{int(found['offset']):0{DIGITS}d}-~"


@dataclass(frozen=True, slots=True)
class Position:
    """How far a partition is captured. `topic_id` identifies the topic, which may be created again under its
    name; `generation` counts that. `begin` is the first captured offset, `next` the one after the last.
    """

    topic_id: str
    generation: int
    begin: int
    next: int


@dataclass(frozen=True, slots=True)
class CapturedRanges:
    """What the lake has of a cluster: positions, and ranges before them that are missing."""

    positions: Mapping[Partition, Position]
    missing: Sequence[OffsetRange] = ()


@dataclass(frozen=True, slots=True)
class PartitionState:
    """A partition at the broker: its first offset, and the one after its last readable message."""

    topic_id: str
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Announcement:
    """A range to announce, with the position from then on."""

    range: OffsetRange
    position: Position


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a partition cannot be continued."""

    partition: Partition
    detail: str


@dataclass(frozen=True, slots=True)
class Advance:
    """What follows from the states of partitions."""

    announcements: list[Announcement] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)


def advance(
    positions: Mapping[Partition, Position],
    states: Mapping[Partition, PartitionState],
    starts: Mapping[Partition, int],
    *,
    most: int,
    may_restart: bool,
) -> Advance:
    """Return the ranges that follow the positions, of at most `most` offsets each.

    A partition without a position begins at its offset in `starts`. If `may_restart`, one of a topic that was
    created again begins at its first offset, and one that lost its newest messages at its end. Offsets that
    the broker has removed are announced all the same: only reading them reports their loss.
    """
    found = Advance()
    for partition, state in sorted(states.items()):
        position = positions.get(partition)
        if position is None:
            begin = min(max(starts.get(partition, state.first), state.first), state.end)
            position = Position(state.topic_id, 0, begin, begin)
            found.announcements.append(Announcement(OffsetRange(partition, begin, begin), position))
        elif fault := _find_fault(partition, position, state):
            if not may_restart:
                found.faults.append(fault)
                continue
            begin = state.end if position.topic_id == state.topic_id else state.first
            position = Position(state.topic_id, position.generation + 1, begin, begin)
            found.announcements.append(Announcement(OffsetRange(partition, begin, begin), position))
        for one in split_range(OffsetRange(partition, position.next, state.end), most):
            position = replace(position, next=one.end)
            found.announcements.append(Announcement(one, position))
    return found


def split_range(whole: OffsetRange, most: int) -> Iterator[OffsetRange]:
    """Yield ranges of at most `most` offsets."""
    for begin in range(whole.begin, whole.end, most):
        yield OffsetRange(whole.partition, begin, min(begin + most, whole.end))


def _find_fault(partition: Partition, position: Position, state: PartitionState) -> Fault | None:
    if position.topic_id != state.topic_id:
        return Fault(partition, "it was deleted and created again since its messages were captured")
    if state.end < position.next:
        return Fault(
            partition,
            f"partition {partition.number} ends at offset {state.end}, and {position.next} offsets are "
            "captured: the broker has lost its newest messages",
        )
    return None
