"""Reads of ranges from a real broker."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from headwater.errors import (
    ObjectExpiredError,
    ObjectForbiddenError,
    ObjectTooLargeError,
    ObjectUnavailableError,
)
from headwater.sources.kafka import object_store
from headwater.sources.kafka.object_store import KafkaObjectStore
from headwater.sources.kafka.ranges import OffsetRange, Partition
from headwater.sources.log_records import LogRange, LogRecord
from headwater.sources.object_store import ObjectRef
from tests.fixtures.kafka import Kafka
from tests.fixtures.waiting import wait_until


def open_store(kafka: Kafka, isolation: str = "read_committed") -> KafkaObjectStore:
    return KafkaObjectStore(
        (("bootstrap.servers", kafka.bootstrap), ("isolation.level", isolation), ("log_level", "2"))
    )


def refer(topic: str, begin: int, end: int, version_id: str | None = None) -> ObjectRef:
    key = OffsetRange(Partition(topic, 0), begin, end).key
    return ObjectRef("kafka", "c", key, version_id=version_id)


def read(store: KafkaObjectStore, topic: str, begin: int, end: int) -> LogRange:
    return LogRange.decode(store.read(refer(topic, begin, end)).data)


def list_values(log: LogRange) -> list[tuple[int, bytes | None]]:
    return [(record.offset, record.value) for record in log.records]


@pytest.fixture
def topic(kafka: Kafka) -> str:
    return kafka.create_topic(1)


def test_any_ranges_in_any_order_have_exactly_their_messages(kafka: Kafka, topic: str) -> None:
    kafka.send(topic, *(f"m{at}" for at in range(200)))
    store = open_store(kafka)
    for begin, end in ((0, 50), (50, 120), (10, 11), (120, 200), (0, 200), (199, 200)):
        assert list_values(read(store, topic, begin, end)) == [
            (at, f"m{at}".encode()) for at in range(begin, end)
        ]


def test_many_threads_get_their_own_ranges(kafka: Kafka, topic: str) -> None:
    kafka.send(topic, *(f"m{at}" for at in range(400)))
    store = open_store(kafka)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda begin: read(store, topic, begin, begin + 10), range(0, 400, 10)))
    assert [list_values(log)[0] for log in found] == [
        (begin, f"m{begin}".encode()) for begin in range(0, 400, 10)
    ]
    assert all(len(log.records) == 10 for log in found)


def test_a_message_keeps_key_time_and_headers(kafka: Kafka, topic: str) -> None:
    headers: list[tuple[str, str | bytes | None]] = [("a", b"\xff"), ("none", None)]
    millis = int(time.time()) * 1_000 - 3_600_000 + 123  # the broker removes messages of seven days ago
    kafka.producer.produce(topic, None, key=b"\x00k", timestamp=millis, headers=headers)
    kafka.producer.flush(30)
    content = open_store(kafka).read(refer(topic, 0, 1))
    assert LogRange.decode(content.data).records == [
        LogRecord(0, millis, b"\x00k", None, (("a", b"\xff"), ("none", None)))
    ]
    assert content.state.last_modified.timestamp() == pytest.approx(millis / 1_000)


def test_a_range_with_a_time_that_is_none_in_milliseconds_is_read(kafka: Kafka, topic: str) -> None:
    micros = time.time_ns() // 1_000
    kafka.producer.produce(topic, b"{}", timestamp=micros)
    kafka.producer.flush(30)
    content = open_store(kafka).read(refer(topic, 0, 1))
    (record,) = LogRange.decode(content.data).records
    assert (record.millis, record.time) == (micros, None)


def test_aborted_messages_are_left_out_unless_they_are_wanted(kafka: Kafka, topic: str) -> None:
    kafka.send(topic, "before")
    producer = kafka.open_transaction()
    producer.produce(topic, "aborted")
    producer.flush(30)
    producer.abort_transaction(30)
    kafka.send(topic, "after")
    # The end of the transaction takes an offset, before the last message or after it.
    committed = [value for _, value in list_values(read(open_store(kafka), topic, 0, 4))]
    assert committed == [b"before", b"after"]
    assert list_values(read(open_store(kafka), topic, 1, 2)) == []
    uncommitted = list_values(read(open_store(kafka, "read_uncommitted"), topic, 0, 4))
    assert [value for _, value in uncommitted] == [b"before", b"aborted", b"after"]


def test_what_retention_has_removed_is_reported(kafka: Kafka, topic: str) -> None:
    kafka.send(topic, *(f"m{at}" for at in range(20)))
    kafka.remove_before(topic, 0, 15)
    store = open_store(kafka)
    log = read(store, topic, 10, 20)
    assert (log.begin, log.available) == (10, 15)
    assert [offset for offset, _ in list_values(log)] == [15, 16, 17, 18, 19]
    with pytest.raises(ObjectExpiredError, match="before they were read"):
        store.read(refer(topic, 0, 10))


def test_a_range_past_the_end_is_tried_again(kafka: Kafka, topic: str) -> None:
    kafka.send(topic, "m0")
    store = open_store(kafka)
    with pytest.raises(ObjectUnavailableError, match="offset"):
        store.read(refer(topic, 5, 10))
    kafka.send(topic, *(f"m{at}" for at in range(1, 10)))
    assert len(read(store, topic, 5, 10).records) == 5


def test_another_topic_of_the_name_and_a_deleted_one_have_other_messages(kafka: Kafka, topic: str) -> None:
    kafka.send(topic, "old")
    store = open_store(kafka)
    known = store.read(refer(topic, 0, 1)).state.version_id
    with pytest.raises(ObjectExpiredError, match="created again"):
        store.read(refer(topic, 0, 1, version_id="another"))
    assert store.read(refer(topic, 0, 1, version_id=known)).state.version_id == known
    kafka.delete_topic(topic)
    wait_until(lambda: not kafka.has_topic(topic), "the topic is not deleted")
    with pytest.raises(ObjectExpiredError, match="was deleted"):
        open_store(kafka).read(refer(topic, 0, 1))


def test_a_range_that_is_too_large_is_refused_and_the_next_one_is_read(kafka: Kafka, topic: str) -> None:
    kafka.send(topic, *("x" * 1_000 for _ in range(50)))
    kafka.send(topic, "small")
    store = open_store(kafka)
    with pytest.raises(ObjectTooLargeError, match="max_messages_per_object") as raised:
        store.read(refer(topic, 0, 50), max_bytes=10_000)
    assert "10000 bytes" in raised.value.message
    assert list_values(LogRange.decode(store.read(refer(topic, 50, 51), max_bytes=10_000).data)) == [
        (50, b"small")
    ]


def test_other_keys_are_refused(kafka: Kafka) -> None:
    with pytest.raises(ObjectForbiddenError):
        open_store(kafka).read(ObjectRef("kafka", "c", "orders/1.json"))


def test_what_was_read_ahead_of_a_deleted_topic_is_not_of_its_successor(
    kafka: Kafka, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(object_store, "_KNOWN_SECONDS", 0.2)
    kafka.send(topic, *(f"old {at}" for at in range(20)))
    store = open_store(kafka)
    read(store, topic, 0, 5)  # the reader now holds the messages from offset 5 on
    kafka.delete_topic(topic)
    wait_until(lambda: not kafka.has_topic(topic), "the topic is not deleted")
    kafka.create_topic(1, topic)
    wait_until(lambda: kafka.find_partitions(topic) == 1, "the topic is not created again")
    kafka.send(topic, *(f"new {at}" for at in range(20)))
    time.sleep(0.3)  # until then, the topic's id is taken from memory
    assert list_values(read(store, topic, 5, 7)) == [(5, b"new 5"), (6, b"new 6")]
