"""What does a batch of change records cost beside a bare Hudi upsert, and beside the same by hand in Spark?

A table of 200,000 rows, filled from Debezium's envelopes; then 50,000 changes in 20 files: inserts, updates
of rows that change again, and deletes.

`changes`: the commit, from the records read to the completed commit, with its tombstones. Floor: one Hudi
upsert of exactly the rows that differ afterwards, from memory. `changes_batch`: the whole batch, from the
events. Floor: `spark.read.json(paths)`, the newest change of each key, one Hudi upsert. All with the same
options, in one warm session, in turns, each on a fresh copy of the table as it was before.
"""

import json
import random
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from benchmarks.pairs import choose_median, measure_pairs, say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.apps import build_settings, open_app
from benchmarks.rig.folders import run_batches
from benchmarks.rig.orders import announce_files
from benchmarks.sizes import sized
from headwater.app import App
from headwater.ingest.changes.rules import SEQUENCE
from headwater.ingest.lineage import EVENT_ID, EVENT_TIME, OBJECT, ROW, VERSION
from headwater.ingest.planning.outcome import BatchResult
from headwater.ingest.writing.table_writer import TableWriter
from headwater.lake.layout import table_path
from headwater.lake.options import DELETED
from headwater.lake.table import Table

ROWS = sized(200_000, 1_000)
CHANGES = sized(50_000, 500)
FILES = sized(20, 2)
PAIRS = sized(3, 1)
TABLES = {"orders": {"path": "orders/*.json", "record_key": "id", "changes": {"preset": "debezium"}}}


