"""Rows that the chunks do not have yet: the server reads them from the table; the points are the same."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.app.search.following import IndexFollower
from headwater.rag.syncing import lake_rows
from headwater.rag.syncing.divergence import compare_states
from headwater.rag.syncing.position import SyncPosition, parse_position
from tests.fixtures.search.indexed_lake import IndexedLake, Row

MERGE = {"path": "*.json", "record_key": "sku", "ordering": "at"}
MIRROR = {"path": "*.json", "mode": "mirror"}
SEARCH = {"text": ["title", "description"]}
EVERY_TYPE = (
    "sku string, title string, description string, at bigint, day date, time timestamp, "
    "amount decimal(10,2), weight float, flag boolean, tags array<string>, sizes array<int>, raw binary, "
    "spec struct<watt: int, maker: struct<name: string>, ports: array<struct<kind: string, count: int>>>, "
    "more map<string, string>"
)
FULL: dict[str, Any] = {
    "day": "2026-03-04",
    "time": "2026-03-04T05:06:07.891Z",
    "amount": 12.5,
    "weight": 0.1,
    "flag": True,
    "tags": ["new", None, "small"],
    "sizes": [40, 41],
    "spec": {"watt": 5, "maker": {"name": "Ada"}, "ports": [{"kind": "usb", "count": 2}, {"kind": None}]},
    "more": {"color": "red", "none": None},
}


def product(sku: str, title: str = "", at: int = 1, **more: Any) -> Row:
    return {"sku": sku, "title": title or f"title of {sku}", "description": f"about {sku}", "at": at, **more}


class Followed:
    """A lake whose index is followed by one process, as a server does."""

    def __init__(
        self, spark: SparkSession, folder: Path, table: dict[str, Any], search: dict[str, Any]
    ) -> None:
        self.lake = IndexedLake(spark, folder, table, search)
        self.follower = IndexFollower(self.lake.index)

    def begin(self) -> None:
        self.lake.follow()
        self.follower.sync()

    @property
    def position(self) -> SyncPosition:
        stored = self.lake.live.read_checkpoint()
        assert stored is not None
        return parse_position(stored.position)

    def check_ahead(self, titles: dict[str, str]) -> None:
        """Ingest, and find the rows in the index; then the chunks have the same, and the rows follow them."""
        self.lake.ingest()
        self.follower.sync()
        assert self.titles() == titles
        assert self.position.ahead
        assert self.position.newest_as_of > self.position.as_of
        self.lake.indexer.run()
        wanted = self.lake.index.open_chunks().read_snapshot().iter_states()
        assert compare_states(wanted, self.lake.live.iter_states()).rows == set()
        self.follower.sync()
        assert self.position.ahead == ()
        assert self.lake.index.reconcile().divergent_rows == 0

    def titles(self) -> dict[str, str]:
        return {key: point.text.partition("\n")[0] for key, point in self.lake.points().items()}


@pytest.mark.parametrize(
    "table_type", ["copy_on_write", pytest.param("merge_on_read", marks=pytest.mark.slow)]
)
@pytest.mark.slow
def test_rows_of_a_mirror_are_there_before_their_chunks(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    # Several objects may have a product: the newest counts, and the others when that one is removed.
    found = Followed(spark, tmp_path, {**MIRROR, "table_type": table_type}, {**SEARCH, "id": "sku"})
    found.lake.put("a.json", [product("1"), product("2")])
    found.lake.put("b.json", [product("3")])
    found.begin()
    found.lake.put("a.json", [product("2", "second"), product("5")])
    found.check_ahead({"2": "second", "3": "title of 3", "5": "title of 5"})
    found.lake.put("c.json", [product("3", "newer")])
    found.check_ahead({"2": "second", "3": "newer", "5": "title of 5"})
    found.lake.remove("c.json")
    found.lake.remove("a.json")
    found.check_ahead({"3": "title of 3"})
    # The row has another product now.
    found.lake.put("b.json", [product("7")])
    found.check_ahead({"7": "title of 7"})


@pytest.mark.parametrize(
    "table_type", [pytest.param("copy_on_write", marks=pytest.mark.slow), "merge_on_read"]
)
def test_rows_of_every_type_become_the_same_points(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    table = {**MERGE, "schema": EVERY_TYPE, "table_type": table_type}
    found = Followed(spark, tmp_path, table, SEARCH)
    found.lake.put("1.json", [product("1", **FULL), product("2"), product("3", description=None)])
    found.begin()
    found.lake.put("2.json", [product("1", "other", 2, **FULL), product("2", "title of 2", 2, **FULL)])
    # A late state of a row changes nothing, and a row without text is not indexed.
    found.lake.put("3.json", [product("3", "late", 0), {"sku": "4", "at": 2}, product("5", at=2, **FULL)])
    found.check_ahead({"1": "other", "2": "title of 2", "3": "title of 3", "5": "title of 5"})


@pytest.mark.slow
def test_rows_are_taken_from_the_chunks_if_that_is_better(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Followed(spark, tmp_path, MERGE, SEARCH)
    found.lake.put("1.json", [product("1")])
    found.begin()
    monkeypatch.setattr(lake_rows, "MOST_BYTES", 1)
    found.lake.put("2.json", [product("2")])
    found.lake.ingest()
    found.follower.sync()
    assert set(found.titles()) == {"1"}
    found.lake.indexer.run()
    found.follower.sync()
    assert set(found.titles()) == {"1", "2"}
    monkeypatch.undo()
    # Only Spark evaluates a condition.
    found.lake.configure(**SEARCH, where="at < 9")
    found.lake.indexer.run()
    follower = IndexFollower(found.lake.index)
    found.lake.put("3.json", [product("3", at=9), product("4")])
    found.lake.ingest()
    follower.sync()
    assert set(found.titles()) == {"1", "2"}
    found.lake.indexer.run()
    follower.sync()
    assert set(found.titles()) == {"1", "2", "4"}


@pytest.mark.slow
def test_rows_of_a_process_that_was_killed_follow_the_chunks(spark: SparkSession, tmp_path: Path) -> None:
    found = Followed(spark, tmp_path, MERGE, SEARCH)
    found.lake.put("1.json", [product("1"), product("2")])
    found.begin()
    found.lake.put("2.json", [product("1", "other", 2)])
    found.lake.ingest()
    found.follower.sync()
    assert found.titles()["1"] == "other"
    found.lake.put("3.json", [product("1", "title of 1", 3)])
    found.lake.ingest()
    # The chunks never have the state in between, and no change of this row.
    found.lake.indexer.run()
    found.lake.index.sync()
    assert found.titles()["1"] == "title of 1"
    assert found.lake.index.reconcile().divergent_rows == 0
