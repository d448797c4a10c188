"""Tables with something to be looked after, written the way headwater writes them."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.lake.layout import TableAddress
from headwater.lake.options import WriteOptions
from headwater.lake.service_table import ServiceTable
from headwater.lake.table import Table

SCHEMA = "id string, n int, day string"


class Owned:
    """One table and its owner's view of it."""

    def __init__(self, spark: SparkSession, path: Path, **options: Any) -> None:
        self.path = path
        self.table = Table(spark, str(path))
        self.services = ServiceTable(spark, TableAddress("t", str(path)))
        self._options = {"operation": "upsert", "record_key": ("id",), "partition": ("day",), **options}

    def write(self, *rows: tuple[str, int, str], **options: Any) -> str:
        """One commit; gives its requested time."""
        frame = self.table.spark.createDataFrame(rows, SCHEMA).coalesce(1)
        self.table.write(frame, WriteOptions("t", **{**self._options, **options}))
        return self.table.load_timeline().commits[-1].requested

    def rows(self) -> list[tuple[str, int]]:
        return sorted((row["id"], row["n"]) for row in self.table.read().collect())

    def files(self, pattern: str) -> list[Path]:
        """Files with rows, on disk."""
        return [
            found for found in self.path.rglob(pattern) if ".hoodie" not in found.relative_to(self.path).parts
        ]


@pytest.fixture
def build(spark: SparkSession, tmp_path: Path):
    return lambda **options: Owned(spark, tmp_path / "t", **options)
