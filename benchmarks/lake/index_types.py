"""How long does an upsert of one percent take with each index, compared with Hudi's default `simple`?

A copy-on-write table of a million rows for each index, in 16 files ordered by key; the bucket index hashes
the keys into 16 buckets. `recent` changes the newest one percent, which is in one file unless the keys are
hashed. `scattered` changes one row in a hundred, which rewrites every file with any index. The record index
is `global_record_level`. The order of the tables rotates; the rows are in memory.
"""

from collections.abc import Callable
from itertools import count

from pyspark.sql import functions as F

from benchmarks.pairs import measure_turns, say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.tables import Lake, build_orders, open_lake, time_write
from benchmarks.sizes import sized

TABLE_ROWS = sized(1_000_000, 2_000)
FILES = sized(16, 2)
ONE_IN = 100
WARM_UP = sized(1, 0)
TURNS = sized(3, 1)
INDEXES = {
    "simple": {"type": "simple"},
    "bloom": {"type": "bloom"},
    "bucket": {"type": "bucket", "buckets": FILES},
    "record_index": {"type": "global_record_level"},
}
PATTERNS = ("recent", "scattered")
GOAL = 3.0


def run() -> list[BenchmarkResult]:
    """Seconds an upsert, one result for each index but `simple`, and each pattern of changes."""
    configs = {
        name: {"record_key": "id", "ordering": "at", "index": index} for name, index in INDEXES.items()
    }
    with open_lake(configs) as lake:
        for name in INDEXES:
            rows = build_orders(lake.spark, 0, TABLE_ROWS, files=FILES)
            lake.open_table(name).write(rows, lake.build_options(name, "bulk_insert"))
            say(f"built {name}")
        turns = count(1)
        return [result for pattern in PATTERNS for result in measure(lake, pattern, next(turns))]


def measure(lake: Lake, pattern: str, number: int) -> list[BenchmarkResult]:
    """Measure one pattern of changes with all indexes."""
    steps = {name: build_step(lake, name, pattern, number * 1_000) for name in INDEXES}
    for _ in range(WARM_UP):
        for step in steps.values():
            step()
    pairs = measure_turns(steps, "simple", TURNS)
    newest = number * 1_000 + WARM_UP + TURNS - 1
    results = []
    for name, pair in pairs.items():
        broken = check(lake, name, newest) or check(lake, "simple", newest)
        label = f"index_types_{name}_{pattern}"
        results.append(BenchmarkResult(label, pair.value, pair.floor, "s", GOAL, "lower", broken))
    return results


def build_step(lake: Lake, name: str, pattern: str, first_turn: int) -> Callable[[], float]:
    """Build a call that changes one percent of the rows, and returns the seconds."""
    table, options, turns = lake.open_table(name), lake.build_options(name), count(first_turn)

    def write() -> float:
        turn, changed = next(turns), TABLE_ROWS // ONE_IN
        if pattern == "recent":
            rows = build_orders(lake.spark, TABLE_ROWS - changed, changed, turn)
        else:
            every = build_orders(lake.spark, 0, TABLE_ROWS, turn)
            rows = every.where(F.col("id").cast("bigint") % ONE_IN == turn % ONE_IN)
        return time_write(rows, lambda cached: table.write(cached, options))

    return write


def check(lake: Lake, name: str, newest: int) -> str:
    """Return what is wrong with a table: too many rows, or a change that did not replace its row."""
    is_newest = F.count(F.when(F.col("at") == newest, 1)).alias("newest")
    found = lake.open_table(name).read().agg(F.count("*").alias("rows"), is_newest).first()
    assert found is not None
    expected = (TABLE_ROWS, TABLE_ROWS // ONE_IN)
    is_right = (found["rows"], found["newest"]) == expected
    return "" if is_right else f"{name}: {found['rows']} rows, {found['newest']} changed last, not {expected}"
