"""Tables built from tables follow them: rows, deletes, groups, on real Hudi."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.config.table import TableConfig
from headwater.errors import CheckFailedError, TableMismatchError, TransformError
from headwater.ingest.runner import Runner, Schedule
from tests.fixtures.medallion.medallion_lake import MedallionLake
from tests.fixtures.waiting import wait_until

pytestmark = pytest.mark.slow

ORDERS = {"path": "*.json", "mode": "mirror"}
PAID = {"from": "orders", "transform": [{"sql": "select *, price * 2 as double_price from input where paid"}]}
TOTALS = {
    "from": "paid",
    "refresh": "full",
    "record_key": "shop",
    "transform": [{"sql": "select shop, count(*) as orders, sum(price) as total from input group by shop"}],
}


def order(number: int, shop: str = "a", price: int = 1, *, paid: bool = True) -> dict[str, Any]:
    return {"id": number, "shop": shop, "price": price, "paid": paid}


@pytest.mark.parametrize(
    "table_type", ["copy_on_write", pytest.param("merge_on_read", marks=pytest.mark.long)]
)
def test_rows_and_groups_follow_inserts_updates_and_deletes(
    spark: SparkSession, tmp_path: Path, table_type: str
) -> None:
    kind = {"table_type": table_type}
    lake = MedallionLake(spark, tmp_path, totals=TOTALS | kind, paid=PAID | kind, orders=ORDERS | kind)
    lake.put_rows("1.json", [order(1, price=5), order(2, "b", 7), order(3, "b", paid=False)])
    lake.put_rows("2.json", [order(4, "c", 9)])
    done = lake.flow()
    assert list(done) == ["paid", "totals"]
    assert lake.rows("paid", "id", "double_price") == [(1, 10), (2, 14), (4, 18)]
    assert lake.rows("totals", "shop", "orders", "total") == [("a", 1, 5), ("b", 1, 7), ("c", 1, 9)]
    # Changed, no longer paid, paid at last; the only row of a group goes.
    lake.put_rows("1.json", [order(1, price=6), order(2, "b", 7, paid=False), order(3, "b")])
    lake.remove("2.json")
    done = lake.flow()
    assert lake.rows("paid", "id", "double_price") == [(1, 12), (3, 2)]
    assert lake.rows("totals", "shop", "orders", "total") == [("a", 1, 6), ("b", 1, 1)]
    assert done["paid"] is not None
    assert (done["paid"].rows, done["paid"].deleted) == (2, 2)
    assert done["totals"] is not None
    assert (done["totals"].rows, done["totals"].deleted) == (2, 1)
    # What changes no row moves the checkpoint all the same.
    lake.put_rows("3.json", [order(7, paid=False)])
    done = lake.flow()
    assert done["paid"] is not None
    assert (done["paid"].rows, done["paid"].deleted, done["paid"].committed) == (0, 0, True)
    # Nothing new is nothing to do, and no commit.
    assert lake.flow() == {"paid": None, "totals": None}


@pytest.mark.long
def test_all_rows_that_come_from_one_are_replaced_together(spark: SparkSession, tmp_path: Path) -> None:
    words = {
        "from": "texts",
        "transform": [{"sql": "select _headwater_source, id, explode(split(text, ' ')) as word from input"}],
    }
    lake = MedallionLake(
        spark, tmp_path, texts={"path": "*.json", "record_key": "id", "ordering": "at"}, words=words
    )
    lake.put_rows("1.json", [{"id": 1, "text": "b a b", "at": 1}, {"id": 2, "text": "x", "at": 1}])
    lake.flow()
    assert lake.rows("words", "id", "word") == [(1, "a"), (1, "b"), (1, "b"), (2, "x")]
    lake.put_rows("2.json", [{"id": 1, "text": "c b", "at": 2}])
    lake.flow()
    assert lake.rows("words", "id", "word") == [(1, "b"), (1, "c"), (2, "x")]
    # Other steps: everything is made anew, and what nobody makes any more goes.
    lake.change(
        "words", transform=[{"sql": "select _headwater_source, id, text as word from input where id = 1"}]
    )
    result = lake.follow("words")
    assert lake.rows("words", "id", "word") == [(1, "c b")]
    assert result is not None
    assert (result.rows, result.deleted) == (1, 2)


@pytest.mark.long
def test_a_key_of_its_own_may_change_but_not_be_shared(spark: SparkSession, tmp_path: Path) -> None:
    by_name = {"from": "people", "record_key": "name", "transform": [{"keep": ["name", "age"]}]}
    lake = MedallionLake(spark, tmp_path, people=ORDERS, by_name=by_name)
    lake.put_rows("1.json", [{"name": "ann", "age": 1}, {"name": "bob", "age": 2}])
    lake.flow()
    # Each takes the other's place in the file.
    lake.put_rows("1.json", [{"name": "bob", "age": 3}, {"name": "eve", "age": 4}])
    lake.flow()
    assert lake.rows("by_name", "name", "age") == [("bob", 3), ("eve", 4)]
    lake.put_rows("2.json", [{"name": "eve", "age": 5}])
    with pytest.raises(TransformError, match="several rows have name = eve") as raised:
        lake.flow()
    assert "Without `record_key`" in raised.value.hint
    assert lake.rows("by_name", "name", "age") == [("bob", 3), ("eve", 4)]
    lake.remove("1.json")
    lake.flow()
    assert lake.rows("by_name", "name", "age") == [("eve", 5)]


def test_each_result_has_a_key_of_its_own_whatever_its_name(spark: SparkSession, tmp_path: Path) -> None:
    counted = {"from": "people", "record_key": "count", "transform": [{"keep": ["name", "count"]}]}
    lake = MedallionLake(spark, tmp_path, people=ORDERS, counted=counted)
    lake.put_rows("1.json", [{"name": "ann", "count": 1}, {"name": "bob", "count": None}])
    with pytest.raises(TransformError, match="table counted: 1 rows have no count"):
        lake.flow()
    lake.put_rows("1.json", [{"name": "ann", "count": 1}, {"name": "bob", "count": 1}])
    with pytest.raises(TransformError, match="table counted: several rows have count = 1"):
        lake.flow()
    lake.put_rows("1.json", [{"name": "ann", "count": 1}, {"name": "bob", "count": 2}])
    lake.flow()
    assert lake.rows("counted", "count", "name") == [(1, "ann"), (2, "bob")]


@pytest.mark.long
def test_a_table_that_slept_past_the_timeline_compares_everything(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    few = {
        "hoodie.keep.min.commits": "2",
        "hoodie.keep.max.commits": "3",
        "hoodie.clean.commits.retained": "1",
    }
    lake = MedallionLake(spark, tmp_path, orders=ORDERS | {"hoodie": few}, paid=PAID)
    lake.put_rows("1.json", [order(1), order(2)])
    lake.put_rows("2.json", [order(3)])
    lake.put_rows("3.json", [order(4)])
    lake.flow()
    lake.remove("2.json")
    lake.ingest("orders")
    for price in range(2, 6):
        lake.put_rows("1.json", [order(1, price=price), order(2)])
        lake.ingest("orders")
    with caplog.at_level("INFO"):
        result = lake.follow("paid")
    assert "is no longer on the timeline" in caplog.text
    assert lake.rows("paid", "id", "price") == [(1, 5), (2, 1), (4, 1)]
    # Only the difference is written: order 4 is as it was. Order 2 tells of a new version of its object.
    assert result is not None
    assert (result.rows, result.deleted) == (2, 1)


@pytest.mark.long
def test_a_table_built_otherwise_is_not_taken_over(spark: SparkSession, tmp_path: Path) -> None:
    lake = MedallionLake(spark, tmp_path, orders=ORDERS, other={"path": "*.json", "record_key": "id"})
    lake.put_rows("1.json", [order(1)])
    lake.flow()
    lake.settings = lake.settings.model_copy(
        update={
            "tables": {**lake.settings.tables, "other": TableConfig(**{"from": "orders", "record_key": "id"})}
        }
    )
    with pytest.raises(TableMismatchError, match="was not built from another table"):
        lake.follow("other")


@pytest.mark.long
def test_a_check_that_fails_leaves_the_table_and_its_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    checked = PAID | {"checks": [{"range": {"column": "price", "min": 0}}]}
    lake = MedallionLake(spark, tmp_path, orders=ORDERS, paid=checked)
    lake.put_rows("1.json", [order(1)])
    lake.flow()
    lake.put_rows("2.json", [order(2, price=-1)])
    with pytest.raises(CheckFailedError, match="table paid: check 1"):
        lake.flow()
    assert lake.rows("paid", "id") == [(1,)]
    lake.put_rows("2.json", [order(2, price=3)])
    lake.flow()
    assert lake.rows("paid", "id") == [(1,), (2,)]


@pytest.mark.long
def test_while_running_a_table_follows_each_commit_of_the_other(spark: SparkSession, tmp_path: Path) -> None:
    lake = MedallionLake(spark, tmp_path, orders=ORDERS, paid=PAID)
    done: list[tuple[str, int]] = []
    runner = Runner(
        spark,
        lake.app.events.signal,
        [lake.app.build_derived_pipeline("paid"), lake.app.build_pipeline("orders")],
        lambda result: done.append((result.table, result.rows)),
        lambda *_: None,
        schedule=Schedule(follows={"paid": ("orders",)}),
    )
    runner.start()
    lake.put_rows("1.json", [order(1), order(2)])
    wait_until(lambda: ("paid", 2) in done, "rows of the first file", 120)
    lake.put_rows("2.json", [order(3)])
    # What is there at the end arrives, although its table's own source is still at work.
    runner.finish()
    assert runner.failures == {}
    assert lake.rows("paid", "id") == [(1,), (2,), (3,)]
