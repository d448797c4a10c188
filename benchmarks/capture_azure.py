"""How much of what Azure's raw client can receive and delete does capture commit to the events table?

A storage queue holds 2,000 events of Event Grid. Ours: the consumer, from its first request until every event
is committed and every message deleted, into a real events table. Floor: as many threads that receive 32
messages and delete each of them, with Azure's own client, and keep nothing. Microsoft's emulator, in turns.
"""

import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.pairs import choose_median, measure_pairs, say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.apps import build_settings, open_app
from benchmarks.rig.capturing import LIMIT_SECONDS, capture
from benchmarks.sizes import sized
from headwater.demo.azure_emulator import Azurite, ensure_azurite
from headwater.demo.surroundings import find_emulator_folder

if TYPE_CHECKING:
    from azure.storage.queue import QueueClient

MESSAGES = sized(2_000, 100)
WARM_UP = sized(500, 50)
PAIRS = sized(3, 1)
# As many requests as the consumer sends at a time.
THREADS = 16
CONTAINER = "benchmark-landing"
_PER_REQUEST = 32


def run() -> BenchmarkResult:
    """Events per second against messages per second."""
    from headwater.config.azure_account import EMULATOR_ACCOUNT
    from headwater.config.source import AzureSourceConfig
    from headwater.sources.azure.clients import build_queue_client

    installed = ensure_azurite(find_emulator_folder("azurite"))
    with tempfile.TemporaryDirectory() as name, Azurite("queue", installed, Path(name)) as server:
        source = {
            "type": "azure",
            "account": EMULATOR_ACCOUNT,
            "container": CONTAINER,
            "queue": {"name": "benchmark", "endpoint": server.account_endpoint, "long_poll_wait": 1},
        }
        tables = {"orders": {"path": "orders/**/*.json"}}
        with (
            closing(build_queue_client(AzureSourceConfig.model_validate(source))) as queue,
            open_app(build_settings(Path(name), source, tables)) as app,
        ):
            queue.create_queue()
            seeds = count(1)

            def ours(messages: int = MESSAGES) -> float:
                fill(queue, messages, next(seeds))
                return messages / capture(app, messages)

            def floor(messages: int = MESSAGES) -> float:
                fill(queue, messages, next(seeds))
                return messages / receive_and_delete(queue, messages)

            say(f"warm-up: ours {ours(WARM_UP):.0f}/s, floor {floor(WARM_UP):.0f}/s")
            pair = choose_median(measure_pairs(ours, floor, PAIRS))
    return BenchmarkResult("capture_azure", pair.value, pair.floor, "events/s", 0.8, "higher")


def fill(queue: "QueueClient", messages: int, seed: int) -> None:
    """Post events of as many blobs."""
    from headwater.demo.clouds.azure import build_event, encode_message

    def post(number: int) -> None:
        key = f"orders/day=2026-05-01/{seed:04d}/part-{number:08d}.json"
        found = {"api": "PutBlob", "eTag": "0x8DE5A1B2C3D4E5F", "contentLength": 1024 + number % 997}
        queue.send_message(encode_message(build_event(CONTAINER, "BlobCreated", key, number + 1, **found)))

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(post, range(messages)))


def receive_and_delete(queue: "QueueClient", messages: int) -> float:
    """Seconds in which threads that do nothing else empty the queue."""
    started = time.monotonic()
    lock = threading.Lock()
    left, ended = messages, started

    def drain() -> None:
        nonlocal left, ended
        while left > 0:
            received = list(next(queue.receive_messages(messages_per_page=_PER_REQUEST).by_page(), ()))
            for message in received:
                queue.delete_message(message)
            if not received and time.monotonic() > started + LIMIT_SECONDS:
                raise TimeoutError(f"{left} of {messages} messages did not come")
            with lock:
                left -= len(received)
                ended = time.monotonic() if received else ended

    with ThreadPoolExecutor(THREADS) as pool:
        for done in [pool.submit(drain) for _ in range(THREADS)]:
            done.result()
    return ended - started
