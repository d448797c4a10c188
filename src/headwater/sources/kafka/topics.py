"""`Topics`: what a cluster is asked about its topics, and the answers. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from headwater.errors import SourceError
from headwater.sources.kafka.ranges import Partition


@dataclass(frozen=True, slots=True)
class Topic:
    """A topic. Its id is another one after it was deleted and created again under its name."""

    name: str
    topic_id: str
    partitions: tuple[Partition, ...]


@dataclass(frozen=True, slots=True)
class Offsets:
    """Offsets by partition, and the errors of the partitions that could not be asked."""

    found: Mapping[Partition, int]
    errors: Mapping[Partition, SourceError]


class Topics(Protocol):
    """Requests about topics. Thread-safe. Every method raises `SourceError` or a subclass."""

    def find_topics(self, wanted: Sequence[str]) -> list[str]:
        """Return the names of the wanted topics, in order; those that begin with `^` are patterns."""
        ...

    def describe(self, names: Sequence[str]) -> dict[str, Topic | SourceError]:
        """Return the topics by name, or why one cannot be described."""
        ...

    def find_offsets(
        self, partitions: Sequence[Partition], where: Literal["first", "end"] | datetime
    ) -> Offsets:
        """Return the first offsets, those after the last readable messages, or the first ones of a time.

        A partition without messages from that time on is missing in the result.
        """
        ...
