"""What a derived table may rely on, whatever the format of the table that it follows."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from headwater.config.settings import Settings
from headwater.errors import LakeError, TransformError
from headwater.medallion.source_tables.opening import open_sources
from headwater.medallion.source_tables.protocol import SourceTable
from tests.fixtures.medallion.other_pipeline import Row
from tests.fixtures.medallion.other_tables import OtherDelta, OtherHudi, OtherIceberg, OtherTable

FIRST: list[Row] = [(1, "a", 1), (2, "a", 2), (3, "b", 3)]
Build = Callable[[SparkSession, Path], Any]

VERSIONED: dict[str, Build] = {
    "delta": OtherDelta,
    "delta_deletion_vectors": lambda spark, path: OtherDelta(
        spark, path, **{"delta.enableDeletionVectors": "true"}
    ),
    "iceberg": OtherIceberg,
    "iceberg_merge_on_read": lambda spark, path: OtherIceberg(spark, path, "merge-on-read"),
}
BUILT: dict[str, Build] = {"hudi": OtherHudi, **VERSIONED}


def open_table(spark: SparkSession, folder: Path, given: dict[str, str]) -> SourceTable:
    settings = Settings.model_validate(
        {
            "source": {"type": "local", "path": str(folder / "in")},
            "lake": str(folder / "lake"),
            "tables": {"copied": {"from": given}},
        }
    )
    (found,) = open_sources(spark, settings.lake, settings.tables["copied"]).values()
    return found


class Follower:
    """Keeps the rows of a table by its changes alone."""

    def __init__(self, spark: SparkSession, folder: Path, other: OtherTable) -> None:
        self._spark = spark
        self._other = other
        self.source = open_table(spark, folder, other.source)
        self.as_of = ""
        self.rows: dict[str, Row] = {}
        self.groups: set[str] = set()
        self._persisted: list[DataFrame] = []

    def _persist(self, frame: DataFrame) -> DataFrame:
        self._persisted.append(frame.persist())
        return frame

    def _read(self, frame: DataFrame) -> dict[str, Row]:
        found = frame.select(self.source.build_key().alias("key"), "id", "shop", "at").collect()
        assert len({row[0] for row in found}) == len(found), "a key that is not unique"
        return {row[0]: (row[1], row[2], row[3]) for row in found}

    def follow(self) -> str:
        """Process what is new, compare the rows, and return the kind of the plan."""
        plan = self.source.plan(self.as_of, is_same_selection=True)
        assert plan is not None
        kind = plan.kind
        if plan.kind == "changes":
            known = self._spark.createDataFrame([(key,) for key in self.rows], "_headwater_source_key string")
            changes = self.source.read_changes(plan, known, self._persist)
            before = self.source.find_state(plan.after)
            assert before is not None
            groups = self.source.find_changed_groups(plan, before, ["shop"], self._persist)
            assert (changes is None) == (groups is None)
            if changes is None or groups is None:
                kind = "all"
            else:
                self.groups = {row[0] for row in groups.collect()}
                for row in changes.touched.collect():
                    self.rows.pop(row[0], None)
                self.rows |= self._read(changes.written)
        if kind == "all":
            self.source.check_keys(self.source.read())
            self.rows = self._read(self.source.read())
        self.as_of = plan.upto
        assert sorted(self.rows.values()) == sorted(self._other.rows.values())
        while self._persisted:
            self._persisted.pop().unpersist()
        return kind


QUICK = ("delta",)
"""Followed in `make test`; the others in `make test-slow`."""


@pytest.fixture(
    params=[name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in BUILT]
)
def other(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Any:
    return BUILT[request.param](spark, tmp_path / "other")


@pytest.fixture(params=VERSIONED)
def versioned(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Any:
    return VERSIONED[request.param](spark, tmp_path / "other")


@pytest.fixture
def follower(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> Follower:
    """A follower of the first rows."""
    name = "versioned" if "versioned" in request.fixturenames else "other"
    table = request.getfixturevalue(name)
    table.upsert(FIRST)
    found = Follower(spark, tmp_path, table)
    assert found.follow() == "all"
    assert found.follow() == "nothing"
    return found


def test_inserts_updates_and_deletes_are_changes(other: OtherTable, follower: Follower) -> None:
    other.upsert([(4, "c", 4)])
    assert follower.follow() == "changes"
    assert "c" in follower.groups
    # Order 2 moves from one shop to another.
    other.upsert([(2, "d", 5), (5, "a", 5)])
    other.delete(3)
    assert follower.follow() == "changes"
    assert follower.groups >= {"a", "b", "d"}
    assert follower.follow() == "nothing"


@pytest.mark.slow
def test_a_row_that_was_inserted_and_deleted_between_two_reads_is_absent(
    other: OtherTable, follower: Follower
) -> None:
    other.upsert([(8, "z", 8)])
    other.delete(8)
    other.delete(1)
    follower.follow()
    assert 1 not in {row[0] for row in follower.rows.values()}


@pytest.mark.slow
def test_replaced_rows_a_new_column_and_a_new_table_are_followed(
    other: OtherTable, follower: Follower
) -> None:
    other.overwrite([(7, "z", 1)])
    follower.follow()
    other.add_column((8, "y", 1))
    follower.follow()
    assert "note" in follower.source.read().columns
    other.recreate([(1, "b", 9)])
    assert follower.follow() == "all"


@pytest.mark.slow
def test_only_groups_of_different_rows_have_changed(versioned: Any, follower: Follower) -> None:
    # The rows of one commit are in one file, which an update replaces.
    versioned.upsert([(2, "c", 5)])
    assert follower.follow() == "changes"
    assert follower.groups == {"a", "c"}


@pytest.mark.slow
def test_compaction_changes_no_row(versioned: Any, follower: Follower) -> None:
    versioned.upsert([(4, "c", 4)])
    follower.follow()
    versioned.compact()
    assert follower.follow() in ("changes", "nothing")
    assert follower.groups <= {"c"}


@pytest.mark.slow
def test_a_lost_history_is_compared_as_a_whole(versioned: Any, follower: Follower) -> None:
    # With deletion vectors, an update would need the old file.
    versioned.overwrite([(2, "c", 5), (3, "b", 3)])
    versioned.lose_history()
    assert follower.follow() == "all"


@pytest.mark.slow
def test_rows_with_the_same_key_are_refused(versioned: Any, follower: Follower, spark: SparkSession) -> None:
    twice = versioned.frame([(9, "a", 1), (9, "b", 1)])
    if isinstance(versioned, OtherDelta):
        versioned.append(twice)
    else:
        twice.writeTo(versioned.name).append()
    with pytest.raises(TransformError, match="2 rows have id = 9"):
        follower.follow()


@pytest.mark.parametrize("kind", ["hudi", "delta", "iceberg"])
def test_an_address_without_a_table_is_an_error(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    (tmp_path / "folder").mkdir()
    key = {} if kind == "hudi" else {"key": "id"}
    for name in ("folder", "nowhere"):
        source = open_table(spark, tmp_path, {kind: str(tmp_path / name), **key})
        with pytest.raises(LakeError, match=rf"there is no {kind.title()} table at .*{name}"):
            source.plan("", is_same_selection=True)


@pytest.mark.slow
def test_equal_rows_count(versioned: Any, spark: SparkSession, tmp_path: Path) -> None:
    """A group changes with each copy of a row, also without a key."""
    versioned.upsert(FIRST)
    source = open_table(spark, tmp_path, versioned.source)
    first = source.plan("", is_same_selection=True)
    assert first is not None
    if isinstance(versioned, OtherDelta):
        versioned.append(versioned.frame(FIRST[:1]))
    else:
        versioned.frame(FIRST[:1]).writeTo(versioned.name).append()
    plan, before = source.plan(first.upto, is_same_selection=True), source.find_state(first.upto)
    assert plan is not None
    assert before is not None
    groups = source.find_changed_groups(plan, before, ["shop"], DataFrame.persist)
    assert groups is not None
    assert [row[0] for row in groups.where(F.col("shop").isNotNull()).collect()] == ["a"]