def run() -> list[BenchmarkResult]:
    """Seconds a commit, and seconds a batch."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        landing = folder / "landing"
        (landing / "orders").mkdir(parents=True)
        source = {"type": "local", "path": str(landing)}
        with open_app(build_settings(folder, source, TABLES)) as app:
            base = folder / "base"
            before = fill_table(app, landing, base)
            keys = write_files(landing, "changed", build_changes(), FILES)
            trials = count()
            after = run_ours(app, base, folder / "first", landing, keys)[1]
            wanted = list_differences(app, after, before)
            say(f"{before.count()} rows before, {wanted.count()} rows change")
            commits: list[float] = []

            def ours() -> float:
                result, table = run_ours(app, base, folder / f"ours-{next(trials)}", landing, keys)
                check_rows(app, table, after)
                commits.append(result.commit_seconds)
                return result.seconds

            def by_hand() -> float:
                return upsert_by_hand(app, base, folder / f"hand-{next(trials)}", landing, keys, after)

            def floor() -> float:
                return upsert(app, base, folder / f"floor-{next(trials)}", wanted)

            say(f"warm-up: ours {ours():.2f} s, by hand {by_hand():.2f} s, floor {floor():.2f} s")
            batch = choose_median(measure_pairs(ours, by_hand, PAIRS))
            commit = choose_median(measure_pairs(lambda: (ours(), commits[-1])[1], floor, PAIRS))
    return [
        BenchmarkResult("changes", commit.value, commit.floor, "s", 1.3, "lower"),
        BenchmarkResult("changes_batch", batch.value, batch.floor, "s", 1.3, "lower"),
    ]


def build_row(key: int, text: str) -> dict[str, Any]:
    """A row of about 150 bytes."""
    return {
        "id": key,
        "customer": f"customer {key % 977}",
        "total": key / 100,
        "note": text * 3,
        "state": "open",
    }


def build_record(lsn: int, op: str, before: dict[str, Any] | None, after: dict[str, Any] | None) -> str:
    """One envelope."""
    source = {"connector": "postgresql", "schema": "shop", "table": "orders", "lsn": lsn}
    return json.dumps({"before": before, "after": after, "source": source, "op": op, "ts_ms": lsn})


def build_changes() -> Iterator[str]:
    """Inserts, updates and deletes, in their order."""
    chance = random.Random(5)
    for lsn in range(ROWS + 1, ROWS + 1 + CHANGES):
        choice, key = chance.random(), chance.randrange(ROWS)
        if choice < 0.25:
            yield build_record(lsn, "c", None, build_row(ROWS + lsn, "new"))
        elif choice < 0.85:
            # Half of them change the same few rows.
            hot = key % (ROWS // 50) if choice < 0.55 else key
            yield build_record(lsn, "u", None, build_row(hot, f"changed {lsn}"))
        else:
            yield build_record(lsn, "d", {"id": key}, None)


def write_files(landing: Path, name: str, records: Iterator[str], files: int) -> list[str]:
    """Write the records as files of equal length; return their keys."""
    texts = list(records)
    size = -(-len(texts) // files)
    keys = []
    for at in range(files):
        keys.append(f"orders/{name}-{at:03}.json")
        (landing / keys[-1]).write_text("\n".join(texts[at * size : (at + 1) * size]))
    return keys


def fill_table(app: App, landing: Path, lake: Path) -> DataFrame:
    """The lake with all existing rows; gives the rows of its table, in memory."""
    reads = (build_record(at, "r", None, build_row(at, "old")) for at in range(ROWS))
    own = App(app.settings.model_copy(update={"lake": str(lake)}), spark=app.spark)
    own.events.append(announce_files(landing, write_files(landing, "read", reads, FILES)))
    pipeline = own.build_pipeline("orders")
    run_batches(pipeline)
    pipeline.save_checkpoint()
    rows = drop_hudi_columns(Table(app.spark, table_path(str(lake), "orders")).read()).persist()
    rows.count()
    return rows


def run_ours(
    app: App, base: Path, lake: Path, landing: Path, keys: Sequence[str]
) -> tuple[BatchResult, Path]:
    """The batch, and the table, on a copy of the lake."""
    shutil.copytree(base, lake)
    own = App(app.settings.model_copy(update={"lake": str(lake)}), spark=app.spark)
    own.events.append(announce_files(landing, keys, FILES))
    (result,) = run_batches(own.build_pipeline("orders"))
    say(f"  batch in {result.seconds:.2f} s, its commit {result.commit_seconds:.2f} s")
    return result, lake / "orders"


def list_differences(app: App, table: Path, before: DataFrame) -> DataFrame:
    """The rows that the batch changed, those that are left out marked as deleted; in memory."""
    after = drop_hudi_columns(Table(app.spark, str(table)).read())
    written = [OBJECT, ROW]
    new = after.join(before.select(*written), on=written, how="left_anti").select(*after.columns)
    removed = before.join(after.select("id"), on="id", how="left_anti").select(*after.columns)
    removed = removed.withColumn(DELETED, F.lit(True)).withColumn(SEQUENCE, F.lit("2"))
    rows = new.unionByName(removed).persist()
    rows.count()
    return rows


def upsert(app: App, base: Path, lake: Path, rows: DataFrame) -> float:
    """Seconds of the bare upsert into a copy of the table."""
    shutil.copytree(base / "orders", lake)
    options = build_options(app, lake)
    started = time.monotonic()
    rows.write.format("hudi").options(**options).mode("append").save(str(lake))
    return time.monotonic() - started


def upsert_by_hand(
    app: App, base: Path, lake: Path, landing: Path, keys: Sequence[str], wanted: Path
) -> float:
    """Seconds from listing the files to the end of the commit into a copy of the table."""
    shutil.copytree(base / "orders", lake)
    options = build_options(app, lake)
    started = time.monotonic()
    read = app.spark.read.json([str(landing / key) for key in keys])
    deleted = F.col("op") == "d"
    row = F.when(deleted, F.struct("before.id")).otherwise(F.struct("after.id"))
    newest = F.row_number().over(Window.partitionBy(row["id"]).orderBy(F.desc("source.lsn")))
    changed = read.withColumn("rank", newest).where("rank = 1")
    frame = changed.select(
        row["id"].alias("id"),
        *(f"after.{name}" for name in ("customer", "total", "note", "state")),
        F.concat(F.lit("2"), F.lpad(F.col("source.lsn").cast("string"), 20, "0")).alias(SEQUENCE),
        F.when(deleted, F.lit(True)).alias(DELETED),
        *(F.lit(None).cast("string").alias(name) for name in (OBJECT, VERSION, EVENT_ID)),
        F.lit(None).cast("bigint").alias(ROW),
        F.lit(None).cast("timestamp").alias(EVENT_TIME),
    )
    frame.write.format("hudi").options(**options).mode("append").save(str(lake))
    seconds = time.monotonic() - started
    check_rows(app, lake, wanted)
    return seconds


def build_options(app: App, table: Path) -> dict[str, str]:
    """The options with which we write the table."""
    return (
        TableWriter("orders", app.settings.tables["orders"], Table(app.spark, str(table)))
        .build_options()
        .to_hoodie()
    )


def check_rows(app: App, table: Path, first: Path) -> None:
    """A batch that left something out would be a quick one."""
    found, wanted = (Table(app.spark, str(path)).read().select("id", "note") for path in (table, first))
    differing = found.exceptAll(wanted).count() + wanted.exceptAll(found).count()
    if differing:
        raise RuntimeError(f"{differing} rows differ from those of the first batch")


def drop_hudi_columns(frame: DataFrame) -> DataFrame:
    """The rows as they were written."""
    return frame.drop(*(n for n in frame.columns if n.startswith("_hoodie_") and n != DELETED))
