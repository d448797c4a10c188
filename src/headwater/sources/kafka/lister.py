"""Captured ranges of offsets as listed objects. A cluster has no list of ranges: the lake divided them."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from headwater.errors import SourceError
from headwater.sources.kafka.ranges import CapturedRanges, OffsetRange, Partition, parse_range
from headwater.sources.kafka.topics import Topics
from headwater.sources.lister import ListedObject, UnusablePath


@dataclass(frozen=True, slots=True)
class Captured:
    """What the lake has of a cluster: the keys of its events, sorted, with their times, and how far it is."""

    keys: Iterable[tuple[str, datetime]]
    ranges: CapturedRanges


class KafkaLister:
    """Lists the ranges that `captured` has, and reports as unusable what the topics have beyond.

    A range whose messages Kafka has removed stays listed: its rows stay in the tables.
    """

    def __init__(
        self, cluster: Topics, topics: tuple[str, ...], on_unusable: Callable[[UnusablePath], None] | None
    ) -> None:
        self._cluster = cluster
        self._topics = topics
        self._on_unusable = on_unusable
        self._captured: Captured | None = None

    def follow(self, captured: Captured) -> "KafkaLister":
        """Return this lister, with what it lists."""
        self._captured = captured
        return self

    def iter_objects(self, prefix: str = "", start_after: str = "") -> Iterator[ListedObject]:
        """See `Lister`. Empty until `follow` is called."""
        if self._captured is None:
            return
        for key, time in self._captured.keys:
            one = parse_range(key)
            if one is not None and not one.is_start and key.startswith(prefix) and key > start_after:
                yield ListedObject(key, 0, "", None, time)
        if self._on_unusable is not None:
            for path in self._find_uncaptured(self._captured.ranges, prefix):
                self._on_unusable(path)

    def _find_uncaptured(self, captured: CapturedRanges, prefix: str) -> Iterator[UnusablePath]:
        """Yield what is not captured: ranges whose announcement was lost, and new messages."""
        new = [
            OffsetRange(partition, known, end)
            for partition, end in self._find_ends().items()
            if end > (known := self._find_next(captured, partition))
        ]
        for one in (*captured.missing, *sorted(new)):
            if one.key.startswith(prefix):
                detail = f"{one.end - one.begin} offsets are not captured yet; the next run captures them"
                yield UnusablePath(one.key, "not_captured", detail)

    def _find_next(self, captured: CapturedRanges, partition: Partition) -> int:
        position = captured.positions.get(partition)
        return 0 if position is None else position.next

    def _find_ends(self) -> dict[Partition, int]:
        partitions: list[Partition] = []
        for found in self._cluster.describe(self._cluster.find_topics(self._topics)).values():
            if isinstance(found, SourceError):
                raise found
            partitions += found.partitions
        ends = self._cluster.find_offsets(partitions, "end")
        for error in ends.errors.values():
            raise error
        return dict(ends.found)
