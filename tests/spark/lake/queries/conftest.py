"""A small table of either type, written step by step."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import pytest
from pyspark.sql import SparkSession

from headwater.lake import TableAddress
from headwater.lake.options import Operation, TableType, WriteOptions
from headwater.lake.snapshot_reader import SnapshotReader
from headwater.lake.table import Table
from headwater.lake.timeline import Commit

Rows = Sequence[tuple[str, str, int]]


@dataclass(frozen=True)
class WrittenTable:
    """Rows are (id, name, version); the higher version of an id wins."""

    spark: SparkSession
    path: str
    table_type: TableType
    extra: Mapping[str, str] = field(default_factory=dict)

    @property
    def address(self) -> TableAddress:
        return TableAddress("t", self.path)

    @property
    def commits(self) -> list[Commit]:
        """The active ones, compactions left out."""
        action = "commit" if self.table_type == "copy_on_write" else "deltacommit"
        return [name for name in SnapshotReader(self.path).commit_names if name.action == action]

    def write(self, rows: Rows, operation: Operation = "upsert", **extra: str) -> Commit:
        options = WriteOptions(
            table_name="t",
            operation=operation,
            record_key=("id",),
            ordering=("version",),
            table_type=self.table_type,
            index="bucket",
            extra={**self.extra, **extra},
        )
        frame = self.spark.createDataFrame(rows, "id string, name string, version bigint").coalesce(1)
        Table(self.spark, self.path).write(frame, options)
        return self.commits[-1]

    def delete(self, *ids: str) -> Commit:
        return self.write([(key, "", 1_000) for key in ids], "delete")


@pytest.fixture(params=["copy_on_write", "merge_on_read"])
def table_type(request: pytest.FixtureRequest) -> TableType:
    kind: TableType = request.param
    return kind


@pytest.fixture
def build(spark, lake, table_type) -> Callable[..., WrittenTable]:
    def build_table(**extra: str) -> WrittenTable:
        return WrittenTable(spark, f"{lake}/t", table_type, extra)

    return build_table
