"""What do the write operations cost for the same new rows?

Three copy-on-write tables of the same rows. Each turn writes the same new keys to each of them: with
`bulk_insert`, which neither looks up keys nor fills small files; with `insert`, which fills small files; and
with `upsert`, which also looks up keys. The floor of `bulk_insert` is Spark's own Parquet writer, that of the
other two is `bulk_insert`. The rows are in memory; the order of the operations rotates.
"""

from collections.abc import Callable
from itertools import count

from pyspark.sql import DataFrame

from benchmarks.pairs import measure_turns
from benchmarks.result import BenchmarkResult
from benchmarks.rig.tables import Lake, build_orders, count_keys, open_lake, time_write
from benchmarks.sizes import sized
from headwater.lake.options import Operation

TABLE_ROWS = sized(500_000, 1_000)
NEW_ROWS = sized(50_000, 100)
WARM_UP = sized(1, 0)
TURNS = sized(5, 1)
OPERATIONS: tuple[Operation, ...] = ("bulk_insert", "insert", "upsert")
GOALS = {"bulk_insert": 6.0, "insert": 6.0, "upsert": 25.0}
PLAIN = "plain_parquet"


def run() -> list[BenchmarkResult]:
    """Seconds a write, one result for each operation."""
    with open_lake({name: {"record_key": "id", "ordering": "at"} for name in OPERATIONS}) as lake:
        for name in OPERATIONS:
            rows = build_orders(lake.spark, 0, TABLE_ROWS)
            lake.open_table(name).write(rows, lake.build_options(name, "bulk_insert"))
        steps = {PLAIN: build_plain_step(lake)} | {name: build_step(lake, name) for name in OPERATIONS}
        for _ in range(WARM_UP):
            for step in steps.values():
                step()
        pairs = measure_turns(steps, "bulk_insert", TURNS)
        expected = TABLE_ROWS + (WARM_UP + TURNS) * NEW_ROWS
        found = {name: count_keys(lake.open_table(name)) for name in OPERATIONS}
    broken = "" if set(found.values()) == {(expected, expected)} else f"{found}, expected {expected} rows"
    plain = pairs[PLAIN]
    first = BenchmarkResult(
        "operations_bulk_insert", plain.floor, plain.value, "s", GOALS["bulk_insert"], "lower", broken
    )
    others = [
        BenchmarkResult(
            f"operations_{name}", pairs[name].value, pairs[name].floor, "s", GOALS[name], "lower", broken
        )
        for name in ("insert", "upsert")
    ]
    return [first, *others]


def build_step(lake: Lake, operation: Operation) -> Callable[[], float]:
    """Build a call that writes the next new rows, and returns the seconds."""
    table, options, turns = lake.open_table(operation), lake.build_options(operation, operation), count()

    def write() -> float:
        rows = build_orders(lake.spark, TABLE_ROWS + next(turns) * NEW_ROWS, NEW_ROWS)
        return time_write(rows, lambda cached: table.write(cached, options))

    return write


def build_plain_step(lake: Lake) -> Callable[[], float]:
    """Build a call that appends the next new rows to a folder of Parquet files."""
    turns = count()

    def write() -> float:
        rows = build_orders(lake.spark, TABLE_ROWS + next(turns) * NEW_ROWS, NEW_ROWS)
        target = str(lake.folder / PLAIN)
        return time_write(rows, lambda cached: append_parquet(cached, target))

    return write


def append_parquet(rows: DataFrame, folder: str) -> None:
    """Write rows as Spark does without Hudi."""
    rows.write.mode("append").option("compression", "zstd").parquet(folder)
