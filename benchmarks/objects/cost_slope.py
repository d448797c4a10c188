"""Does an event cost more the more objects are known?

A mirror's ledger knows 1,000, 10,000, 100,000 and 1,000,000 objects of a bucket that nobody lists; then
batches of 25 new files come, with an overwrite and a removal in each. Value: how many times the cost of an
event grows from the smallest to the largest ledger, by the line through log(seconds) over log(objects).
Floor: what a slope of 0.05 would make of it. The whole ladder is climbed in one warm session.
"""

import math
import statistics
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

from benchmarks.pairs import say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.apps import build_settings, open_app
from benchmarks.rig.folders import run_batches, write_files
from benchmarks.rig.known_objects import commit_first
from benchmarks.rig.orders import announce_files, announce_removal
from benchmarks.sizes import sized
from headwater.app import App
from headwater.ingest.ledger.ledger import Ledger
from headwater.ingest.ledger.watermark import Watermark
from headwater.ingest.planning.ledger_entry import LedgerEntry, begin_state
from tests.fixtures.events import build_event

KNOWN = sized((1_000, 10_000, 100_000, 1_000_000), (100, 200))
BATCH = 25
BATCHES = sized(12, 2)
SLOPE = 0.05
TABLES = {"orders": {"path": "orders/**/*.json", "mode": "mirror", "table_type": "merge_on_read"}}
_STATES_A_COMMIT = 100_000


def run() -> BenchmarkResult:
    """Times that the cost grows over the ladder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        landing = folder / "landing"
        source = {"type": "local", "path": str(landing)}
        write_files(landing, range(BATCH * BATCHES))
        with open_app(build_settings(folder, source, TABLES)) as app:
            measure(app, landing, folder / "warm-up", KNOWN[0])
            seconds = [measure(app, landing, folder / f"known-{known}", known) for known in KNOWN]
    slope = statistics.linear_regression([math.log(n) for n in KNOWN], [math.log(s) for s in seconds]).slope
    say(f"seconds a batch: {[round(s, 3) for s in seconds]}; slope {slope:.3f}")
    span = KNOWN[-1] / KNOWN[0]
    return BenchmarkResult("cost_slope", span**slope, span**SLOPE, "times", 1.0, "lower")


def measure(app: App, landing: Path, lake: Path, known: int) -> float:
    """Median seconds of a batch beside a ledger that knows so many objects."""
    own = App(app.settings.model_copy(update={"lake": str(lake)}), spark=app.spark)
    fill_ledger(own.stores.ledger, known, commit_first(own, landing))
    pipeline = own.build_pipeline("orders")
    seconds = []
    for at in range(BATCHES):
        first = at * BATCH
        keys = [f"orders/{n % 50:02d}/{n:07d}.json" for n in range(first, first + BATCH)]
        events = announce_files(landing, keys, first)
        if at:
            before = f"orders/{(first - 1) % 50:02d}/{first - 1:07d}.json"
            events.append(announce_removal(landing, before, 10_000 + first))
        own.events.append(events)
        started = time.monotonic()
        run_batches(pipeline)
        seconds.append(time.monotonic() - started)
    say(f"{known} known objects: {statistics.median(seconds):.3f} s a batch")
    return statistics.median(seconds[1:])


def fill_ledger(ledger: Ledger, known: int, watermark: Watermark) -> None:
    """Write as many states as `known`, of objects of another prefix."""
    states = iter_states(known)
    for _ in range(math.ceil(known / _STATES_A_COMMIT)):
        ledger.write("orders", list(islice(states, _STATES_A_COMMIT)), watermark)


def iter_states(known: int) -> Iterator[LedgerEntry]:
    """States as they are after an object was ingested."""
    for number in range(known):
        event = build_event(f"known/{number:08d}.json", number)
        yield replace(
            begin_state(event),
            version=f"etag-{number}",
            etag=f"etag-{number}",
            order_key=event.order_key or "",
            event_time=event.event_time,
            event_id=event.event_id,
            status="ingested",
            rows=7,
            bytes=2_000,
            events=1,
            first_seen=event.event_time,
        )
