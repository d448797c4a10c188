"""How much of what Google's raw client can pull and acknowledge does capture commit to the events table?

A subscription holds 30,000 notifications of Cloud Storage. Ours: the consumer, from its first pull until
every event is committed and every message acknowledged, into a real events table. Floor: as many threads that
pull a thousand messages and acknowledge them, on one shared client, and keep nothing. Google's own emulator,
same process, in turns.
"""

import json
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta, timezone
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.pairs import choose_median, measure_pairs, say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.apps import build_settings, open_app
from benchmarks.rig.capturing import LIMIT_SECONDS, capture
from benchmarks.sizes import sized
from headwater.demo.google_emulators import PubSubEmulator

if TYPE_CHECKING:
    from google.pubsub_v1 import PublisherClient, PubsubMessage, SubscriberClient

MESSAGES = sized(30_000, 500)
WARM_UP = sized(10_000, 200)
PAIRS = sized(3, 1)
THREADS = 4
BUCKET = "benchmark-landing"
TOPIC = "projects/benchmark/topics/landing"
SUBSCRIPTION = "projects/benchmark/subscriptions/landing"
_BATCH = 1_000


def run() -> BenchmarkResult:
    """Events per second against messages per second."""
    from headwater.sources.gcs.clients import build_subscriber

    with (
        tempfile.TemporaryDirectory() as name,
        PubSubEmulator(Path(name), heap="4g") as server,
        build_subscriber(server.endpoint) as subscriber,
    ):
        publisher = build_publisher(server.endpoint)
        publisher.create_topic(name=TOPIC)
        subscriber.create_subscription(
            request={"name": SUBSCRIPTION, "topic": TOPIC, "ack_deadline_seconds": 120}
        )
        queue = {"endpoint": server.endpoint, "receivers": THREADS, "ack_deadline": 120, "long_poll_wait": 1}
        source = {"type": "gcs", "bucket": BUCKET, "subscription": SUBSCRIPTION, "queue": queue}
        tables = {"orders": {"path": "orders/**/*.json"}}
        with open_app(build_settings(Path(name), source, tables)) as app:
            seeds = count(1)

            def ours(messages: int = MESSAGES) -> float:
                publish(publisher, messages, next(seeds))
                return messages / capture(app, messages)

            def floor(messages: int = MESSAGES) -> float:
                publish(publisher, messages, next(seeds))
                return messages / pull_and_acknowledge(subscriber, messages)

            say(f"warm-up: ours {ours(WARM_UP):.0f}/s, floor {floor(WARM_UP):.0f}/s")
            pair = choose_median(measure_pairs(ours, floor, PAIRS))
    return BenchmarkResult("capture_pubsub", pair.value, pair.floor, "events/s", 0.15, "higher")


def build_publisher(endpoint: str) -> "PublisherClient":
    """A client that fills the topic."""
    from urllib.parse import urlsplit

    import grpc
    from google.pubsub_v1 import PublisherClient
    from google.pubsub_v1.services.publisher.transports import PublisherGrpcTransport

    channel = grpc.insecure_channel(urlsplit(endpoint).netloc)
    return PublisherClient(transport=PublisherGrpcTransport(channel=channel))


def build_message(number: int, seed: int, now: datetime) -> "PubsubMessage":
    """One notification of one object, as Cloud Storage sends it."""
    from google.pubsub_v1 import PubsubMessage

    key = f"orders/day=2026-05-01/{seed:04d}/part-{number:08d}.json"
    moment = now + timedelta(milliseconds=number)
    generation = str(int(moment.timestamp() * 1e6))
    resource = {
        "kind": "storage#object",
        "id": f"{BUCKET}/{key}/{generation}",
        "selfLink": f"https://www.googleapis.com/storage/v1/b/{BUCKET}/o/{seed}",
        "name": key,
        "bucket": BUCKET,
        "generation": generation,
        "metageneration": "1",
        "contentType": "application/json",
        "timeCreated": moment.isoformat(),
        "updated": moment.isoformat(),
        "storageClass": "STANDARD",
        "size": str(1024 + number % 997),
        "md5Hash": "1B2M2Y8AsgTpgAmY7PhCfg==",
        "crc32c": "AAAAAA==",
        "etag": "CAE=",
    }
    attributes = {
        "notificationConfig": f"projects/_/buckets/{BUCKET}/notificationConfigs/1",
        "eventType": "OBJECT_FINALIZE",
        "payloadFormat": "JSON_API_V1",
        "bucketId": BUCKET,
        "objectId": key,
        "objectGeneration": generation,
        "eventTime": moment.isoformat(),
    }
    return PubsubMessage(data=json.dumps(resource).encode(), attributes=attributes)


def publish(publisher: "PublisherClient", messages: int, seed: int) -> None:
    """Fill the topic."""
    now = datetime.now(timezone.utc)
    for first in range(0, messages, _BATCH):
        numbers = range(first, min(first + _BATCH, messages))
        publisher.publish(
            request={"topic": TOPIC, "messages": [build_message(number, seed, now) for number in numbers]}
        )


def pull_and_acknowledge(subscriber: "SubscriberClient", messages: int) -> float:
    """Seconds in which threads that do nothing else empty the subscription."""
    from google.api_core.exceptions import DeadlineExceeded

    started = time.monotonic()
    lock = threading.Lock()
    left, ended = messages, started

    def drain() -> None:
        nonlocal left, ended
        while left > 0:
            request = {"subscription": SUBSCRIPTION, "max_messages": _BATCH}
            try:
                received = subscriber.pull(request=request, timeout=1, retry=None).received_messages
            except DeadlineExceeded:
                received = []
            ids = [found.ack_id for found in received]
            if ids:
                subscriber.acknowledge(subscription=SUBSCRIPTION, ack_ids=ids)
            elif time.monotonic() > started + LIMIT_SECONDS:
                raise TimeoutError(f"{left} of {messages} messages did not come")
            with lock:
                left -= len(ids)
                ended = time.monotonic() if ids else ended

    with ThreadPoolExecutor(THREADS) as pool:
        for done in [pool.submit(drain) for _ in range(THREADS)]:
            done.result()
    return ended - started
