"""A data table, its chunks and the index follow each other, in every mode and table type."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.lake.layout import chunks_path
from headwater.rag.indexing import indexer
from tests.fixtures.search.indexed_lake import IndexedLake, Row

pytestmark = pytest.mark.slow

MERGE = {"path": "*.json", "record_key": "sku", "ordering": "at"}
MIRROR = {"path": "*.json", "mode": "mirror"}
SEARCH = {"text": ["title", "description"]}


def product(sku: str, title: str = "", price: float = 1.0, at: int = 1, **more: Any) -> Row:
    row = {"sku": sku, "title": title or f"title of {sku}", "description": f"about {sku}", "price": price}
    return {**row, "at": at, "in_stock": True, **more}


@pytest.mark.parametrize(
    ("table_type", "few"),
    [pytest.param("copy_on_write", 2_000, marks=pytest.mark.long), ("merge_on_read", 0)],
)
def test_an_index_follows_a_mirror(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table_type: str, few: int
) -> None:
    # Few changed rows are compared in the driver, more of them by joins: the same must come out.
    monkeypatch.setattr(indexer, "FEW", few)
    lake = IndexedLake(spark, tmp_path, {**MIRROR, "table_type": table_type}, {**SEARCH, "id": "sku"})
    lake.put("a.json", [product("1"), product("2"), product("3")])
    lake.put("b.json", [product("4")])
    report, sync = lake.follow()
    assert report is not None
    assert (report.embedded, report.reused, report.deleted) == (4, 0, 0)
    assert (sync.upserted, set(lake.points())) == (4, {"1", "2", "3", "4"})
    # An overwrite: one row is gone, one is new, all others are in other places.
    lake.put("a.json", [product("9"), product("1"), product("2")])
    report, sync = lake.follow()
    assert report is not None
    assert (report.embedded, report.fields_only, report.deleted) == (1, 2, 1)
    assert set(lake.points()) == {"1", "2", "4", "9"}
    assert sync.deleted == 1
    lake.remove("a.json")
    report, _ = lake.follow()
    assert report is not None
    assert (report.embedded, report.deleted, set(lake.points())) == (0, 3, {"4"})
    assert lake.index.reconcile().divergent_rows == 0
    assert lake.indexer.run() is None


@pytest.mark.parametrize(
    ("table_type", "few"),
    [pytest.param("copy_on_write", 0, marks=pytest.mark.long), ("merge_on_read", 2_000)],
)
def test_a_changed_price_embeds_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table_type: str, few: int
) -> None:
    monkeypatch.setattr(indexer, "FEW", few)
    lake = IndexedLake(spark, tmp_path, {**MERGE, "table_type": table_type}, SEARCH)
    lake.put("1.json", [product(str(number)) for number in range(20)])
    lake.follow()
    lake.put("2.json", [product(str(number), price=2.5, at=2) for number in range(20)])
    report, sync = lake.follow()
    assert report is not None
    assert (report.embedded, report.fields_only, report.looked_at_all) == (0, 20, "")
    assert (sync.upserted, sync.fields_set, sync.deleted) == (0, 20, 0)
    assert {point.fields["price"] for point in lake.points().values()} == {2.5}
    # A new text and a new word to be found by: only the first needs the model.
    lake.put("3.json", [product("0", "another", 2.5, 3), product("1", price=2.5, at=3, color="red")])
    report, sync = lake.follow()
    assert report is not None
    assert (report.embedded, report.reused, report.fields_only) == (1, 1, 0)
    assert (sync.upserted, sync.fields_set) == (2, 0)
    assert lake.points()["0"].text == "another\nabout 0"
    assert lake.points()["1"].fields["color"] == "red"


def test_a_shrunken_text_loses_its_surplus_chunks(spark: SparkSession, tmp_path: Path) -> None:
    lake = IndexedLake(spark, tmp_path, MERGE, {**SEARCH, "chunk": {"size": 60}})
    long = " ".join(f"Sentence number {number} stands here." for number in range(12))
    lake.put("1.json", [product("1", description=long), product("2")])
    lake.follow()
    before = lake.texts()["1"]
    assert len(before) > 4
    assert all(text.startswith("title of 1\n") for text in before)
    shorter = "Sentence number 0 stands here. Something new is said."
    lake.put("2.json", [product("1", description=shorter, at=2)])
    report, sync = lake.follow()
    assert report is not None
    assert report.deleted == sync.deleted == len(before) - len(lake.texts()["1"]) > 0
    assert lake.indexer.run() is None
    # It grows again: chunks that were deleted come back as new ones.
    lake.put("3.json", [product("1", description=long, at=3)])
    lake.follow()
    assert lake.texts()["1"] == before
    assert lake.index.reconcile().divergent_rows == 0


def test_rows_that_no_longer_meet_the_condition_leave(spark: SparkSession, tmp_path: Path) -> None:
    lake = IndexedLake(spark, tmp_path, MERGE, {**SEARCH, "where": "in_stock and price < 10"})
    empty: dict[str, Any] = {"title": " ", "description": None}
    lake.put("1.json", [product("1"), product("2"), product("3", in_stock=False), product("4", **empty)])
    report, _ = lake.follow()
    assert report is not None
    assert (set(lake.points()), report.empty) == ({"1", "2"}, 1)
    lake.put("2.json", [product("1", in_stock=False, at=2), product("3", at=2), product("2", "", 50, 2)])
    lake.follow()
    assert set(lake.points()) == {"3"}
    # Another condition asks about every row again, and embeds only those that were not there.
    lake.configure(**SEARCH)
    report = lake.indexer.run()
    lake.index.sync()
    assert report is not None
    assert report.looked_at_all
    assert (report.embedded, set(lake.points())) == (2, {"1", "2", "3"})


@pytest.mark.long
def test_a_mirror_without_ids_moves_texts_without_embedding_them(spark: SparkSession, tmp_path: Path) -> None:
    lake = IndexedLake(spark, tmp_path, MIRROR, SEARCH)
    lake.put("a.json", [product(str(number)) for number in range(5)])
    lake.follow()
    lake.put("a.json", [product("new"), *(product(str(number)) for number in range(5))])
    report, _ = lake.follow()
    assert report is not None
    assert (report.embedded, report.reused) == (1, 5)
    assert len(lake.points()) == 6


@pytest.mark.parametrize("few", [2_000, pytest.param(0, marks=pytest.mark.long)])
def test_of_rows_with_the_same_id_the_newest_counts(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    monkeypatch.setattr(indexer, "FEW", few)
    lake = IndexedLake(spark, tmp_path, MIRROR, {**SEARCH, "id": "sku"})
    lake.put("a.json", [product("1", "from a"), product("2")])
    lake.follow()
    lake.put("b.json", [product("1", "from b")])
    lake.follow()
    assert lake.points()["1"].text.startswith("from b")
    lake.remove("b.json")
    lake.follow()
    assert lake.points()["1"].text.startswith("from a")
    assert set(lake.points()) == {"1", "2"}


def test_an_append_only_table_and_a_run_after_the_timeline_was_archived(
    spark: SparkSession, tmp_path: Path
) -> None:
    few = {
        "hoodie.keep.min.commits": "2",
        "hoodie.keep.max.commits": "3",
        "hoodie.clean.commits.retained": "1",
    }
    lake = IndexedLake(spark, tmp_path, {"path": "*.json", "mode": "append", "hoodie": few}, SEARCH)
    lake.put("0.json", [product("0")])
    lake.follow()
    assert len(lake.points()) == 1
    for number in range(1, 6):
        lake.put(f"{number}.json", [product(str(number))])
        lake.ingest()
    lake.indexer = lake.restart()
    report, _ = lake.follow()
    assert report is not None
    assert "timeline" in report.looked_at_all
    assert (report.embedded, len(lake.points())) == (5, 6)


def test_nested_attributes_are_fields(spark: SparkSession, tmp_path: Path) -> None:
    search = {"text": ["title", "specs.note"]}
    lake = IndexedLake(spark, tmp_path, MERGE, search)
    specs = {"power": "1500 W", "size": {"width": 60}, "note": "for dry rooms", "parts": [[{"no": 1}]]}
    offers = [{"shop": "north", "price": 3}, {"shop": "south", "price": 4}]
    lake.put("1.json", [product("1", specs=specs, offers=offers), product("2")])
    lake.follow()
    point = lake.points()["1"]
    assert point.text == "title of 1\nfor dry rooms"
    nested = {name: value for name, value in point.fields.items() if "." in name}
    assert nested == {
        "specs.power": "1500 W",
        "specs.size.width": 60,
        "offers.shop": ["north", "south"],
        "offers.price": ["3", "4"],
    }
    assert lake.live.spec.filtered["specs.size.width"] == "number"
    # A struct stands for all of its columns, a path for one.
    lake.configure(**search, fields=["specs.size", "offers.shop"])
    report = lake.indexer.run()
    lake.index.sync()
    assert report is not None
    assert set(lake.points()["1"].fields) == {"specs.size.width", "offers.shop"}


def test_rows_whose_keys_read_alike_are_one_chunk(spark: SparkSession, tmp_path: Path) -> None:
    table = {"path": "*.json", "record_key": ["sku", "shop"], "ordering": "at"}
    lake = IndexedLake(spark, tmp_path, table, SEARCH)
    lake.put("1.json", [product("a#b", shop="c"), product("a", shop="b#c"), product("d", shop="e")])
    lake.follow()
    chunks = spark.read.format("hudi").load(chunks_path(lake.files.lake))
    assert sorted(row["row_key"] for row in chunks.collect()) == ["a#b#c", "d#e"]
    assert set(lake.points()) == {"a#b#c", "d#e"}
