"""How many files does `headwater sql` read for a selective filter, with and without column statistics?

Two copies of one table of many files ordered by one column, one with `column_stats` of it. The same statement
asks for one value through the engine of `headwater sql`, in this process. `sql_pruning_files` counts the file
slices that hudi-rs keeps after pruning, `sql_pruning_bytes` the bytes that this process reads for the query
(`rchar` of proc(5)). The floor of both is the copy without statistics. `sql_pruning_filter` is the copy with
statistics: slices kept, of all slices.
"""

from pathlib import Path

from pyspark.sql import functions as F

from benchmarks.pairs import say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.tables import Lake, open_lake
from benchmarks.sizes import sized
from headwater.lake.queries.query import Query
from headwater.lake.snapshot_reader import Scan, SnapshotReader
from headwater.lake.sql.engine import run_query, to_filter
from headwater.lake.sql.statement import parse_statement

FILES = sized(64, 8)
FILE_ROWS = sized(5_000, 500)
WANTED = FILES * FILE_ROWS // 2 + 7
SQL = f"select id, amount from t where sequence = {WANTED}"
WITH, WITHOUT = "with_stats", "without_stats"
GOAL = 1.0
FILTER_GOAL = 0.05


def run() -> list[BenchmarkResult]:
    """Slices and bytes, with statistics and without."""
    config = {"record_key": "id"}
    with open_lake({WITH: {**config, "column_stats": ["sequence"]}, WITHOUT: config}) as lake:
        for name in (WITH, WITHOUT):
            write(lake, name)
            ask(lake, name)
        kept = {name: count_slices(lake, name) for name in (WITH, WITHOUT)}
        read = {name: ask(lake, name) for name in (WITH, WITHOUT)}
        every = len(SnapshotReader(str(lake.folder / WITH)).list_slices())
    say(f"slices kept: {kept} of {every}; bytes read: {read}")
    note = ""
    if kept[WITH] >= kept[WITHOUT] and read[WITH] >= read[WITHOUT] * 0.95:
        note = "`headwater sql` makes no use of column statistics"
    if kept[WITHOUT] < every:
        note += f"; hudi-rs keeps {kept[WITHOUT]} of {every} files without them, by the Parquet footers"
    note = note.removeprefix("; ")
    return [
        BenchmarkResult("sql_pruning_files", kept[WITH], kept[WITHOUT], "files", GOAL, "lower", note=note),
        BenchmarkResult("sql_pruning_bytes", read[WITH], read[WITHOUT], "bytes", 1.1, "lower", note=note),
        BenchmarkResult("sql_pruning_filter", kept[WITH], every, "files", FILTER_GOAL, "lower"),
    ]


def write(lake: Lake, name: str) -> None:
    """Write the rows in the order of `sequence`."""
    rows = lake.spark.range(0, FILES * FILE_ROWS, numPartitions=FILES).select(
        F.sha2(F.col("id").cast("string"), 256).alias("id"),
        F.col("id").alias("sequence"),
        (F.col("id") % 1_000 / 10).alias("amount"),
    )
    lake.open_table(name).write(rows, lake.build_options(name, "bulk_insert"))


def count_slices(lake: Lake, name: str) -> int:
    """Count the file slices that remain for the filter of the statement."""
    reader = SnapshotReader(str(lake.folder / name))
    conditions = parse_statement(SQL).conditions
    filters = [found for c in conditions if (found := to_filter(c, reader.schema))]
    return len(reader.hudi_table.get_file_slices(Scan().build_options(None, filters)))


def ask(lake: Lake, name: str) -> int:
    """Run the statement; returns the bytes read. Raises `RuntimeError` if the row is not the right one."""
    before = read_bytes_of_process()
    answer = run_query(SQL, {"t": str(lake.folder / name)}, query=Query.snapshot())
    rows = list(answer.rows)
    if [row["amount"] for row in rows] != [WANTED % 1_000 / 10] or answer.engine == "spark":
        raise RuntimeError(f"{answer.engine} returned {rows}")
    return read_bytes_of_process() - before


def read_bytes_of_process() -> int:
    """Return how many bytes this process has read so far."""
    counters = dict(line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
    return int(counters["rchar"])
