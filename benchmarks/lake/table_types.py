"""What does a merge-on-read table save when it is written, and cost when it is read?

A copy-on-write and a merge-on-read table of the same rows, then the same upserts of one percent of them,
scattered over all files. `table_types_bytes` is how many bytes an upsert writes per byte of its changed rows
(their size as one Parquet file): merge-on-read, and copy-on-write as the floor. `table_types_read_before`
is a snapshot read that merges the log files, `table_types_read_after` the same read after a compaction, each
with the read of the copy-on-write table as the floor.
"""

import time

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from benchmarks.pairs import choose_median, measure_pairs, say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.tables import Lake, build_orders, list_data_files, open_lake
from benchmarks.sizes import sized
from headwater.lake.layout import TableAddress
from headwater.lake.options import owner_options
from headwater.lake.service_table import ServiceTable
from headwater.lake.services.compaction import compact

TABLE_ROWS = sized(500_000, 2_000)
FILES = sized(8, 2)
ONE_IN = 100
UPSERTS = sized(5, 1)
PAIRS = sized(5, 1)
TYPES = ("copy_on_write", "merge_on_read")
BYTES_GOAL = 0.5
READ_GOALS = {"before": 10.0, "after": 1.2}


def run() -> list[BenchmarkResult]:
    """Bytes written per byte of change, and seconds of a read before and after compaction."""
    configs = {name: {"record_key": "id", "ordering": "at", "table_type": name} for name in TYPES}
    with open_lake(configs) as lake:
        for name in TYPES:
            rows = build_orders(lake.spark, 0, TABLE_ROWS, files=FILES)
            lake.open_table(name).write(rows, lake.build_options(name, "bulk_insert"))
        amplified = measure_bytes(lake)
        before = measure_read(lake, "before")
        address = TableAddress("merge_on_read", lake.open_table("merge_on_read").path)
        done = compact(ServiceTable(lake.spark, address, owner_options(lake.configs["merge_on_read"])))
        say(f"compacted {done.files} files")
        return [amplified, before, measure_read(lake, "after")]


def build_changes(lake: Lake, turn: int) -> DataFrame:
    """Build one percent of the rows, changed."""
    every = build_orders(lake.spark, 0, TABLE_ROWS, turn)
    return every.where(F.col("id").cast("bigint") % ONE_IN == turn % ONE_IN)


def measure_bytes(lake: Lake) -> BenchmarkResult:
    """Upsert the same changes into both tables, and compare what they add to the folders."""
    written, changed = dict.fromkeys(TYPES, 0), 0
    for turn in range(1, UPSERTS + 1):
        rows = build_changes(lake, turn).cache()
        plain = lake.folder / f"changes-{turn}"
        rows.coalesce(1).write.option("compression", "zstd").parquet(str(plain))
        changed += sum(list_data_files(plain).values())
        for name in TYPES:
            table = lake.open_table(name)
            bytes_before = sum(list_data_files(table.path).values())
            table.write(rows, lake.build_options(name))
            written[name] += sum(list_data_files(table.path).values()) - bytes_before
        rows.unpersist(blocking=True)
    say(f"{changed} bytes of changes; written: {written}")
    value, floor = written["merge_on_read"] / changed, written["copy_on_write"] / changed
    return BenchmarkResult(
        "table_types_bytes", value, floor, "bytes written per byte of change", BYTES_GOAL, "lower"
    )


def measure_read(lake: Lake, when: str) -> BenchmarkResult:
    """Read all rows of both tables, in turns."""
    answers: dict[str, tuple[int, int]] = {}

    def read(name: str) -> float:
        started = time.monotonic()
        columns = F.count("*").alias("rows"), F.sum("at").alias("at"), F.sum("amount")
        found = lake.open_table(name).read().agg(*columns).first()
        assert found is not None
        answers[name] = (found["rows"], found["at"])
        return time.monotonic() - started

    say(f"{when}, warm-up: {[round(read(name), 2) for name in TYPES]}")
    pair = choose_median(measure_pairs(lambda: read("merge_on_read"), lambda: read("copy_on_write"), PAIRS))
    expected = (TABLE_ROWS, sum(range(1, UPSERTS + 1)) * (TABLE_ROWS // ONE_IN))
    broken = "" if set(answers.values()) == {expected} else f"{answers}, expected {expected}"
    name, goal = f"table_types_read_{when}", READ_GOALS[when]
    return BenchmarkResult(name, pair.value, pair.floor, "s", goal, "lower", broken)
