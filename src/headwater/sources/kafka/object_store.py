"""Reads ranges of offsets from Kafka, as the bytes of objects: see `headwater.sources.log_records`."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from headwater.errors import (
    ObjectExpiredError,
    ObjectForbiddenError,
    ObjectTooLargeError,
    ObjectUnavailableError,
    QueueNotFoundError,
    SourceError,
    SourceUnavailableError,
)
from headwater.sources.kafka.cluster import Cluster, Settings, with_credentials
from headwater.sources.kafka.kafka_errors import END_OF_PARTITION, OUT_OF_RANGE, LastError, explain
from headwater.sources.kafka.ranges import OffsetRange, Partition, parse_range
from headwater.sources.log_records import LogColumns, LogRange
from headwater.sources.object_store import ObjectContent, ObjectRef, ObjectState, ObjectStoreConfig

_PATIENCE_SECONDS = 30.0
_POLL_SECONDS = 1.0
_MOST_AT_A_TIME = 10_000
# How long a topic's id is taken from memory.
_KNOWN_SECONDS = 5.0
# Each of them reads ahead, of partitions that others may continue.
_MOST_IDLE = 8
# librdkafka reads ahead. What it holds is lost if the next range is elsewhere, so it holds little (in
# kilobytes). It continues soon after that is taken, and lets no request wait long behind one for messages
# that do not exist yet (in milliseconds).
_READ_AHEAD = {"queued.max.messages.kbytes": 4096, "fetch.queue.backoff.ms": 5, "fetch.wait.max.ms": 100}
_SCHEME = "kafka"


class KafkaObjectStore:
    """See `headwater.sources.object_store`. A range never changes, so an etag is not needed.

    A version is the id of the topic: a topic of that name with another id has other messages.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._cluster: Cluster | None = None
        self._idle: list[_Reader] = []
        self._turns = _Turns()
        self._topics: dict[str, tuple[float, str]] = {}

    def read(self, ref: ObjectRef, max_bytes: int | None = None) -> ObjectContent:
        """See `ObjectStore.read`. Raises `ObjectExpiredError` if none of the messages exists any more."""
        one = parse_range(ref.key)
        if one is None or one.is_start:
            raise ObjectForbiddenError(f"{self.uri(ref)} is no range of offsets")
        try:
            topic_id = self._ensure_topic(one, ref)
            with self._turns.take(one), self._borrow(one, topic_id) as reader:
                found = reader.read(one, topic_id, max_bytes, self.uri(ref))
        except SourceUnavailableError as error:
            raise ObjectUnavailableError(error.message, hint=error.hint) from error
        data = found.encode()
        return ObjectContent(data, ObjectState(None, topic_id, len(data), found.last_time or _now()))

    def state(self, ref: ObjectRef) -> ObjectState | None:
        """See `ObjectStore.state`. A range has one state only, as long as its topic exists."""
        return ObjectState(None, ref.version_id, ref.size or 0, _now()) if parse_range(ref.key) else None

    def uri(self, ref: ObjectRef) -> str:
        """See `ObjectStore.uri`. Only headwater reads it."""
        return f"{_SCHEME}://{ref.bucket}/{ref.key}"

    def _ensure_topic(self, one: OffsetRange, ref: ObjectRef) -> str:
        """Return the id of the topic, which is the one that the reference names, if it names one."""
        topic = one.partition.topic
        found = self._find_topic_id(topic)
        if isinstance(found, QueueNotFoundError):
            raise ObjectExpiredError(f"{self.uri(ref)}: the topic {topic} was deleted") from found
        if isinstance(found, SourceError):
            raise found
        if ref.version_id is not None and found != ref.version_id:
            raise ObjectExpiredError(
                f"{self.uri(ref)}: the topic {topic} was deleted and created again, so the messages no "
                "longer exist"
            )
        return found

    def _find_topic_id(self, topic: str) -> str | SourceError:
        with self._lock:
            known = self._topics.get(topic)
            if known is not None and time.monotonic() < known[0]:
                return known[1]
            if self._cluster is None:
                self._cluster = Cluster(self._settings)
            found = self._cluster.describe([topic])[topic]
            if isinstance(found, SourceError):
                return found
            self._topics[topic] = (time.monotonic() + _KNOWN_SECONDS, found.topic_id)
            return found.topic_id

    @contextmanager
    def _borrow(self, one: OffsetRange, topic_id: str) -> Iterator["_Reader"]:
        """Lend a reader to this thread, if possible one that has read up to the range."""
        with self._lock:
            at = next((n for n, idle in enumerate(self._idle) if idle.is_at(one, topic_id)), -1)
            reader = self._idle.pop(at) if self._idle else None
        reader = reader or _Reader(self._settings)
        try:
            yield reader
        except BaseException:
            reader.close()
            raise
        with self._lock:
            self._idle.append(reader)
            oldest = self._idle.pop(0) if len(self._idle) > _MOST_IDLE else None
        if oldest is not None:
            oldest.close()


