"""Generated keys from the store's own notification to the row: no wrong object, no lost one, no crash."""

import json
import threading
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote_plus

import boto3
import pytest
from botocore.exceptions import BotoCoreError, ClientError
from pyspark.sql import SparkSession

from headwater.app import App
from headwater.app.run import Run
from headwater.capture.consumer import Consumer, ConsumerOptions
from headwater.config.settings import Settings
from headwater.config.table import TableConfig
from headwater.demo.emulator import CREDENTIALS, REGION
from headwater.demo.landing_zone import ALL_EVENTS, create_queue, find_queue_arn
from headwater.ingest.lineage import OBJECT, ROW
from headwater.ingest.planning.selection import build_selector
from headwater.lake.layout import events_path, quarantine_path, table_path
from headwater.lake.table import Table
from headwater.sources.memory.queue import MemoryQueue
from headwater.sources.message_parser import parse_message
from tests.fixtures.emulator import EmulatorSession
from tests.fixtures.faults.generated_keys import iter_keys
from tests.fixtures.faults.key_store import find_etag, run_key_store
from tests.fixtures.notification_bodies import s3_record
from tests.fixtures.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

TABLES = {"rows": {"path": "**", "format": "json", "mode": "mirror", "schema": "token bigint"}}
QUICK = 2_000
MANY = 100_000
_THREADS = 8


def build_contents(count: int, seed: int) -> dict[str, bytes]:
    """Every object has a token of its own, by which its row is known whatever the row says of itself."""
    return {key: f'{{"token": {at}}}\n'.encode() for at, key in enumerate(islice(iter_keys(seed), count))}


def build_settings(bucket: str, endpoint: str, queue_url: str, lake: Path) -> Settings:
    queue = {"url": queue_url, "endpoint": endpoint}
    source = {"type": "s3", "bucket": bucket, "region": REGION, "endpoint": endpoint, "queue": queue}
    return Settings.model_validate({"source": source, "lake": str(lake), "tables": TABLES})


def assert_rows_are_the_objects(app: App, bucket: str, contents: Mapping[str, bytes]) -> None:
    """One event and one row a key, and the row is of that key's own content."""
    lake = app.settings.lake
    events = Table(app.spark, events_path(lake)).read().select("key").collect()
    assert_same(Counter(row["key"] for row in events), Counter(contents.keys()), "keys in events")
    rows = Table(app.spark, table_path(lake, "rows")).read().select("token", OBJECT, ROW).collect()
    wanted = [(json.loads(data)["token"], f"s3://{bucket}/{key}", 1) for key, data in contents.items()]
    assert_same(Counter(tuple(row) for row in rows), Counter(wanted), "rows")
    quarantine = Table(app.spark, quarantine_path(lake))
    assert not quarantine.load_timeline().exists() or quarantine.read().count() == 0


def assert_same(found: Counter[Any], wanted: Counter[Any], what: str) -> None:
    extra, missing = list((found - wanted).elements()), list((wanted - found).elements())
    said = f"{len(extra)} {what} too many, {len(missing)} missing"
    assert extra + missing == [], f"{said}\ntoo many: {extra[:5]!r}\nmissing: {missing[:5]!r}"


# -- through the emulator ----------------------------------------------------------------------------


@pytest.fixture
def notified_twice(emulator: EmulatorSession) -> Iterator[tuple[str, str]]:
    """A bucket and a queue that hears of each object by S3 (form-encoded) and by EventBridge (raw)."""
    clients = emulator.clients
    bucket = f"keys-{uuid.uuid4().hex[:12]}"
    clients.s3.create_bucket(Bucket=bucket)
    queue_url = create_queue(clients, bucket)
    arn = find_queue_arn(clients, queue_url)
    events = boto3.client(
        "events",
        endpoint_url=emulator.endpoint,
        region_name=REGION,
        aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
    )
    pattern = {"source": ["aws.s3"], "detail": {"bucket": {"name": [bucket]}}}
    events.put_rule(Name=bucket, EventPattern=json.dumps(pattern))
    events.put_targets(Rule=bucket, Targets=[{"Id": "queue", "Arn": arn}])
    clients.s3.put_bucket_notification_configuration(
        Bucket=bucket,
        NotificationConfiguration={
            "QueueConfigurations": [{"QueueArn": arn, "Events": list(ALL_EVENTS)}],
            "EventBridgeConfiguration": {},
        },
    )
    yield bucket, queue_url
    events.remove_targets(Rule=bucket, Ids=["queue"])
    events.delete_rule(Name=bucket)
    events.close()


