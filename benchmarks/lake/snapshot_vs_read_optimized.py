"""How much faster is a read-optimized query than a snapshot query, and how stale is its answer?

One merge-on-read table whose log files are not compacted: several upserts, each of a tenth of the rows. The
same query with both query types, in turns: the read-optimized one reads base files only, the snapshot query,
which is the floor, merges the log files. The note states how many rows the read-optimized query returns in an
older state.
"""

import time

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.pairs import choose_median, measure_pairs, say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.tables import Lake, build_orders, list_data_files, open_lake
from benchmarks.sizes import sized
from headwater.lake.table import Table

TABLE_ROWS = sized(500_000, 2_000)
FILES = sized(8, 2)
ONE_IN = 10
UPSERTS = sized(5, 2)
PAIRS = sized(5, 1)
GOAL = 0.8
CONFIG = {"record_key": "id", "ordering": "at", "table_type": "merge_on_read"}


def run() -> BenchmarkResult:
    """Seconds of the query, read-optimized and snapshot."""
    with open_lake({"t": CONFIG}) as lake:
        table = build_table(lake)
        sums: dict[str, int] = {}

        def ask(name: str, frame: DataFrame) -> float:
            started = time.monotonic()
            found = frame.agg(F.sum("at").alias("at"), F.sum("amount")).first()
            assert found is not None
            sums[name] = found["at"]
            return time.monotonic() - started

        def ours() -> float:
            return ask("read_optimized", table.read_optimized())

        def floor() -> float:
            return ask("snapshot", table.read())

        say(f"warm-up: read-optimized {ours():.2f} s, snapshot {floor():.2f} s")
        pair = choose_median(measure_pairs(ours, floor, PAIRS))
        stale = table.read_optimized().join(table.read().where("at > 0"), "id", "left_semi").count()
        logs = sum(".log." in name for name in list_data_files(table.path))
    expected = {"read_optimized": 0, "snapshot": sum(range(1, UPSERTS + 1)) * (TABLE_ROWS // ONE_IN)}
    broken = "" if sums == expected else f"sums are {sums}, expected {expected}"
    note = f"{stale / TABLE_ROWS:.0%} of the rows in an older state; {logs} log files for {FILES} base files"
    name = "snapshot_vs_read_optimized"
    return BenchmarkResult(name, pair.value, pair.floor, "s", GOAL, "lower", broken, note)


def build_table(lake: Lake) -> Table:
    """Write all rows to base files, then the changes to log files."""
    table = lake.open_table("t")
    table.write(build_orders(lake.spark, 0, TABLE_ROWS, files=FILES), lake.build_options("t", "bulk_insert"))
    for turn in range(1, UPSERTS + 1):
        every = build_orders(lake.spark, 0, TABLE_ROWS, turn)
        rows = every.where(F.col("id").cast("bigint") % ONE_IN == turn % ONE_IN)
        table.write(rows, lake.build_options("t"))
    return table
