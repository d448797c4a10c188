"""What does a mirror's commit cost beside a bare Hudi upsert of the same changed rows?

A mirror of 10,000 small files; then 1,000 of them are overwritten and 500 removed. Ours: the commit of that
batch, from the rows read to the completed commit, finding the rows that have to go included. Floor: one Hudi
upsert of exactly those rows, new ones and deletes, with the same options, from memory, into a copy of the
table as it was before. One warm session, in turns, each on a fresh copy.
"""

import shutil
import tempfile
import time
from itertools import count
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.pairs import choose_median, measure_pairs, say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.apps import build_settings, open_app
from benchmarks.rig.folders import run_batches, write_files
from benchmarks.rig.orders import announce_files, announce_removal
from benchmarks.sizes import sized
from headwater.app import App
from headwater.ingest.lineage import EVENT_ID, OBJECT, ROW
from headwater.lake.layout import table_path
from headwater.lake.options import DELETED, WriteOptions
from headwater.lake.table import Table

OBJECTS = sized(10_000, 100)
OVERWRITTEN = sized(1_000, 20)
REMOVED = sized(500, 10)
PAIRS = sized(3, 1)
TABLES = {"orders": {"path": "orders/**/*.json", "mode": "mirror"}}


def run() -> BenchmarkResult:
    """Seconds a commit."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        landing = folder / "landing"
        source = {"type": "local", "path": str(landing)}
        with open_app(build_settings(folder, source, TABLES)) as app:
            base = folder / "base"
            before = build_mirror(app, landing, base)
            changed = change_files(landing)
            trials = count()
            wanted = read_changes(app, run_ours(app, base, folder / "first", landing, changed)[1], before)
            say(f"{before.count()} rows before, {wanted.count()} rows change")

            def ours() -> float:
                seconds, table = run_ours(app, base, folder / f"ours-{next(trials)}", landing, changed)
                check_rows(app, table, before.count(), wanted)
                return seconds

            def floor() -> float:
                return upsert(base, folder / f"floor-{next(trials)}", wanted)

            say(f"warm-up: ours {ours():.2f} s, floor {floor():.2f} s")
            pair = choose_median(measure_pairs(ours, floor, PAIRS))
    return BenchmarkResult("mirror_overwrite", pair.value, pair.floor, "s", 1.5, "lower")


def build_mirror(app: App, landing: Path, lake: Path) -> DataFrame:
    """The lake with all objects ingested; gives the rows of its table, in memory."""
    own = App(app.settings.model_copy(update={"lake": str(lake)}), spark=app.spark)
    own.events.append(announce_files(landing, write_files(landing, range(OBJECTS))))
    pipeline = own.build_pipeline("orders")
    run_batches(pipeline)
    pipeline.save_checkpoint()
    rows = drop_hudi_columns(Table(app.spark, table_path(str(lake), "orders")).read()).persist()
    rows.count()
    return rows


def change_files(landing: Path) -> tuple[list[str], list[str]]:
    """Overwrite and remove; gives the keys."""
    removed = write_files(landing, range(OVERWRITTEN, OVERWRITTEN + REMOVED))
    for key in removed:
        (landing / key).unlink()
    return write_files(landing, range(OVERWRITTEN), round_number=1), removed


def run_ours(
    app: App, base: Path, lake: Path, landing: Path, changed: tuple[list[str], list[str]]
) -> tuple[float, Path]:
    """Seconds of the commit, and the table, on a copy of the lake."""
    shutil.copytree(base, lake)
    own = App(app.settings.model_copy(update={"lake": str(lake)}), spark=app.spark)
    overwritten, removed = changed
    events = announce_files(landing, overwritten, OBJECTS)
    events += [announce_removal(landing, key, 2 * OBJECTS + at) for at, key in enumerate(removed)]
    own.events.append(events)
    (result,) = run_batches(own.build_pipeline("orders"))
    say(
        f"  batch of {len(events)} events in {result.seconds:.2f} s, its commit {result.commit_seconds:.2f} s"
    )
    return result.commit_seconds, lake / "orders"


def read_changes(app: App, table: Path, before: DataFrame) -> DataFrame:
    """The rows that the batch wrote and deleted, in memory, as one would have to hand them to Hudi."""
    after = drop_hudi_columns(Table(app.spark, str(table)).read())
    new = after.join(before.select(EVENT_ID).distinct(), on=EVENT_ID, how="left_anti").select(*after.columns)
    gone = before.join(after.select(OBJECT, ROW), on=[OBJECT, ROW], how="left_anti").select(*after.columns)
    rows = new.unionByName(gone.withColumn(DELETED, F.lit(True))).persist()
    rows.count()
    return rows


def upsert(base: Path, lake: Path, rows: DataFrame) -> float:
    """Seconds of the bare upsert into a copy of the table."""
    shutil.copytree(base / "orders", lake)
    options = WriteOptions(table_name="orders", operation="upsert", record_key=(OBJECT, ROW)).to_hoodie()
    started = time.monotonic()
    rows.write.format("hudi").options(**options).mode("append").save(str(lake))
    return time.monotonic() - started


def check_rows(app: App, table: Path, before: int, changes: DataFrame) -> None:
    """A commit that left something out would be a quick one."""
    deleted = changes.where(F.col(DELETED)).count()
    wanted = before - deleted + (changes.count() - deleted)
    kept = Table(app.spark, str(table)).read().count()
    if not before - deleted <= kept <= wanted:
        raise RuntimeError(f"{kept} rows after the batch; {before} before, {deleted} deleted")


def drop_hudi_columns(frame: DataFrame) -> DataFrame:
    """The rows as they were written."""
    return frame.drop(*(n for n in frame.columns if n.startswith("_hoodie_") and n != DELETED))
