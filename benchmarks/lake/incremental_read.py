"""Does reading one new commit cost more the larger the table is?

Copy-on-write tables of 100,000, a million and ten million rows, in files of 100,000 rows each; then a commit
that changes 1,000 rows of one file. A consumer that is one commit behind reads what it has missed. Ours:
`Table.read_commits`, as ingestion and indexing do. Floor: Spark's own incremental query of Hudi, with no
option but where to begin. In turns, in one warm session.

`incremental_read_slope` is how many times ours grows from the smallest to the largest table, by the line
through log(seconds) over log(rows), beside what a slope of 0.05 would make of it; `incremental_read` is ours
beside the floor on the largest. `python -m benchmarks.lake.incremental_read ROWS...` takes other sizes.
"""

import math
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.pairs import Pair, choose_median, measure_pairs, say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.apps import build_settings, open_app
from benchmarks.sizes import sized
from headwater.lake.options import WriteOptions
from headwater.lake.table import Table

TABLE_ROWS = sized((100_000, 1_000_000, 10_000_000), (1_000, 2_000))
FILE_ROWS = sized(100_000, 500)
CHANGED = sized(1_000, 100)
PAIRS = sized(9, 1)
SLOPE = 0.05
GOAL = 1.05


def run(sizes: Sequence[int] = TABLE_ROWS, pairs: int = PAIRS) -> list[BenchmarkResult]:
    """The growth of ours over the ladder of sizes, and ours beside the floor on its top."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = {"type": "local", "path": str(folder / "landing")}
        with open_app(build_settings(folder, source, {"t": {"path": "*.json"}})) as app:
            measure(app.spark, str(folder / "warm-up"), min(sizes), 2)
            measured = [measure(app.spark, str(folder / f"rows-{rows}"), rows, pairs) for rows in sizes]
    seconds = [statistics.median(pair.value for pair in found) for found in measured]
    slope = statistics.linear_regression([math.log(n) for n in sizes], [math.log(s) for s in seconds]).slope
    say(f"seconds a read: {[round(s, 3) for s in seconds]}; slope {slope:.3f}")
    span, largest = sizes[-1] / sizes[0], choose_median(measured[-1])
    return [
        BenchmarkResult("incremental_read_slope", span**slope, span**SLOPE, "times", 1.0, "lower"),
        BenchmarkResult("incremental_read", largest.value, largest.floor, "s", GOAL, "lower"),
    ]


def measure(spark: SparkSession, path: str, rows: int, pairs: int) -> list[Pair]:
    """Read the one commit behind, a few times."""
    table = Table(spark, path)
    build_table(spark, table, rows)
    before, newest = (commit.completed for commit in table.load_timeline().commits[-2:])

    def ours() -> float:
        return read(table.read_commits(before, newest))

    def floor() -> float:
        since = {"hoodie.datasource.query.type": "incremental"}
        since["hoodie.datasource.read.begin.instanttime"] = before
        return read(spark.read.format("hudi").options(**since).load(path))

    say(f"{rows} rows in the table")
    return measure_pairs(ours, floor, pairs)


def build_table(spark: SparkSession, table: Table, rows: int) -> None:
    """All rows in one commit, then the changed ones in another."""
    first = WriteOptions(table_name="t", operation="bulk_insert", record_key=("id",))
    table.write(build_rows(spark, rows, math.ceil(rows / FILE_ROWS), "first"), first)
    table.write(build_rows(spark, min(CHANGED, rows), 1, "new"), replace(first, operation="upsert"))


def build_rows(spark: SparkSession, rows: int, files: int, state: str) -> DataFrame:
    """Rows in the order of their keys, in so many files."""
    return spark.range(0, rows, numPartitions=files).select(
        F.format_string("%012d", "id").alias("id"),
        F.lit(state).alias("state"),
        (F.col("id") % 1_000 / 10).alias("amount"),
    )


def read(frame: DataFrame) -> float:
    """Seconds until all rows have been read. Raises `RuntimeError` when they are not those that changed."""
    started = time.monotonic()
    found = {row["state"]: row["count"] for row in frame.groupBy("state").count().collect()}
    seconds = time.monotonic() - started
    if set(found) != {"new"}:
        raise RuntimeError(f"an incremental read gave {found}")
    return seconds


if __name__ == "__main__":
    for result in run([int(size) for size in sys.argv[1:]]):
        print(result.to_json())
