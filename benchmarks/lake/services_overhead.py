"""What do services in a process of their own take from the writer beside them?

Batches of small files into a merge-on-read table with `services: async` and a lock. Ours: rows/s while
`headwater services run` compacts, cleans and archives the table. Floor: the same while nobody does. Each on
a lake of its own, in turns, in one warm session; the other process has begun before anything is timed.
"""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import count
from pathlib import Path

from benchmarks.pairs import choose_median, measure_pairs, say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.apps import build_settings, open_app, write_config
from benchmarks.rig.folders import write_files
from benchmarks.rig.orders import announce_files
from benchmarks.rig.processes import run_headwater, wait_until
from benchmarks.sizes import sized
from headwater.app import App

BATCH = 25
BATCHES = sized(60, 4)
WARM_UP = sized(6, 2)
PAIRS = sized(2, 1)
FURTHER = {"lock": {"provider": "file_system"}}
TABLES = {
    "orders": {
        "path": "orders/**/*.json",
        "record_key": "id",
        "table_type": "merge_on_read",
        "services": "async",
        "compact_after": 5,
    }
}


def run() -> BenchmarkResult:
    """Rows a second."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        landing = folder / "landing"
        source = {"type": "local", "path": str(landing)}
        keys = write_files(landing, range(BATCH * BATCHES))
        with open_app(build_settings(folder, source, TABLES, **FURTHER)) as app:
            trials = count()

            def measure(*, is_served: bool, batches: int = BATCHES) -> float:
                lake = folder / f"lake-{next(trials)}"
                lake.mkdir()
                own = App(app.settings.model_copy(update={"lake": str(lake)}), spark=app.spark)
                return write_batches(own, landing, keys[: BATCH * batches], is_served=is_served)

            say(f"warm-up: {measure(is_served=False, batches=WARM_UP):.0f} rows/s")
            pair = choose_median(
                measure_pairs(lambda: measure(is_served=True), lambda: measure(is_served=False), PAIRS)
            )
    return BenchmarkResult("services_overhead", pair.value, pair.floor, "rows/s", 0.85, "higher")


def write_batches(app: App, landing: Path, keys: list[str], *, is_served: bool) -> float:
    """Rows a second, the first batch aside: it makes the table."""
    pipeline = app.build_pipeline("orders")
    rows = 0
    with serve_tables(app, landing) if is_served else nullcontext():
        for at in range(0, len(keys), BATCH):
            app.events.append(announce_files(landing, keys[at : at + BATCH], at))
            result = pipeline.run_batch()
            if at == 0:
                started = time.monotonic()
            elif result is not None:
                rows += result.rows
        return rows / (time.monotonic() - started)


@contextmanager
def serve_tables(app: App, landing: Path) -> Iterator[None]:
    """`headwater services run` beside, from when its session is up."""
    folder = Path(app.settings.lake)
    source = {"type": "local", "path": str(landing)}
    config = write_config(folder, {"source": source, "lake": str(folder), "tables": TABLES, **FURTHER})
    leases = folder / "_headwater" / "writers"
    with run_headwater(config, "services", "run", log=folder / "services.log") as process:
        # It says so when its JVM runs.
        wait_until(
            lambda: any(file.read_text().count('"number"') == 2 for file in leases.glob("*.json")),
            60,
            "a session of the services",
            process,
        )
        yield
