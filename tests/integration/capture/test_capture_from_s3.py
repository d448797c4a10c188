"""A bucket, its notifications and the capture loop, over the real protocols."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from headwater.capture.consumer import Consumer, ConsumerOptions
from headwater.config.source import S3SourceConfig
from headwater.demo.emulator import CREDENTIALS
from headwater.demo.landing_zone import LandingZone
from headwater.sources.queue import Queue, QueueDepth
from headwater.sources.registry import build_queue
from tests.fixtures.capture import RunningConsumer, Tables
from tests.fixtures.emulator import EmulatorSession

ODD_KEYS = [
    "plain.json",
    "a b+c.json",
    "a%41b.json",
    "a%2Fb.json",
    "100%.json",
    "quote\"'.json",
    "back\\slash.json",
    "#hash&x=1?.json",
    "day=2026-01-01/übergröße-日本-😀.json",
    "brace{a,b}[c]*.json",
    " edge ",
]


@pytest.fixture
def zone(emulator: EmulatorSession) -> LandingZone:
    return emulator.create_landing_zone(versioned=True)


@pytest.fixture
def queue(zone: LandingZone, monkeypatch: pytest.MonkeyPatch) -> Queue:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    source = {"type": "s3", "bucket": zone.bucket, "queue": {"url": zone.queue_url}}
    return build_queue(S3SourceConfig.model_validate(source))


def capture_once(queue: Queue, tables: Tables) -> None:
    consumer = Consumer(queue, tables.append_events, tables.append_quarantine, ConsumerOptions(receivers=4))
    consumer.run_once()


def test_every_key_arrives_as_it_is_and_the_queue_is_empty_after(
    emulator: EmulatorSession, zone: LandingZone, queue: Queue
) -> None:
    for key in ODD_KEYS:
        emulator.clients.s3.put_object(Bucket=zone.bucket, Key=key, Body=b"x")
    tables = Tables()
    capture_once(queue, tables)
    assert sorted(tables.keys) == sorted(ODD_KEYS)
    assert not tables.quarantine
    assert all(captured.event.version_id and captured.event.order_key for captured in tables.events)
    assert queue.depth() == QueueDepth(0, 0)
    queue.close()


def test_creation_overwrite_and_removal_are_events_in_order(
    emulator: EmulatorSession, zone: LandingZone, queue: Queue
) -> None:
    s3 = emulator.clients.s3
    s3.put_object(Bucket=zone.bucket, Key="k", Body=b"1")
    s3.put_object(Bucket=zone.bucket, Key="k", Body=b"22")
    s3.delete_object(Bucket=zone.bucket, Key="k")
    tables = Tables()
    capture_once(queue, tables)
    events = sorted((captured.event for captured in tables.events), key=lambda event: event.order_key or "")
    assert [(event.kind, event.size) for event in events] == [
        ("created", 1),
        ("created", 2),
        ("removed", None),
    ]
    queue.close()


def test_objects_that_land_while_it_runs_are_captured_once_each(
    emulator: EmulatorSession, zone: LandingZone, queue: Queue
) -> None:
    keys = [f"in/{number}.json" for number in range(200)]
    sqs = emulator.clients.sqs
    tables = Tables()
    started = threading.Event()

    def put(key: str) -> None:
        emulator.clients.s3.put_object(Bucket=zone.bucket, Key=key, Body=b"x")
        if key.endswith("7.json"):
            sqs.send_message(QueueUrl=zone.queue_url, MessageBody="poison")
        started.set()

    with RunningConsumer(queue, tables, batch_seconds=0.1, receivers=4, long_poll_wait=1) as running:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(put, keys))
        running.wait_for(events=200, quarantined=20)
    assert sorted(tables.keys) == sorted(keys)
    assert {item.reason for item in tables.quarantine} == {"malformed_json"}
    assert queue.depth() == QueueDepth(0, 0)
    queue.close()
