"""How many of a table's files does a query read with an index, beside none on the same table?

One copy-on-write table: 8 partitions of 8 files, a file of each from every commit. Each query asks for one
value of a column that one index knows and the others do not. It runs through Spark SQL twice, on the table as
headwater reads it for queries and with data skipping off; files are counted by the scan (`numFiles` of the
executed plan), and both answers have to be the same rows. Column stats would find the same files as partition
stats: those are asked on a copy of the table that is told it has none.
"""

import hashlib
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from benchmarks.pairs import say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.apps import build_settings, open_app
from benchmarks.sizes import sized
from headwater.config.table import TableConfig
from headwater.config.table.typed_options import list_typed_options
from headwater.lake import indexes
from headwater.lake.indexes.building import build_index
from headwater.lake.layout import TableAddress
from headwater.lake.options import TABLE_PROPERTIES_FILE, WriteOptions, owner_options
from headwater.lake.service_table import ServiceTable
from headwater.lake.table import Table

PARTITIONS = 8
FILES = 8
ROWS = sized(250, 20)
DAY = 86_400
EPOCH = 1_767_225_600
SCHEMA = "id string, sequence bigint, shelf bigint, at bigint, customer string, region string"
CONFIG: dict[str, Any] = {
    "path": "*.json",
    "record_key": "id",
    "partition": "region",
    "index": {"type": "global_record_level"},
    "column_stats": ["sequence", "shelf"],
    # Every commit makes a file of its own in each partition.
    "file_sizes": {"small": 0},
}


@dataclass(frozen=True, slots=True)
class Question:
    """A query for one value, and the share of the files that it may read beside none skipped; `without` an
    index that would find them, too."""

    name: str
    where: str
    goal: float
    without: str = ""


@dataclass(frozen=True, slots=True)
class Counted:
    """What a query gave, and how many files it read for that."""

    rows: list[str]
    files: int


def build_rows(file: int) -> list[tuple[object, ...]]:
    """One commit: rows of each partition. Of a file `sequence` and `at` are its own, `shelf` its partition's;
    ids lie everywhere."""
    rows: list[tuple[object, ...]] = []
    for partition in range(PARTITIONS):
        number = (partition * FILES + file) * ROWS
        day = EPOCH + (partition * FILES + file) * DAY
        rows += [
            (
                name_id(number + at),
                number + at,
                partition * ROWS + at,
                day + at,
                f"customer {(number + at) * 7919 % 1000}",
                f"r{partition}",
            )
            for at in range(ROWS)
        ]
    return rows


def name_id(number: int) -> str:
    """A key in no order."""
    return hashlib.sha256(str(number).encode()).hexdigest()[:32]


QUESTIONS = (
    Question("skipping_column_stats", f"sequence = {19 * ROWS + 7}", 0.05),
    Question("skipping_partition_stats", f"shelf = {5 * ROWS + 7}", 0.15, without="column_stats"),
    Question("skipping_record_index", f"id = '{name_id(33 * ROWS + 11)}'", 0.05),
    Question("skipping_expression_index", "from_unixtime(at, 'yyyy-MM-dd') = '2026-01-20'", 0.05),
)


def run() -> list[BenchmarkResult]:
    """Files read, a result a kind of index."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = {"type": "local", "path": str(folder / "landing")}
        with open_app(build_settings(folder, source, {"t": CONFIG})) as app:
            path = str(folder / "lake/t")
            build_table(app.spark, path, app.settings.tables["t"])
            return [measure(app.spark, prepare(path, question), question) for question in QUESTIONS]


def build_table(spark: SparkSession, path: str, config: TableConfig) -> None:
    """The table with all its indexes."""
    options = WriteOptions(
        table_name="t",
        operation="insert",
        record_key=config.record_key,
        partition=config.partition,
        typed=list_typed_options(config),
    )
    for file in range(FILES):
        Table(spark, path).write(spark.createDataFrame(build_rows(file), SCHEMA).coalesce(1), options)
        say(f"commit {file + 1} of {FILES}")
    address = TableAddress("t", path)
    request = indexes.IndexRequest("by_day", "expression", ("at",), "from_unixtime", {"format": "yyyy-MM-dd"})
    plan = indexes.plan_creation(indexes.list_indexes(address, config), config, request)
    say(f"{build_index(ServiceTable(spark, address, owner_options(config)), plan)}")


def prepare(path: str, question: Question) -> str:
    """The table, or a copy that does not know of one of its indexes."""
    if not question.without:
        return path
    copy = shutil.copytree(path, f"{path}-{question.name}")
    properties = Path(copy, TABLE_PROPERTIES_FILE)
    told = properties.read_text("utf-8")
    properties.write_text(told.replace(f"{question.without},", "", 1), "utf-8")
    # Of the text as it was.
    properties.with_name(f".{properties.name}.crc").unlink(missing_ok=True)
    return str(copy)


def measure(spark: SparkSession, path: str, question: Question) -> BenchmarkResult:
    """One query, with indexes and with none."""
    table = Table(spark, path)
    with_index = count(spark, table.read(skip_files=True), question)
    without = count(spark, table.read(), question)
    say(f"{question.name}: {with_index.files} of {without.files} files for {len(without.rows)} rows")
    broken = "" if with_index.rows == without.rows and without.rows else "the answers differ, or are empty"
    return BenchmarkResult(
        question.name, with_index.files, without.files, "files", question.goal, "lower", broken
    )


def count(spark: SparkSession, frame: Any, question: Question) -> Counted:
    """Run the query through SQL; the scan itself says how many files it has read."""
    frame.createOrReplaceTempView("t")
    # Without a shuffle the plan is not adapted while it runs, and its scans are its leaves.
    answer = spark.sql(f"select id from t where {question.where}")
    rows = sorted(row["id"] for row in answer.collect())
    return Counted(rows, count_files(answer))


def count_files(frame: Any) -> int:
    """Files that the scans of an executed query have read."""
    leaves, found = frame._jdf.queryExecution().executedPlan().collectLeaves().iterator(), 0
    while leaves.hasNext():
        found += int(leaves.next().metrics().get("numFiles").get().value())
    return found
