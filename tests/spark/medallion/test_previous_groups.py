"""Groups that rows had before a change are recomputed, whatever another program does to its table."""

import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.fixtures.medallion.medallion_lake import MedallionLake
from tests.fixtures.medallion.other_pipeline import OtherPipeline, Row

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

COMPARED = "comparing two states"
CLUSTERED = {"hoodie.clustering.inline": "true", "hoodie.clustering.inline.max.commits": "1"}
COMPACTED = {"hoodie.compact.inline": "true", "hoodie.compact.inline.max.delta.commits": "1"}
MERGE_ON_READ = {"hoodie.datasource.write.table.type": "MERGE_ON_READ"}
MOVED_BETWEEN_PARTITIONS = {
    "hoodie.datasource.write.partitionpath.field": "shop",
    "hoodie.index.type": "GLOBAL_SIMPLE",
    "hoodie.simple.index.update.partition.path": "true",
}


@dataclass(frozen=True)
class Write:
    """One commit of the other program."""

    rows: Sequence[Row]
    operation: str = "upsert"
    options: Mapping[str, str] = field(default_factory=dict)


MOVED = Write([(1, "b", 2)])
DELETED = Write([(3, "b", 9)], "delete")
WITHOUT_DELETES = {
    "inserted": [Write([(9, "z", 1)])],
    "moved": [MOVED],
    "moved_twice": [MOVED, Write([(1, "c", 3)])],
}
WITH_DELETES = {
    "deleted_between_updates": [MOVED, DELETED, Write([(2, "z", 5)])],
    "deleted_and_inserted_again": [DELETED, Write([(3, "c", 10)])],
    "inserted_and_deleted": [Write([(9, "z", 1)]), Write([(9, "z", 2)], "delete"), MOVED],
}
REPLACED = {
    "clustered": [MOVED, Write([(2, "z", 5)], options=CLUSTERED)],
    "overwritten": [MOVED, Write([(7, "z", 1)], "insert_overwrite_table")],
}


def build_lake(spark: SparkSession, folder: Path, other: OtherPipeline) -> MedallionLake:
    """Return a lake with one table, of the orders by shop, that follows the other program's table."""
    shops = {
        "from": {"hudi": other.path},
        "refresh": "changed_keys",
        "record_key": "shop",
        "transform": [
            {"sql": "select shop, count(*) as orders, sum(at) as versions from input group by shop"}
        ],
    }
    return MedallionLake(spark, folder, shops=shops)


def check_shops(lake: MedallionLake, other: OtherPipeline) -> None:
    rows = other.rows.values()
    versions: Counter[str] = Counter()
    for _, shop, at in rows:
        versions[shop] += at
    orders = Counter(shop for _, shop, _ in rows)
    expected = [(shop, orders[shop], versions[shop]) for shop in sorted(orders)]
    assert lake.rows("shops", "shop", "orders", "versions") == expected


def follow(
    spark: SparkSession, folder: Path, writes: Sequence[Write], options: Mapping[str, str]
) -> tuple[MedallionLake, OtherPipeline]:
    """Follow a table of three orders, and then these writes in one batch; return what was written."""
    other = OtherPipeline(spark, folder / "other", **options)
    other.write([(1, "a", 1), (2, "a", 2), (3, "b", 3)])
    lake = build_lake(spark, folder, other)
    lake.flow()
    check_shops(lake, other)
    for write in writes:
        other.write(write.rows, write.operation, **write.options)
    lake.flow()
    check_shops(lake, other)
    return lake, other


@pytest.mark.parametrize("writes", WITHOUT_DELETES.values(), ids=WITHOUT_DELETES)
def test_without_deletes_states_are_not_compared(
    spark: SparkSession, tmp_path: Path, writes: Sequence[Write], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("DEBUG"):
        follow(spark, tmp_path, writes, {})
    assert COMPARED not in caplog.text


@pytest.mark.parametrize("writes", WITH_DELETES.values(), ids=WITH_DELETES)
def test_with_deletes_states_are_compared(
    spark: SparkSession, tmp_path: Path, writes: Sequence[Write], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("DEBUG"):
        follow(spark, tmp_path, writes, {})
    assert COMPARED in caplog.text


@pytest.mark.parametrize("writes", REPLACED.values(), ids=REPLACED)
def test_replaced_file_groups_are_read_completely(
    spark: SparkSession, tmp_path: Path, writes: Sequence[Write], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO"):
        follow(spark, tmp_path, writes, {})
    assert "a commit replaced whole file groups" in caplog.text


def test_a_row_may_move_to_another_partition(spark: SparkSession, tmp_path: Path) -> None:
    follow(spark, tmp_path, [MOVED], MOVED_BETWEEN_PARTITIONS)


@pytest.mark.parametrize("last", [{}, COMPACTED], ids=["before_compaction", "after_compaction"])
@pytest.mark.parametrize("deleted", [[], [DELETED]], ids=["updates", "deletes"])
def test_states_of_merge_on_read_tables_are_compared(
    spark: SparkSession,
    tmp_path: Path,
    last: Mapping[str, str],
    deleted: Sequence[Write],
    caplog: pytest.LogCaptureFixture,
) -> None:
    writes = [MOVED, *deleted, Write([(2, "c", 5)], options=last)]
    with caplog.at_level("DEBUG"):
        follow(spark, tmp_path, writes, MERGE_ON_READ)
    assert COMPARED in caplog.text


def choose_write(chance: random.Random, at: int) -> Write:
    """Return a random write of some of nine orders in four shops; a third of them delete."""
    numbers = chance.sample(range(9), chance.randint(1, 3))
    rows = [(number, chance.choice("abcd"), at) for number in numbers]
    return Write(rows, chance.choice(["upsert", "upsert", "delete"]))


@pytest.mark.parametrize(
    "options",
    [{}, MOVED_BETWEEN_PARTITIONS, pytest.param(MERGE_ON_READ, marks=pytest.mark.long)],
    ids=["copy_on_write", "partitioned", "merge_on_read"],
)
def test_groups_follow_random_writes(spark: SparkSession, tmp_path: Path, options: Mapping[str, str]) -> None:
    chance = random.Random(41)
    lake, other = follow(spark, tmp_path, [], options)
    versions = iter(range(100, 1000))
    for count in (1, 2, 1, 3):  # commits that are processed together
        for _ in range(count):
            write = choose_write(chance, next(versions))
            other.write(write.rows, write.operation)
        lake.flow()
        check_shops(lake, other)
