"""Does a reconcile stay quick, however often each object has changed?

The events table knows 200,000 objects: first with one event each, then with twenty. Measured is what a
reconcile reads of it: the seconds until the newest state of every object has reached Python. Value: with
twenty events, floor: with one, both with the groups that an earlier reconcile has stored. The seconds without
them, and those of storing them, are printed. Other sizes: `python -m benchmarks.objects.reconcile_history
OBJECTS EVENTS`.
"""

import sys
import time
from datetime import datetime, timedelta, timezone

from pyspark.sql import functions as F

from benchmarks.pairs import say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.apps import open_folder_app
from benchmarks.sizes import sized
from headwater.app import App
from headwater.capture.event_rows import EVENTS_SCHEMA
from headwater.capture.reconcile.known_states import KnownStates
from headwater.capture.reconcile.stored_groups import StoredGroups
from headwater.lake.options import WriteOptions
from headwater.lake.table import Table

OBJECTS = sized(200_000, 1_000)
EVENTS = sized(20, 3)
TABLES = {"orders": {"path": "known/*.json", "mode": "mirror"}}
_RAW_BYTES = 700
"""Of a notification of S3."""


def run() -> BenchmarkResult:
    """Seconds until all states are known."""
    return measure(OBJECTS, EVENTS)


def measure(objects: int, events: int) -> BenchmarkResult:
    """Seconds with so many events of each object, and with one."""
    with open_folder_app(TABLES) as (app, _):
        append(app, objects, 1)
        once = measure_reading(app, objects, 1)
        for change in range(2, events + 1):
            append(app, objects, change)
        often = measure_reading(app, objects, events)
    return BenchmarkResult("reconcile_history", often, once, "s", 1.3, "lower")


def append(app: App, objects: int, change: int) -> None:
    """Commit one event of each object; Spark makes them."""
    bucket = app.settings.sources[0].known_location
    time = f"timestamp'2026-05-01 00:00:00' + make_interval(0, 0, 0, {change})"
    values = {
        "event_id": f"md5(concat(id, ' ', {change}))",
        "object_id": "md5(cast(id as string))",
        "provider": "'local'",
        "bucket": f"'{bucket}'",
        "key": "concat('known/', lpad(cast(id as string), 8, '0'), '.json')",
        "order_key": f"lpad('{change}', 32, '0')",
        "kind": "'created'",
        "event_name": "'ObjectCreated:Put'",
        "event_time": time,
        "size": "2000L",
        "etag": f"md5(concat('content ', id, ' ', {change}))",
        # As random as a notification: two ids and some hexadecimal numbers in text that is always the same.
        "raw": f"concat(repeat(' ', {_RAW_BYTES - 64}), sha2(concat(id, ' ', {change}), 256))",
        "received_at": time,
        "source": "'notification'",
        "batch_index": "cast(id as int)",
        "event_day": f"cast(date'2026-05-01' + {change} as string)",
    }
    columns = (
        F.expr(values.get(field.name, "null")).cast(field.dataType).alias(field.name)
        for field in EVENTS_SCHEMA
    )
    options = WriteOptions(
        table_name="events",
        operation="bulk_insert",
        record_key=("event_id",),
        partition=("event_day",),
        changelog=True,
        commit_metadata={"events": str(objects)},
    )
    Table(app.spark, app.events.path).write(app.spark.range(objects).select(*columns), options)


def measure_reading(app: App, objects: int, events: int) -> float:
    """Seconds with stored groups."""
    without = read_all(app, objects, None)
    began = time.monotonic()
    is_stored = app.event_groups.refresh(datetime.now(timezone.utc) + timedelta(days=1))
    storing = time.monotonic() - began
    seconds = read_all(app, objects, app.event_groups)
    say(
        f"{objects} objects with {events} events each: {without:.1f} s without groups, "
        f"{storing:.1f} s to store them ({is_stored}), {seconds:.1f} s with them"
    )
    return seconds


def read_all(app: App, objects: int, groups: StoredGroups | None) -> float:
    """Seconds until the state of every object has reached Python."""
    began = time.monotonic()
    states = KnownStates(app.events, stored=groups).iter_known(app.settings.sources[0].known_location)
    count = sum(1 for _ in states)
    if count != objects:
        raise RuntimeError(f"{count} states of {objects} objects")
    return time.monotonic() - began


if __name__ == "__main__":
    print(measure(int(sys.argv[1]), int(sys.argv[2])).to_json())