def put_all(emulator: EmulatorSession, bucket: str, contents: Mapping[str, bytes]) -> dict[str, str]:
    """Put them; returns why the store did not take some of them."""
    refused: dict[str, str] = {}

    def put(key: str) -> None:
        try:
            emulator.clients.s3.put_object(Bucket=bucket, Key=key, Body=contents[key])
        except (ClientError, BotoCoreError) as error:
            refused[key] = str(error)

    with ThreadPoolExecutor(_THREADS) as pool:
        list(pool.map(put, contents))
    return refused


def test_rows_of_two_thousand_generated_keys_are_those_of_their_objects(
    spark: SparkSession,
    emulator: EmulatorSession,
    notified_twice: tuple[str, str],
    credentials: None,
    tmp_path: Path,
) -> None:
    bucket, queue_url = notified_twice
    contents = build_contents(QUICK, seed=1)
    refused = put_all(emulator, bucket, contents)
    assert refused == {}, "the emulator takes what S3 takes"

    def depth() -> int:
        found = emulator.clients.sqs.get_queue_attributes(
            QueueUrl=queue_url, AttributeNames=["ApproximateNumberOfMessages"]
        )
        return int(found["Attributes"]["ApproximateNumberOfMessages"])

    wait_until(lambda: depth() >= 2 * QUICK + 1, "messages of all objects", 60)
    app = App(build_settings(bucket, emulator.endpoint, queue_url, tmp_path / "lake"), spark=spark)
    report = Run(app).once(threading.Event())
    assert (report.failures, report.component_failures) == ({}, {})
    # Both notifications of an object have its sequencer, so they are one event.
    assert report.capture.duplicates == QUICK
    (done,) = report.reconciles
    assert (done.listed, done.emitted) == (QUICK, 0)
    assert_rows_are_the_objects(app, bucket, contents)


# -- a hundred thousand ------------------------------------------------------------------------------


def encode_as_java(key: str) -> str:
    """As `URLEncoder` of Java writes a key, which S3 is written in; slashes stay."""
    return quote_plus(key, safe="/*").replace("~", "%7E")


def build_body(bucket: str, key: str, data: bytes, number: int) -> str:
    """Every third one as EventBridge sends it."""
    sequencer = f"{number:016X}"
    if number % 3 == 0:
        stored = {"key": key, "size": len(data), "etag": find_etag(data), "sequencer": sequencer}
        body = {
            "detail-type": "Object Created",
            "source": "aws.s3",
            "time": "2026-05-01T00:00:00Z",
            "detail": {"bucket": {"name": bucket}, "object": stored},
        }
        return json.dumps(body, ensure_ascii=number % 2 == 0)
    form = encode_as_java(key) if number % 2 else quote_plus(key, safe="/")
    stored = {"key": form, "size": len(data), "eTag": find_etag(data), "sequencer": sequencer}
    record = s3_record(object_=stored)
    record["s3"]["bucket"]["name"] = bucket
    return json.dumps({"Records": [record]})


def test_hundred_thousand_keys_come_out_of_every_notification_as_they_went_in() -> None:
    select = build_selector(TableConfig(path="**", format="json"))
    for number, key in enumerate(islice(iter_keys(3), MANY)):
        parsed = parse_message(build_body("generated-keys", key, b"", number))
        assert [event.key for event in parsed.events] == [key], parsed
        assert select(key) is None


def capture_all(app: App, bodies: Sequence[str]) -> None:
    """The consumer itself, on a queue in this process."""
    queue = MemoryQueue(capacity=len(bodies))
    for body in bodies:
        queue.send(body)
    consumer = Consumer(
        queue, app.events.append, app.stores.quarantine.append, ConsumerOptions(long_poll_wait=0.2)
    )
    stats = consumer.run_once(empty_poll_seconds=0.1)
    assert (stats.events, stats.quarantined) == (len(bodies), 0)


@pytest.mark.long
@pytest.mark.timeout(3_600)
def test_rows_of_a_hundred_thousand_generated_keys_are_those_of_their_objects(
    spark: SparkSession, credentials: None, tmp_path: Path
) -> None:
    bucket = "generated-keys"
    contents = build_contents(MANY, seed=2)
    bodies = [build_body(bucket, key, data, at) for at, (key, data) in enumerate(contents.items())]
    with run_key_store(bucket, contents) as (endpoint, unknown):
        settings = build_settings(bucket, endpoint, f"{endpoint}/none", tmp_path / "lake")
        app = App(settings, spark=spark)
        capture_all(app, bodies)
        pipeline = app.build_pipeline("rows")
        while pipeline.run_batch() is not None:
            pass
        assert unknown == []
        assert_rows_are_the_objects(app, bucket, contents)
