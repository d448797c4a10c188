"""How many files does a filter read after clustering with each layout, compared with no clustering?

Four copies of one table with column statistics on two independent columns, written in no order. Three are
clustered by both columns, as `linear`, `z-order` and `hilbert`. The same filter, on a range of the first
column and then of the second, is run through Spark SQL with data skipping; files are counted by the scan. A
clustering changes the number of files, so the figures are shares of all files of a copy. The floor is the
copy without clustering.
"""

from pyspark.sql import functions as F

from benchmarks.pairs import say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.tables import Lake, list_data_files, open_lake
from benchmarks.sizes import sized
from benchmarks.skipping import count_files
from headwater.lake.layout import TableAddress
from headwater.lake.options import owner_options
from headwater.lake.service_table import ServiceTable
from headwater.lake.services.clustering import ClusterOptions, cluster
from headwater.lake.typed_options.clustering import Layout

ROWS = sized(200_000, 4_000)
SOURCE_FILES = sized(32, 8)
TARGET_FILES = sized(16, 4)
VALUES = 10_000
RANGE = VALUES // 50
COLUMNS = ("width", "height")
LAYOUTS: tuple[Layout, ...] = ("linear", "z-order", "hilbert")
NONE = "none"
GOALS = {
    ("linear", "width"): 0.25,
    ("linear", "height"): 1.0,
    ("z-order", "width"): 0.5,
    ("z-order", "height"): 0.5,
    ("hilbert", "width"): 0.5,
    ("hilbert", "height"): 0.5,
}


def run() -> list[BenchmarkResult]:
    """Shares of the files read, one result for each layout and column."""
    config = {"record_key": "id", "column_stats": list(COLUMNS), "file_sizes": {"small": 0}}
    names = {layout: layout.replace("-", "_") for layout in LAYOUTS}
    with open_lake(dict.fromkeys((NONE, *names.values()), config)) as lake:
        write(lake, NONE)
        for layout, name in names.items():
            write(lake, name)
            arrange(lake, name, layout)
        found = {name: [count(lake, name, column) for column in COLUMNS] for name in lake.configs}
    results = []
    for layout in LAYOUTS:
        for at, column in enumerate(COLUMNS):
            share, rows = found[names[layout]][at]
            floor, expected = found[NONE][at]
            broken = "" if rows == expected > 0 else f"{rows} rows, not {expected}"
            label = f"layouts_{names[layout]}_{'first' if at == 0 else 'second'}"
            goal = GOALS[layout, column]
            results.append(BenchmarkResult(label, share, floor, "share of files", goal, "lower", broken))
    return results


def write(lake: Lake, name: str) -> None:
    """Write the rows; the values of both columns are in no order."""
    rows = lake.spark.range(0, ROWS, numPartitions=SOURCE_FILES).select(
        F.format_string("%012d", "id").alias("id"),
        F.pmod(F.xxhash64("id", F.lit("width")), F.lit(VALUES)).alias("width"),
        F.pmod(F.xxhash64("id", F.lit("height")), F.lit(VALUES)).alias("height"),
        F.sha2(F.col("id").cast("string"), 256).alias("text"),
    )
    lake.open_table(name).write(rows, lake.build_options(name, "bulk_insert"))


def arrange(lake: Lake, name: str, layout: Layout) -> None:
    """Cluster a table by both columns."""
    table = lake.open_table(name)
    target = sum(list_data_files(table.path).values()) // TARGET_FILES
    service = ServiceTable(lake.spark, TableAddress(name, table.path), owner_options(lake.configs[name]))
    done = cluster(service, ClusterOptions(sort=COLUMNS, layout=layout, target_bytes=target))
    say(f"{layout}: {done.files} files")


def count(lake: Lake, name: str, column: str) -> tuple[float, int]:
    """Return the share of a table's files that the filter reads, and the number of rows."""
    table = lake.open_table(name)
    table.read(skip_files=True).createOrReplaceTempView("t")
    first = VALUES // 2
    answer = lake.spark.sql(f"select id from t where {column} between {first} and {first + RANGE - 1}")
    rows = len(answer.collect())
    every = table.read()
    every.createOrReplaceTempView("t")
    unfiltered = lake.spark.sql("select id from t")
    unfiltered.collect()
    read, there = count_files(answer), count_files(unfiltered)
    say(f"{name}, {column}: {read} of {there} files for {rows} rows")
    return read / there, rows