class _Turns:
    """Lets one thread at a time read a partition, in the order of offsets.

    Threads that read neighbouring ranges at the same time would all receive the same messages ahead.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._busy: set[Partition] = set()
        self._waiting: dict[Partition, list[int]] = {}

    @contextmanager
    def take(self, one: OffsetRange) -> Iterator[None]:
        """Wait until no other thread reads the partition, or waits with an earlier range."""
        with self._changed:
            waiting = self._waiting.setdefault(one.partition, [])
            waiting.append(one.begin)
            try:
                self._changed.wait_for(lambda: one.partition not in self._busy and min(waiting) == one.begin)
                self._busy.add(one.partition)
            finally:
                waiting.remove(one.begin)
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._busy.remove(one.partition)
                self._changed.notify_all()


@dataclass(slots=True)
class _Collected:
    """The messages of a range so far; those before the offset `available` no longer exist."""

    available: int
    columns: LogColumns = field(default_factory=LogColumns)
    size: int = 0

    def add(self, message: Message, offset: int, limit: int | None, uri: str) -> None:
        key, value = message.key(), message.value()
        self.size += len(key or b"") + len(value or b"")
        if limit is not None and self.size > limit:
            raise ObjectTooLargeError(
                f"{uri} has more than the allowed {limit} bytes",
                hint="set `source.max_messages_per_object` to a lower value: it applies to messages that are "
                "not captured yet. For these, raise the limit of the table",
            )
        kind, millis = message.timestamp()
        headers: Any = message.headers() or ()
        found = tuple((name, _to_bytes(header)) for name, header in headers)
        self.columns.add(offset, millis if kind else None, key, value, found)


class _Reader:
    """One consumer, which belongs to no group, and where it is."""

    def __init__(self, settings: Settings) -> None:
        self._last_error = LastError()
        own: dict[str, Any] = {
            # Required by the client; nothing is ever committed.
            "group.id": "headwater-reads",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "error",
            **_READ_AHEAD,
            "error_cb": self._last_error.note,
        }
        with self._last_error.explained("Kafka consumer"):
            self._consumer = Consumer({**with_credentials(settings), **own})
        # With the topic's id: messages that it holds may be of a topic that was deleted since.
        self._place: tuple[str, OffsetRange] | None = None
        # Messages that were received after the end of the last range.
        self._ahead: list[Message] = []

    def is_at(self, one: OffsetRange, topic_id: str) -> bool:
        """True if the range begins where the last one ended, in the same topic."""
        if self._place is None:
            return False
        known_id, last = self._place
        return (known_id, last.partition, last.end) == (topic_id, one.partition, one.begin)

    def read(self, one: OffsetRange, topic_id: str, limit: int | None, uri: str) -> LogRange:
        """Return the messages of the range. Raises `ObjectError` and `SourceError`."""
        with self._last_error.explained(uri):
            if not self.is_at(one, topic_id):
                self._go_to(one, one.begin)
            self._place = None
            found = _Collected(one.begin)
            self._collect(one, found, limit, uri)
        self._place = (topic_id, one)
        return LogRange(*one.partition, one.begin, one.end, found.available, found.columns.build())

    def close(self) -> None:
        """Close the connections."""
        self._consumer.close()

    def _go_to(self, one: OffsetRange, offset: int) -> None:
        self._ahead = []
        self._consumer.assign([TopicPartition(*one.partition, offset)])

    def _collect(self, one: OffsetRange, found: _Collected, limit: int | None, uri: str) -> None:
        """Receive until a message, or the end of the partition, is past the range."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        received, self._ahead = self._ahead, []
        while True:
            for at, message in enumerate(received):
                offset = message.offset()
                if (error := message.error()) is not None:
                    if error.code() == OUT_OF_RANGE and not found.columns.offsets:
                        found.available = self._find_first(one, error, uri)
                        self._go_to(one, found.available)
                        break
                    if error.code() != END_OF_PARTITION:
                        raise explain(error, uri)
                    if offset is not None and offset >= one.end:
                        self._ahead = received[at + 1 :]
                        return
                elif offset is not None and offset >= one.end:
                    self._ahead = received[at:]
                    return
                elif offset is not None and offset >= one.begin:
                    found.add(message, offset, limit, uri)
                    if offset == one.end - 1:
                        self._ahead = received[at + 1 :]
                        return
            if received:
                deadline = time.monotonic() + _PATIENCE_SECONDS
            elif time.monotonic() > deadline:
                raise SourceUnavailableError(
                    f"{uri}: no message for {_PATIENCE_SECONDS:g} seconds",
                    hint="check the brokers; it will be tried again",
                )
            received = self._consumer.consume(_MOST_AT_A_TIME, timeout=_POLL_SECONDS)

    def _find_first(self, one: OffsetRange, error: KafkaError, uri: str) -> int:
        """Return the offset of the first message that still exists, where the range has no message left."""
        first, _ = self._consumer.get_watermark_offsets(
            TopicPartition(*one.partition), timeout=_PATIENCE_SECONDS, cached=False
        )
        if first >= one.end:
            raise ObjectExpiredError(
                f"{uri}: Kafka has removed its messages before they were read; the first one left has offset "
                f"{first}",
                hint="raise the topic's retention above the time for which a table may be behind",
            )
        if first <= one.begin:
            raise explain(error, uri)  # the range is past the end: a broker has lost messages
        return first


def _to_bytes(value: str | bytes | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value


def _now() -> datetime:
    return datetime.now(timezone.utc)


def build_kafka_store(config: ObjectStoreConfig) -> KafkaObjectStore:
    """Build a store of one cluster. Opens no connection."""
    return KafkaObjectStore(config.client)
