"""Tables of a lake in a temporary folder, written with the options of their configuration."""

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from benchmarks.rig.apps import JSON, build_settings, open_app
from headwater.config.table import TableConfig
from headwater.config.table.typed_options import list_typed_options
from headwater.lake.options import TABLE_METADATA_FOLDER, Operation, WriteOptions
from headwater.lake.table import Table

KEEP_COMMITS = 1_000
"""No commit is cleaned or archived while a benchmark measures."""


class Lake:
    """An open lake: its session, its folder, and the configurations of its tables."""

    def __init__(self, spark: SparkSession, folder: Path, configs: Mapping[str, TableConfig]) -> None:
        self.spark = spark
        self.folder = folder
        self.configs = configs

    def open_table(self, name: str) -> Table:
        """Open a table; a writer in another thread needs another one."""
        return Table(self.spark, str(self.folder / name))

    def build_options(self, name: str, operation: Operation = "upsert") -> WriteOptions:
        """Build the options of a write, as a table's pipeline does; no service runs in between."""
        config = self.configs[name]
        return WriteOptions(
            table_name=name,
            operation=operation,
            record_key=config.record_key,
            ordering=config.ordering,
            table_type=config.table_type,
            compact_after=KEEP_COMMITS if config.table_type == "merge_on_read" else 0,
            keep_commits=KEEP_COMMITS,
            typed=list_typed_options(config),
            extra=config.hoodie,
        )


@contextmanager
def open_lake(tables: JSON, **further: Any) -> Iterator[Lake]:
    """Open an empty lake with these tables; it is removed at the end."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = {"type": "local", "path": str(folder / "landing")}
        tables = {table: {"path": "*.json", **config} for table, config in tables.items()}
        with open_app(build_settings(folder, source, tables, **further)) as app:
            yield Lake(app.spark, folder / "lake", app.settings.tables)


def time_write(rows: DataFrame, write: Callable[[DataFrame], None]) -> float:
    """Return the seconds of a write of rows that are computed before."""
    cached = rows.cache()
    cached.count()
    started = time.monotonic()
    write(cached)
    seconds = time.monotonic() - started
    cached.unpersist(blocking=True)
    return seconds


def build_orders(spark: SparkSession, first: int, rows: int, turn: int = 0, files: int = 2) -> DataFrame:
    """Build rows in the order of their keys; `turn` is the value of the ordering column `at`."""
    return spark.range(first, first + rows, numPartitions=files).select(
        F.format_string("%012d", "id").alias("id"),
        F.lit(turn).cast("bigint").alias("at"),
        F.concat(F.lit("customer "), (F.col("id") * 7919 % 100_000).cast("string")).alias("customer"),
        (F.col("id") % 1_000 / 10).alias("amount"),
    )


def list_data_files(path: str | Path) -> dict[str, int]:
    """Return the size of each base and log file of a table, superseded ones included."""
    return {
        str(file.relative_to(path)): file.stat().st_size
        for file in Path(path).rglob("*")
        if file.is_file()
        and TABLE_METADATA_FOLDER not in file.relative_to(path).parts
        and not file.name.endswith((".crc", ".hoodie_partition_metadata"))
    }


def count_keys(table: Table) -> tuple[int, int]:
    """Return how many rows a table has, and how many different keys."""
    counted = table.read().agg(F.count("*").alias("rows"), F.countDistinct("id").alias("keys")).first()
    assert counted is not None
    return counted["rows"], counted["keys"]
