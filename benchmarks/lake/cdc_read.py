"""What does reading a table's log of changes cost beside Hudi's own CDC query?

One table of each type that logs both images of every change, after a few commits of upserts and deletes.
Ours: `queries.read_on_spark` of `Query.cdc`, which first finds out on the timeline that the log is whole.
Floor: the same commits with Spark's own options for it. Both count the changes by kind; in turns, in one warm
session.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import get_args

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.pairs import choose_median, measure_pairs, say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.apps import build_settings, open_app
from benchmarks.sizes import sized
from headwater.lake.options import DELETED, TableType, WriteOptions
from headwater.lake.queries.query import Query
from headwater.lake.queries.spark import read_on_spark
from headwater.lake.table import Table

ROWS = sized(100_000, 1_000)
COMMITS = sized(5, 2)
PAIRS = sized(7, 1)
GOAL = 1.1


def run(rows: int = ROWS, commits: int = COMMITS, pairs: int = PAIRS) -> list[BenchmarkResult]:
    """Seconds to read all changes, a result a table type."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = {"type": "local", "path": str(folder / "landing")}
        with open_app(build_settings(folder, source, {"t": {"path": "*.json"}})) as app:
            return [
                measure(app.spark, build_table(app.spark, folder, kind, rows, commits), kind, pairs)
                for kind in get_args(TableType)
            ]


def build_table(spark: SparkSession, folder: Path, kind: TableType, rows: int, commits: int) -> Table:
    """All rows, then commits that each change a tenth of them and delete a hundredth."""
    table = Table(spark, str(folder / kind))
    options = WriteOptions(
        table_name="t",
        operation="upsert",
        record_key=("id",),
        ordering=("at",),
        table_type=kind,
        keep_commits=1_000,
        cdc="data_before_after",
    )
    for at in range(commits):
        chosen = spark.range(0, rows, numPartitions=2)
        chosen = chosen.where(F.col("id") % 10 == at % 10) if at else chosen
        table.write(
            chosen.select(
                F.col("id").cast("string").alias("id"),
                F.lit(at).cast("bigint").alias("at"),
                (F.col("id") % 1_000 / 10).alias("amount"),
                ((F.col("id") % 100 == at) & F.lit(at > 0)).alias(DELETED),
            ),
            options,
        )
    return table


def measure(spark: SparkSession, table: Table, kind: TableType, pairs: int) -> BenchmarkResult:
    """Read the whole log both ways."""
    counted: dict[str, dict[str, int]] = {}

    def ours() -> float:
        return count("ours", lambda: read_on_spark(spark, table.path, Query.cdc("earliest")))

    def floor() -> float:
        asked = {
            "hoodie.datasource.query.type": "incremental",
            "hoodie.datasource.query.incremental.format": "cdc",
        }
        asked["hoodie.datasource.read.begin.instanttime"] = "0"
        return count("floor", lambda: spark.read.format("hudi").options(**asked).load(table.path))

    def count(name: str, load: Callable[[], DataFrame]) -> float:
        started = time.monotonic()
        rows = load().select("op", F.length("before").alias("b"), F.length("after").alias("a"))
        found = rows.groupBy("op").agg(F.count("*").alias("n"), F.sum("b"), F.sum("a")).collect()
        counted[name] = {row["op"]: row["n"] for row in found}
        return time.monotonic() - started

    say(f"{kind}, warm-up: ours {ours():.2f} s, floor {floor():.2f} s; {counted['ours']}")
    pair = choose_median(measure_pairs(ours, floor, pairs))
    broken = "" if counted["ours"] == counted["floor"] and counted["ours"] else f"not the same: {counted}"
    return BenchmarkResult(f"cdc_read_{kind}", pair.value, pair.floor, "s", GOAL, "lower", broken)
