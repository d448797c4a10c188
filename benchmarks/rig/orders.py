"""JSON lines as shops write them, and events that announce the objects they lie in."""

import json
import random
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path

from headwater.capture.captured_event import CapturedEvent
from headwater.sources.object_event import ObjectEvent, build_order_key

_CITIES = ("Utrecht", "Łódź", "São Paulo", "Kyōto", "Springfield", "Tromsø")
_STATES = ("placed", "paid", "packed", "shipped", "delivered")


def iter_orders(first_id: int, seed: int) -> Iterator[str]:
    """Orders without end, about 250 bytes each, each with an id of its own."""
    chance = random.Random(seed)
    number = first_id
    while True:
        order = {
            "id": number,
            "ts": 1_700_000_000_000 + number * 37,
            "customer": f"customer-{chance.randrange(100_000):06d}",
            "state": chance.choice(_STATES),
            "amount": round(chance.random() * 1000, 2),
            "city": chance.choice(_CITIES),
            "express": chance.random() < 0.2,
            "items": [
                {"sku": f"sku-{chance.randrange(5_000):05d}", "count": chance.randrange(1, 9)}
                for _ in range(2)
            ],
        }
        yield json.dumps(order, ensure_ascii=False)
        number += 1


def build_file(size: int, first_id: int, seed: int) -> tuple[bytes, int]:
    """JSON lines of about `size` bytes, never more, and how many there are."""
    lines: list[bytes] = []
    total = 0
    for order in iter_orders(first_id, seed):
        line = order.encode() + b"\n"
        if total + len(line) > size:
            break
        lines.append(line)
        total += len(line)
    return b"".join(lines), len(lines)


def announce_files(folder: Path, keys: Iterable[str], first_number: int = 0) -> list[CapturedEvent]:
    """Events of a local source, as the folder's watcher makes them; their order goes on from a number."""
    events = []
    for number, key in enumerate(keys, first_number):
        status = (folder / key).stat()
        etag = f"{status.st_mtime_ns:x}-{status.st_size:x}"
        events.append(announce("local", str(folder), key, etag, status.st_size, number))
    return events


def announce(provider: str, bucket: str, key: str, etag: str, size: int, number: int) -> CapturedEvent:
    """One event of one object."""
    now = datetime.now(timezone.utc)
    sequencer = f"{number:016x}"
    event = ObjectEvent(
        provider=provider,
        bucket=bucket,
        key=key,
        version_id=None,
        sequencer=sequencer,
        order_key=build_order_key(sequencer),
        kind="created",
        event_name="ObjectCreated:Put",
        event_time=now,
        size=size,
        etag=etag,
    )
    return CapturedEvent(event, now, f"message-{number}")


def announce_removal(folder: Path, key: str, number: int) -> CapturedEvent:
    """The event of a file that is not there any more."""
    created = announce("local", str(folder), key, "", 0, number)
    event = replace(created.event, kind="removed", event_name="ObjectRemoved:Delete", size=None, etag=None)
    return replace(created, event=event)
