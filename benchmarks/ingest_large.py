"""How fast do 200 MB of JSON lines in 10 files reach a table, beside plain Spark?

Ours: the table's pipeline, from the events table to the last commit, into a new table. Floor:
`spark.read.json(paths)` written to a new table with the same Hudi options (upsert by id). One warm session,
in turns; before that both ingest one file.
"""

import tempfile
import time
from itertools import count
from pathlib import Path

from benchmarks.pairs import choose_median, measure_pairs, say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.apps import build_settings, open_app
from benchmarks.rig.orders import announce_files, build_file
from benchmarks.rig.plain_spark import read_and_write
from benchmarks.sizes import sized
from headwater.app import App
from headwater.lake.layout import table_path
from headwater.lake.table import Table

FILES = sized(10, 2)
FILE_BYTES = sized(20_000_000, 100_000)
PAIRS = sized(3, 1)
TABLE = {"path": "orders/*.json", "record_key": "id", "ordering": "ts"}
_IDS_A_FILE = 1_000_000


def run() -> BenchmarkResult:
    """Megabytes of JSON a second."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = folder / "landing"
        (source / "orders").mkdir(parents=True)
        keys, rows = write_files(source)
        size = sum((source / key).stat().st_size for key in keys) / 1e6
        say(f"{size:.0f} MB in {FILES} files, {sum(rows)} rows")
        with open_app(
            build_settings(folder, {"type": "local", "path": str(source)}, {"orders": TABLE})
        ) as app:
            runs = count(1)

            def ours(take: int = FILES) -> float:
                lake = folder / f"ours-{next(runs)}"
                return size * take / FILES / ingest(app, lake, source, keys[:take], rows)

            def floor(take: int = FILES) -> float:
                table, paths = folder / f"floor-{next(runs)}", [str(source / key) for key in keys[:take]]
                return size * take / FILES / read_and_write(app.spark, paths, table, "id", "ts")

            say(f"warm-up, one file: floor {floor(1):.1f}, ours {ours(1):.1f} MB/s")
            pair = choose_median(measure_pairs(ours, floor, PAIRS))
    return BenchmarkResult("ingest_large", pair.value, pair.floor, "MB/s", 0.85, "higher")


def write_files(source: Path) -> tuple[list[str], list[int]]:
    """Keys and row counts of the files."""
    keys, rows = [], []
    for number in range(FILES):
        data, count_of_rows = build_file(FILE_BYTES, number * _IDS_A_FILE, number)
        keys.append(f"orders/{number:02d}.json")
        (source / keys[-1]).write_bytes(data)
        rows.append(count_of_rows)
    return keys, rows


def ingest(app: App, lake: Path, source: Path, keys: list[str], rows: list[int]) -> float:
    """Seconds of the pipeline on a lake of its own, whose events table names the files."""
    settings = app.settings.model_copy(update={"lake": str(lake)})
    own = App(settings, spark=app.spark)
    own.events.append(announce_files(source, keys))
    pipeline = own.build_pipeline("orders")
    started = time.monotonic()
    results = []
    while (result := pipeline.run_batch()) is not None:
        results.append(result)
    seconds = time.monotonic() - started
    written = Table(app.spark, table_path(str(lake), "orders")).read().count()
    if written != sum(rows[: len(keys)]):
        raise RuntimeError(f"{written} rows instead of {sum(rows[: len(keys)])}: {results}")
    return seconds
