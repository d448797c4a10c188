"""What does our commit of 10,000 events cost beside a bare Hudi bulk_insert of the same rows?

Ours: `EventsTable.append`, which builds the rows, drops what is in the table already, commits, and finds its
commit on the timeline. Floor: a pandas DataFrame with the same rows, made beforehand, written with the
same Hudi options to a table of its own. Warm session, new events each time, in turns.
"""

import tempfile
import time
from datetime import datetime, timezone
from itertools import count
from pathlib import Path

from benchmarks.pairs import choose_median, measure_pairs, say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.apps import build_settings, open_app
from benchmarks.rig.notifications import build_body
from benchmarks.sizes import sized
from headwater.app import App
from headwater.capture.captured_event import CapturedEvent
from headwater.capture.event_rows import EVENTS_SCHEMA, to_arrow
from headwater.lake.local_frames import load_arrow
from headwater.lake.options import WriteOptions
from headwater.sources.message_parser import parse_message

EVENTS = sized(10_000, 100)
WARM_UP = sized(3, 1)
PAIRS = sized(9, 1)


def run() -> BenchmarkResult:
    """Seconds a commit."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = {"type": "local", "path": str(folder / "landing")}
        with open_app(build_settings(folder, source, {"orders": {"path": "*.json"}})) as app:
            app.spark  # noqa: B018 - started before anything is timed
            seeds = count(1)

            def ours() -> float:
                events = build_events(next(seeds))
                started = time.monotonic()
                app.events.append(events)
                return time.monotonic() - started

            def floor() -> float:
                return write_bare(app, str(folder / "floor"), build_events(next(seeds)))

            for _ in range(WARM_UP):
                say(f"warm-up: ours {ours():.2f} s, floor {floor():.2f} s")
            pair = choose_median(measure_pairs(ours, floor, PAIRS))
    return BenchmarkResult("events_commit", pair.value, pair.floor, "s", 1.5, "lower")


def build_events(seed: int) -> list[CapturedEvent]:
    """New events, as the consumer hands them to the table."""
    now = datetime.now(timezone.utc)
    return [
        CapturedEvent(event, now, f"message-{seed}-{number}")
        for number in range(EVENTS)
        for event in parse_message(build_body(number, seed, now)).events
    ]


def write_bare(app: App, path: str, events: list[CapturedEvent]) -> float:
    """Seconds of one bulk_insert with the options of the events table."""
    rows = to_arrow(events)
    options = WriteOptions(
        table_name="floor",
        operation="bulk_insert",
        record_key=("event_id",),
        partition=("event_day",),
        changelog=True,
    ).to_hoodie()
    started = time.monotonic()
    frame = load_arrow(app.spark, rows, EVENTS_SCHEMA).coalesce(1)
    frame.write.format("hudi").options(**options).mode("append").save(path)
    return time.monotonic() - started
