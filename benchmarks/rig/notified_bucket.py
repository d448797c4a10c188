"""An S3 emulator with a bucket that notifies a queue."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.rig.apps import JSON, build_emulator, use_emulator_credentials
from headwater.demo.landing_zone import Clients, build_clients, create_landing_zone


@dataclass(frozen=True, slots=True)
class NotifiedBucket:
    """`source` is the configuration that reads it; `folder` is free for a lake and logs."""

    name: str
    source: JSON
    clients: Clients
    folder: Path


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
