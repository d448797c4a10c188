"""How much does a table of two tables save when 1 % of its keys change, against a full recompute by hand?

Ours: one batch of a derived table with `from: [orders, customers]` and `refresh: changed_keys`. Floor: the
same join with bare Spark over the same two Hudi tables, written with `insert_overwrite_table`, as a scheduled
job does. Before each pair, 1 % of the customers get a new order, and an order of theirs changes. Both results
must be equal at the end. The first commits, which make the tables, are not timed.
"""

import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.pairs import Pair, choose_median, say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.apps import build_settings, open_app
from benchmarks.sizes import sized

CUSTOMERS = sized(50_000, 100)
ORDERS_EACH = 20
PAIRS = sized(5, 1)
GOAL = 1.0
SQL = """
select c.id as customer_id, c.name, count(o.id) as orders, coalesce(sum(o.amount), 0) as total,
       max(o.amount) as largest
from customers c left join orders o on o.customer_id = c.id group by c.id, c.name
"""
COLUMNS = ("customer_id", "name", "orders", "total", "largest")


def run(customers: int = CUSTOMERS, pairs: int = PAIRS) -> list[BenchmarkResult]:
    """Seconds a batch."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = {table: str(folder / table) for table in ("orders", "customers")}
        joined = {
            "from": [{"hudi": path, "as": table} for table, path in paths.items()],
            "refresh": "changed_keys",
            "record_key": "customer_id",
            "transform": [{"sql": SQL}],
        }
        source = {"type": "local", "path": str(folder / "landing")}
        with open_app(build_settings(folder, source, {"joined": joined})) as app:
            write_sources(app.spark, paths, customers)
            pipeline, bare = app.build_derived_pipeline("joined"), str(folder / "bare")

            def ours() -> None:
                assert pipeline.run_batch() is not None

            def floor() -> None:
                recompute(app.spark, paths, bare)

            found = measure(app.spark, paths["orders"], (customers, pairs), ours, floor)
            broken = compare(app.spark, str(folder / "lake/joined"), bare)
            return [BenchmarkResult("joined_tables", found.value, found.floor, "s", GOAL, "lower", broken)]


def measure(
    spark: SparkSession,
    orders: str,
    sizes: tuple[int, int],
    ours: Callable[[], None],
    floor: Callable[[], None],
) -> Pair:
    """The median of pairs after the same change; which of the two comes first alternates."""
    customers, count = sizes
    say(f"first batch: ours {time_step(ours):.1f} s, floor {time_step(floor):.1f} s")
    pairs = []
    for turn in range(1, count + 1):
        write_changes(spark, orders, customers, turn)
        steps = {"ours": ours, "floor": floor} if turn % 2 else {"floor": floor, "ours": ours}
        seconds = {name: time_step(step) for name, step in steps.items()}
        pairs.append(Pair(seconds["ours"], seconds["floor"]))
        say(f"pair {turn} of {count}: {pairs[-1]}, ratio {pairs[-1].ratio:.3f}")
    return choose_median(pairs)


def time_step(step: Callable[[], None]) -> float:
    started = time.monotonic()
    step()
    return time.monotonic() - started


def write_sources(spark: SparkSession, paths: Mapping[str, str], customers: int) -> None:
    """Both tables in one commit each."""
    people = spark.range(customers).select("id", F.concat(F.lit("customer "), "id").alias("name"))
    write(people, paths["customers"], "id", "bulk_insert")
    write(build_orders(spark, 0, customers * ORDERS_EACH, customers, 0), paths["orders"], "id", "bulk_insert")


def write_changes(spark: SparkSession, orders: str, customers: int, turn: int) -> None:
    """A new order, and a change of the first one, for each of the next 1 % of the customers."""
    share = max(1, customers // 100)
    first = turn * share % customers
    new = customers * ORDERS_EACH * 10 * turn + first
    for start in (first, new):
        write(build_orders(spark, start, start + share, customers, turn), orders, "id", "upsert")


def build_orders(spark: SparkSession, start: int, end: int, customers: int, turn: int) -> DataFrame:
    """Order n is of customer n modulo their number."""
    return spark.range(start, end, numPartitions=2).select(
        "id",
        (F.col("id") % customers).alias("customer_id"),
        ((F.col("id") * 7919 + turn) % 1_000).alias("amount"),
        F.lit(turn).cast("bigint").alias("at"),
    )


def recompute(spark: SparkSession, paths: Mapping[str, str], path: str) -> None:
    """The whole join, with bare Spark."""
    for table, source in paths.items():
        spark.read.format("hudi").load(source).createOrReplaceTempView(table)
    write(spark.sql(SQL), path, "customer_id", "insert_overwrite_table")


def write(frame: DataFrame, path: str, key: str, operation: str) -> None:
    options = {
        "hoodie.table.name": Path(path).name,
        "hoodie.datasource.write.recordkey.field": key,
        "hoodie.datasource.write.operation": operation,
        "hoodie.bulkinsert.shuffle.parallelism": "2",
    }
    if "at" in frame.columns:
        options["hoodie.datasource.write.precombine.field"] = "at"
    frame.write.format("hudi").options(**options).mode("append").save(path)


def compare(spark: SparkSession, ours: str, bare: str) -> str:
    """What differs between the two results; empty if nothing does."""
    one, other = (spark.read.format("hudi").load(path).select(*COLUMNS) for path in (ours, bare))
    count = one.exceptAll(other).count() + other.exceptAll(one).count()
    return f"{count} rows differ between the two results" if count else ""
