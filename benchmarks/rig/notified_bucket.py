"""An S3 emulator with a bucket that notifies a queue."""

import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from benchmarks.pairs import say
from benchmarks.rig.apps import JSON, build_emulator, use_emulator_credentials
from benchmarks.rig.orders import iter_orders
from headwater.demo.landing_zone import Clients, build_clients, create_landing_zone

_PUT_THREADS = 4


@dataclass(frozen=True, slots=True)
class NotifiedBucket:
    """`source` is the configuration that reads it; `folder` is free for a lake and logs."""

    name: str
    source: JSON
    clients: Clients
    folder: Path

    def put_orders(self, folders: Sequence[str], first: int, count: int, a_second: float) -> dict[int, float]:
        """Put one object an order at the pace, to the folders in turn; returns when each PUT began, by id."""
        began: dict[int, float] = {}

        def put(number: int, order: str) -> None:
            began[number] = time.time()
            key = f"{folders[number % len(folders)]}/{number:06d}.json"
            self.clients.s3.put_object(Bucket=self.name, Key=key, Body=order.encode() + b"\n")

        started = time.monotonic()
        with ThreadPoolExecutor(_PUT_THREADS) as pool:
            puts = []
            for at, order in enumerate(islice(iter_orders(first, first), count)):
                time.sleep(max(0.0, started + at / a_second - time.monotonic()))
                puts.append(pool.submit(put, first + at, order))
            for done in puts:
                done.result()
        say(f"put {count} objects in {time.monotonic() - started:.1f} s")
        return began


@contextmanager
def open_notified_bucket() -> Iterator[NotifiedBucket]:
    """A new and empty one; ended and removed afterwards."""
    use_emulator_credentials()
    with tempfile.TemporaryDirectory() as name, build_emulator(Path(name) / "emulator") as emulator:
        clients = build_clients(emulator.endpoint)
        zone = create_landing_zone(clients, "landing")
        queue = {"url": zone.queue_url, "endpoint": emulator.endpoint}
        source = {"type": "s3", "bucket": zone.bucket, "endpoint": emulator.endpoint, "queue": queue}
        yield NotifiedBucket(zone.bucket, source, clients, Path(name))
