"""How fast do 5,000 objects of 1 KB reach a table, beside plain Spark?

Ours: the table's pipeline, from the events table to the last commit, into a new table. Floor:
`spark.read.json(list of s3a paths)` written to a new table with the same Hudi options (upsert by id). The
same S3 emulator and one warm session; before that both ingest a few objects.
"""

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.pairs import choose_median, measure_pairs, say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.apps import build_emulator, build_settings, open_app, use_emulator_credentials
from benchmarks.rig.objects import announce_objects, put_objects
from benchmarks.rig.plain_spark import read_and_write
from benchmarks.sizes import sized
from headwater.app import App
from headwater.capture.captured_event import CapturedEvent
from headwater.demo.landing_zone import build_clients
from headwater.lake.table import Table

OBJECTS = sized(5_000, 50)
OBJECT_BYTES = 1_024
WARM_UP = sized(100, 10)
PAIRS = sized(3, 1)
TABLE = {"path": "orders/**/*.json", "record_key": "id", "ordering": "ts"}


def run() -> BenchmarkResult:
    """Objects a second."""
    use_emulator_credentials()
    with tempfile.TemporaryDirectory() as name, build_emulator(Path(name) / "emulator") as emulator:
        folder = Path(name)
        clients = build_clients(emulator.endpoint)
        clients.s3.create_bucket(Bucket="landing")
        put_objects(emulator.endpoint, "landing", OBJECTS, OBJECT_BYTES)
        events, rows = announce_objects("landing", OBJECTS, OBJECT_BYTES)
        say(f"{len(events)} objects are there, {rows} rows")
        queue = {"url": f"{emulator.endpoint}/none", "endpoint": emulator.endpoint}
        source = {"type": "s3", "bucket": "landing", "endpoint": emulator.endpoint, "queue": queue}
        with open_app(build_settings(folder, source, {"orders": TABLE})) as app:
            made: dict[str, list[Path]] = {"ours": [], "floor": []}

            def create(side: str) -> Path:
                made[side].append(folder / f"{side}-{len(made[side])}")
                return made[side][-1]

            def ours(take: int = OBJECTS) -> float:
                return take / ingest(app, create("ours"), events[:take])

            def floor(take: int = OBJECTS) -> float:
                paths = [f"s3a://landing/{captured.event.key}" for captured in events[:take]]
                return take / read_and_write(app.spark, paths, create("floor"), "id", "ts")

            say(f"warm-up: floor {floor(WARM_UP):.1f}, ours {ours(WARM_UP):.1f} files/s")
            pair = choose_median(measure_pairs(ours, floor, PAIRS))
            tables = [*(lake / "orders" for lake in made["ours"][1:]), *made["floor"][1:]]
            written = {Table(app.spark, str(table)).read().count() for table in tables}
    broken = "" if written == {rows} else f"rows written by ours and the floor: {written}, not {rows}"
    return BenchmarkResult("ingest_small", pair.value, pair.floor, "files/s", 5.0, "higher", broken)


def ingest(app: App, lake: Path, events: Sequence[CapturedEvent]) -> float:
    """Seconds of the pipeline on a lake of its own whose events table names the objects."""
    own = App(app.settings.model_copy(update={"lake": str(lake)}), spark=app.spark)
    own.events.append(events)
    pipeline = own.build_pipeline("orders")
    started = time.monotonic()
    while pipeline.run_batch() is not None:
        pass
    return time.monotonic() - started
