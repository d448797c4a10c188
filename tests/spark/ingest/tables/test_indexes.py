"""Indexes on real Hudi: what they let queries pass over, and that none of them breaks a table."""

import hashlib
import json
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from headwater.errors import LakeError
from headwater.lake import indexes
from headwater.lake.indexes.building import build_index, drop_indexes, rebuild_index
from headwater.lake.layout import TableAddress, table_path
from headwater.lake.options import owner_options
from headwater.lake.service_table import ServiceTable
from tests.fixtures.folder_lake import FolderLake

pytestmark = pytest.mark.slow

SCHEMA = "id string, n bigint, at bigint, ts timestamp, name string, day string"
METADATA = {"path": "*.json", "record_key": "id", "schema": SCHEMA, "metadata_table": True}
SKIPPING = {
    "path": "*.json",
    "record_key": "id",
    "schema": SCHEMA,
    "index": {"type": "global_record_level"},
    "column_stats": ["n"],
    # Every commit makes a file of its own.
    "file_sizes": {"small": 0},
}
FORMAT = {"format": "yyyy-MM-dd"}
DAY = 86_400
START = 1_767_225_600


class Indexed:
    """One table, and its owner's commands."""

    def __init__(self, lake: FolderLake, spark: SparkSession) -> None:
        self.lake, self._spark = lake, spark
        self.address = TableAddress("t", table_path(lake.lake, "t"))
        self._files = 0

    @property
    def config(self) -> Any:
        return self.lake.settings.tables["t"]

    @property
    def services(self) -> ServiceTable:
        return ServiceTable(self._spark, self.address, owner_options(self.config))

    def ingest(self, count: int, day: str = "mo") -> None:
        """A file of so many rows, each with higher numbers than those before."""
        first = self._files * 100
        self._files += 1
        at = START + self._files * DAY
        rows = (
            {
                "id": name_id(n),
                "n": n,
                "at": at + n,
                "ts": "2026-01-01T00:00:00Z",
                "name": f"N{n}",
                "day": day,
            }
            for n in range(first, first + count)
        )
        self.lake.put(f"{self._files}.json", "\n".join(map(json.dumps, rows)))
        self.lake.ingest("t")

    def show(self) -> dict[str, str]:
        return {one.name: one.state for one in self.look().indexes}

    def look(self) -> indexes.TableIndexes:
        return indexes.list_indexes(self.address, self.config)

    def create(self, **request: Any) -> None:
        plan = indexes.plan_creation(self.look(), self.config, indexes.IndexRequest(**request))
        build_index(self.services, plan)

    def numbers(self) -> list[int]:
        return sorted(row[0] for row in self.lake.rows("t", "n"))

    def find(self, where: str, *, skip_files: bool) -> tuple[list[int], int]:
        """Numbers of the rows, and how many files were read for them."""
        frame = self.lake.table("t").read(skip_files=skip_files).where(where).select("n")
        return sorted(row[0] for row in frame.collect()), count_files(frame)


def name_id(n: int) -> str:
    return hashlib.md5(str(n).encode()).hexdigest()


def count_files(frame: DataFrame) -> int:
    leaves, found = frame._jdf.queryExecution().executedPlan().collectLeaves().iterator(), 0
    while leaves.hasNext():
        found += int(leaves.next().metrics().get("numFiles").get().value())
    return found


@pytest.fixture
def indexed(build, spark):
    return lambda **config: Indexed(build(t=config), spark)


def poison(spark: SparkSession, path: str, table: str) -> None:
    """As another writer's Spark does it, without a lock provider: Hudi cannot take back what it has begun."""
    spark.sql(f"create table {table} using hudi location '{path}'")
    try:
        with pytest.raises(Exception, match=r"(?s)performing index operation"):
            spark.sql(f"create index by_day on {table} using column_stats(ts) options(expr='from_unixtime')")
    finally:
        spark.sql(f"drop table {table}")


@pytest.mark.long
def test_table_broken_by_hudi_is_reported_and_repaired(indexed, spark):
    table = indexed(**METADATA)
    table.ingest(3)
    poison(spark, table.address.path, "poisoned")
    assert table.show()["by_day"] == "broken"
    with pytest.raises(LakeError):
        table.ingest(2)
    drop_indexes(table.services, [one.partition for one in indexes.plan_repair(table.look())])
    assert "by_day" not in table.show()
    assert table.show()["files"] == "built", "what was whole is still there"
    table.lake.ingest("t")
    assert table.numbers() == [0, 1, 2, 100, 101]
    assert table.look().problems == ()


@pytest.mark.long
def test_creation_that_fails_leaves_nothing_of_the_index(indexed):
    table = indexed(**METADATA)
    table.ingest(3)
    # Past the check, as if it did not know better.
    wrong = indexes.PlannedIndex(
        "by_day", "expression", "expr_index_by_day", ("ts",), {"expr": "from_unixtime"}, "column_stats"
    )
    with pytest.raises(LakeError):
        build_index(table.services, wrong)
    assert "by_day" not in table.show()
    table.ingest(2)
    assert table.numbers() == [0, 1, 2, 100, 101]


@pytest.mark.long
def test_refused_function_is_one_by_which_queries_miss_rows(indexed):
    table = indexed(**METADATA)
    table.ingest(3)
    lower = indexes.PlannedIndex(
        "low", "expression", "expr_index_low", ("name",), {"expr": "lower"}, "column_stats"
    )
    build_index(table.services, lower)
    # When Hudi finds the row by the index, too, the function need not be refused any longer.
    assert table.find("name = 'N1'", skip_files=True)[0] == []
    assert table.find("name = 'N1'", skip_files=False)[0] == [1]
    assert table.show()["low"] == "broken"
    drop_indexes(table.services, [one.partition for one in indexes.plan_repair(table.look())])
    assert table.find("name = 'N1'", skip_files=True)[0] == [1]


def test_indexes_let_queries_pass_files_over_and_live_on_with_the_table(indexed):
    table = indexed(**SKIPPING)
    for _ in range(4):
        table.ingest(5)
    table.create(name="by_day", type="expression", columns=("at",), function="from_unixtime", options=FORMAT)
    table.create(name="by_name", type="secondary", columns=("name",))
    table.ingest(5)
    assert set(table.show().values()) == {"built"}
    queries = (
        ("n = 302", [302]),
        (f"id = '{name_id(203)}'", [203]),
        ("name = 'N104'", [104]),
        ("from_unixtime(at, 'yyyy-MM-dd') = '2026-01-06'", [400, 401, 402, 403, 404]),
    )
    for where, expected in queries:
        assert table.find(where, skip_files=True) == (expected, 1), where
        assert table.find(where, skip_files=False) == (expected, 5), where


@pytest.mark.long
def test_index_is_rebuilt_and_dropped_without_affecting_others(indexed):
    table = indexed(**SKIPPING)
    table.ingest(3)
    table.create(name="by_name", type="secondary", columns=("name",))
    before = table.show()
    rebuild_index(table.services, indexes.plan_rebuild(table.look(), table.config, "by_name"))
    assert table.show() == before
    drop_indexes(table.services, ["secondary_index_by_name"])
    assert table.show() == {name: state for name, state in before.items() if name != "by_name"}
    table.ingest(3)
    assert table.show() == {name: state for name, state in before.items() if name != "by_name"}
    assert table.numbers() == [0, 1, 2, 100, 101, 102]
