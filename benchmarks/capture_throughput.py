"""How much of what raw boto3 can receive and delete does capture commit to the events table?

A queue holds 120,000 notifications. Ours: the consumer, from its first receive call until every event is
committed and every message deleted, into a real events table. Floor: as many threads that receive ten
messages and delete them, on one shared client, and keep nothing. Same server, same process, in turns.
"""

import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.pairs import choose_median, measure_pairs, say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.apps import build_settings, open_app, use_emulator_credentials
from benchmarks.rig.capturing import LIMIT_SECONDS, capture
from benchmarks.rig.elasticmq import run_elasticmq
from benchmarks.rig.notifications import BUCKET, load_queue
from benchmarks.sizes import sized
from headwater.demo.landing_zone import Clients, build_clients

if TYPE_CHECKING:
    from mypy_boto3_sqs.literals import QueueAttributeNameType

MESSAGES = sized(120_000, 500)
WARM_UP = sized(40_000, 200)
PAIRS = sized(3, 1)
THREADS = 8


def run() -> BenchmarkResult:
    """Events per second against messages per second."""
    use_emulator_credentials()
    with tempfile.TemporaryDirectory() as name, run_elasticmq(Path(name)) as endpoint:
        clients = build_clients(endpoint, connections=THREADS)
        url = clients.sqs.create_queue(QueueName="landing", Attributes={"VisibilityTimeout": "120"})[
            "QueueUrl"
        ]
        queue = {"url": url, "endpoint": endpoint, "receivers": THREADS}
        # A receive call that still waits when a run ends would hide messages of the next one.
        queue |= {"visibility_timeout": 120, "long_poll_wait": 1}
        source = {"type": "s3", "bucket": BUCKET, "region": "us-east-1", "queue": queue}
        tables = {"orders": {"path": "orders/**/*.json"}}
        with open_app(build_settings(Path(name), source, tables)) as app:
            seeds = count(1)

            def measure(drain: Callable[[int], float], messages: int = MESSAGES) -> float:
                load_queue(endpoint, url, messages, next(seeds))
                return messages / drain(messages)

            def ours(messages: int) -> float:
                return capture(app, messages)

            def floor(messages: int) -> float:
                return receive_and_delete(clients, url, messages)

            say(f"warm-up: ours {measure(ours, WARM_UP):.0f}/s, floor {measure(floor, WARM_UP):.0f}/s")
            pair = choose_median(measure_pairs(lambda: measure(ours), lambda: measure(floor), PAIRS))
    return BenchmarkResult("capture_throughput", pair.value, pair.floor, "events/s", 1.5, "higher")


def receive_and_delete(clients: Clients, url: str, messages: int) -> float:
    """Seconds in which threads that do nothing else empty the queue."""
    started = time.monotonic()
    deadline = started + LIMIT_SECONDS
    lock = threading.Lock()
    left = messages
    ended = started

    def drain() -> None:
        nonlocal left, ended
        while left > 0:
            answer = clients.sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10, WaitTimeSeconds=1)
            found = answer.get("Messages", [])
            if found:
                clients.sqs.delete_message_batch(
                    QueueUrl=url,
                    Entries=[
                        {"Id": str(at), "ReceiptHandle": message["ReceiptHandle"]}
                        for at, message in enumerate(found)
                    ],
                )
            elif time.monotonic() > deadline:
                raise TimeoutError(f"{left} of {messages} messages did not come; {describe(clients, url)}")
            with lock:
                left -= len(found)
                ended = time.monotonic() if found else ended

    with ThreadPoolExecutor(THREADS) as pool:
        for done in [pool.submit(drain) for _ in range(THREADS)]:
            done.result()
    return ended - started


def describe(clients: Clients, url: str) -> str:
    """What the queue says of itself."""
    names: Sequence[QueueAttributeNameType] = (
        "ApproximateNumberOfMessages",
        "ApproximateNumberOfMessagesNotVisible",
    )
    return str(clients.sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"])
