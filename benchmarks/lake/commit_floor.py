"""What does a commit through our writer cost beside the same rows written with Spark's own Hudi writer?

Ours: `Table.write`, which finds the lock, looks at what lies there, and tells Spark what failed in one
sentence. Floor: `frame.write.format("hudi")` with the same options. Both write the same rows, from memory, to
a table of their own; an upsert changes half of the rows and adds as many. A pair of tables for each operation
and table type, in one warm session, in turns; the first commits, which make the tables, are not timed.
"""

import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.pairs import choose_median, measure_pairs, say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.apps import build_settings, open_app
from benchmarks.sizes import sized
from headwater.lake.options import Operation, TableType, WriteOptions
from headwater.lake.table import Table

ROWS = sized(20_000, 100)
WARM_UP = sized(2, 1)
PAIRS = sized(7, 1)
GOAL = 1.05
OPERATIONS: tuple[Operation, ...] = ("upsert", "insert", "bulk_insert")
TABLE_TYPES: tuple[TableType, ...] = ("copy_on_write", "merge_on_read")


def run(rows: int = ROWS, warm_up: int = WARM_UP, pairs: int = PAIRS) -> list[BenchmarkResult]:
    """Seconds a commit, one result for each operation and table type."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = {"type": "local", "path": str(folder / "landing")}
        with open_app(build_settings(folder, source, {"t": {"path": "*.json"}})) as app:
            return [
                measure(app.spark, folder, build_options(operation, table_type), (rows, warm_up, pairs))
                for table_type in TABLE_TYPES
                for operation in OPERATIONS
            ]


def build_options(operation: Operation, table_type: TableType) -> WriteOptions:
    """Those of a table of a configuration; no compaction or clean falls on one of the two only."""
    is_keyed = operation == "upsert"
    return WriteOptions(
        table_name="t",
        operation=operation,
        record_key=("id",),
        ordering=("at",) if is_keyed else (),
        table_type=table_type,
        compact_after=1_000 if table_type == "merge_on_read" else 0,
        keep_commits=1_000,
    )


def measure(
    spark: SparkSession, folder: Path, options: WriteOptions, sizes: tuple[int, int, int]
) -> BenchmarkResult:
    """One operation on one table type; sizes are rows a commit, commits before, and pairs."""
    rows, warm_up, pairs = sizes
    name = f"commit_floor_{options.operation}_{options.table_type}"
    table = Table(spark, str(folder / name / "ours"))
    bare, hoodie = str(folder / name / "bare"), options.to_hoodie()
    own_turn, bare_turn = count(), count()

    def ours() -> float:
        with in_memory(build_rows(spark, rows, next(own_turn))) as frame:
            started = time.monotonic()
            table.write(frame, options)
            return time.monotonic() - started

    def floor() -> float:
        with in_memory(build_rows(spark, rows, next(bare_turn))) as frame:
            started = time.monotonic()
            frame.write.format("hudi").options(**hoodie).mode("append").save(bare)
            return time.monotonic() - started

    for _ in range(warm_up):
        say(f"{name}, warm-up: ours {ours():.2f} s, floor {floor():.2f} s")
    pair = choose_median(measure_pairs(ours, floor, pairs))
    counts = [table.read().count(), spark.read.format("hudi").load(bare).count()]
    broken = "" if counts[0] == counts[1] else f"{counts[0]} rows in ours, {counts[1]} in the other"
    return BenchmarkResult(name, pair.value, pair.floor, "s", GOAL, "lower", broken)


def build_rows(spark: SparkSession, rows: int, turn: int) -> DataFrame:
    """Rows of which half have the keys of the turn before."""
    first = turn * (rows // 2)
    return spark.range(first, first + rows, numPartitions=2).select(
        F.col("id").cast("string").alias("id"),
        F.lit(turn).cast("bigint").alias("at"),
        F.concat(F.lit("customer "), (F.col("id") * 7919 % 100_000).cast("string")).alias("customer"),
        (F.col("id") % 1_000 / 10).alias("amount"),
    )


@contextmanager
def in_memory(rows: DataFrame) -> Iterator[DataFrame]:
    """The rows, made before anything is timed and let go of afterwards."""
    kept = rows.cache()
    kept.count()
    try:
        yield kept
    finally:
        kept.unpersist(blocking=True)
