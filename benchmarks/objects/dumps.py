"""What does a full dump cost beside the same comparison by hand in Spark?

A table of 200,000 rows, filled from a dump of 20 files; then another dump, in which 3 % of the rows changed,
2 % are missing and 2 % are new. The batch, from the events. Floor: `spark.read.json(paths)`, the rows of
either side without an equal one on the other, one Hudi upsert; it waits for no marker, and handles no bad
record. Both with the same options, in one warm session, in turns, each on a fresh copy of the table.
"""

import json
import shutil
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

from pyspark.sql import functions as F

from benchmarks.pairs import choose_median, measure_pairs, say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.apps import build_settings, open_app
from benchmarks.rig.folders import run_batches
from benchmarks.rig.orders import announce_files
from benchmarks.sizes import sized
from headwater.app import App
from headwater.ingest.writing.table_writer import TableWriter
from headwater.lake.options import DELETED
from headwater.lake.table import Table

ROWS = sized(200_000, 1_000)
FILES = sized(20, 2)
PAIRS = sized(3, 1)
TABLES: dict[str, dict[str, Any]] = {
    "orders": {"path": "orders/*/*.json", "record_key": "id", "complete_when": {"marker": "_SUCCESS"}}
}


def run() -> list[BenchmarkResult]:
    """Seconds a dump."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        landing = folder / "landing"
        source = {"type": "local", "path": str(landing)}
        first = write_dump(landing, 1, (build_row(at, "old") for at in range(ROWS)))
        with open_app(build_settings(folder, source, TABLES)) as app:
            base = folder / "base"
            apply_dump(app, base, landing, first)
            second = write_dump(landing, 2, iter_changed())
            trials = count()

            def ours() -> float:
                lake = folder / f"ours-{next(trials)}"
                shutil.copytree(base, lake)
                seconds = apply_dump(app, lake, landing, second)
                check_rows(app, lake / "orders")
                return seconds

            def by_hand() -> float:
                return apply_by_hand(app, base, folder / f"hand-{next(trials)}", landing, second)

            say(f"warm-up: ours {ours():.2f} s, by hand {by_hand():.2f} s")
            pair = choose_median(measure_pairs(ours, by_hand, PAIRS))
    return [BenchmarkResult("dumps", pair.value, pair.floor, "s", 1.3, "lower")]


def build_row(key: int, state: str) -> dict[str, Any]:
    """A row of about 150 bytes."""
    return {
        "id": key,
        "customer": f"customer {key % 977}",
        "total": key / 100,
        "note": f"note {key} " * 3,
        "state": state,
    }


def iter_changed() -> Iterator[dict[str, Any]]:
    """The rows of the second dump."""
    for key in range(ROWS + ROWS // 50):
        if key % 100 >= 2:
            yield build_row(key, "new" if key % 100 < 5 else "old")


def write_dump(landing: Path, day: int, rows: Iterator[dict[str, Any]]) -> list[str]:
    """Write the files of a dump and its marker; return their keys."""
    (landing / f"orders/{day}").mkdir(parents=True)
    lines = [json.dumps(row) for row in rows]
    keys = []
    for at in range(FILES):
        keys.append(f"orders/{day}/{at:03}.json")
        (landing / keys[-1]).write_text("\n".join(lines[at::FILES]))
    (landing / f"orders/{day}/_SUCCESS").touch()
    return [*keys, f"orders/{day}/_SUCCESS"]


def apply_dump(app: App, lake: Path, landing: Path, keys: list[str]) -> float:
    """Seconds of the batch that applies a dump to the lake."""
    own = App(app.settings.model_copy(update={"lake": str(lake)}), spark=app.spark)
    own.events.append(announce_files(landing, keys, FILES))
    pipeline = own.build_pipeline("orders")
    (result,) = run_batches(pipeline)
    pipeline.save_checkpoint()
    say(f"  batch in {result.seconds:.2f} s, its commit {result.commit_seconds:.2f} s")
    return result.seconds


def apply_by_hand(app: App, base: Path, lake: Path, landing: Path, keys: list[str]) -> float:
    """Seconds from listing the files to the end of the commit into a copy of the table."""
    table = Table(app.spark, str(lake))
    shutil.copytree(base / "orders", lake)
    writer = TableWriter("orders", app.settings.tables["orders"], table)
    options = writer.build_options().to_hoodie()
    started = time.monotonic()
    stored = app.spark.read.format("hudi").load(str(lake))
    stored = stored.drop(*(name for name in stored.columns if name.startswith("_hoodie_")))
    new = app.spark.read.json([str(landing / key) for key in keys if key.endswith(".json")])
    same = [F.col(name).eqNullSafe(F.col(f"_{name}")) for name in new.columns]
    old = stored.select(*(F.col(name).alias(f"_{name}") for name in new.columns))
    changed = new.join(old, on=same, how="left_anti")
    gone = stored.join(new.select("id"), on="id", how="left_anti").withColumn(DELETED, F.lit(True))
    frame = changed.unionByName(gone, allowMissingColumns=True)
    frame.write.format("hudi").options(**options).mode("append").save(str(lake))
    seconds = time.monotonic() - started
    check_rows(app, lake)
    return seconds


def check_rows(app: App, table: Path) -> None:
    """A batch that left something out would be a quick one."""
    found = Table(app.spark, str(table)).read()
    wanted = sum(1 for _ in iter_changed())
    changed = found.where("state = 'new'").count()
    if found.count() != wanted or changed != sum(1 for row in iter_changed() if row["state"] == "new"):
        raise RuntimeError(f"{found.count()} rows, {changed} of them changed; {wanted} were expected")
