"""Tables built from several tables: keys touched in any of them are recomputed, on real Hudi."""

import random
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.app.status import StatusReader
from headwater.errors import ConfigError
from headwater.medallion.batch_plan import BatchPlan
from headwater.medallion.pipeline import DerivedPipeline
from tests.fixtures.medallion.medallion_lake import MedallionLake, Row

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

ORDERS = {"path": "orders/*.json", "mode": "mirror"}
CUSTOMERS = {"path": "customers/*.json", "mode": "mirror"}
TOTALS = """
select coalesce(o.customer_id, c.id) as customer, max(c.name) as name, count(o.id) as orders,
       coalesce(sum(o.price), 0) as total
from orders o full join customers c on o.customer_id = c.id group by 1
"""
COLUMNS = ("customer", "name", "orders", "total")


def joined(refresh: str = "changed_keys", text: str = TOTALS, **more: Any) -> dict[str, Any]:
    return {
        "from": ["orders", "customers"], "refresh": refresh, "record_key": "customer",
        "transform": [{"sql": text}], **more,
    }  # fmt: skip


def order(number: int, customer: int, price: int = 1) -> Row:
    return {"id": number, "customer_id": customer, "price": price}


def customer(number: int, name: str) -> Row:
    return {"id": number, "name": name}


def fold(files: dict[str, list[Row]]) -> list[tuple[Any, ...]]:
    """What there has to be, without Spark."""
    orders, names = (
        [row for name, rows in files.items() if name.startswith(table) for row in rows]
        for table in ("orders", "customers")
    )
    found = []
    for key in sorted({row["customer_id"] for row in orders} | {row["id"] for row in names}):
        called = [row["name"] for row in names if row["id"] == key]
        own = [row["price"] for row in orders if row["customer_id"] == key] * max(1, len(called))
        found.append((key, max(called, default=None), len(own), sum(own)))
    return found


def change(chance: random.Random, files: dict[str, list[Row]], numbers: list[int]) -> dict[str, list[Row]]:
    """Return some files with new content: rows are new, deleted, or moved to another key."""
    changed: dict[str, list[Row]] = {}
    for name in chance.sample(["orders/1.json", "orders/2.json", "customers/1.json"], chance.randint(1, 2)):
        kept = [row for row in files.get(name, []) if chance.random() < 0.7]
        if name.startswith("orders"):
            moved = [
                row | {"customer_id": chance.randint(1, 5)} if chance.random() < 0.4 else row for row in kept
            ]
            new = [order(numbers.pop(), chance.randint(1, 5), chance.randint(1, 9)) for _ in range(2)]
        else:
            moved = [row | {"name": chance.choice("abc")} if chance.random() < 0.4 else row for row in kept]
            new = [customer(chance.choice([1, 2, 3, 4, 5, 6]), chance.choice("xyz"))]
        changed[name] = moved + new
    return changed


@pytest.mark.parametrize(
    ("seed", "table_type"),
    [(1, "copy_on_write"), pytest.param(2, "merge_on_read", marks=pytest.mark.long)],
)
def test_incremental_result_equals_the_join_of_all_rows(
    spark: SparkSession, tmp_path: Path, seed: int, table_type: str
) -> None:
    kind = {"table_type": table_type}
    lake = MedallionLake(
        spark, tmp_path, orders=ORDERS | kind, customers=CUSTOMERS | kind, by_keys=joined(**kind)
    )
    chance, numbers = random.Random(seed), list(range(1000, 0, -1))
    files: dict[str, list[Row]] = {}
    for name, rows in (("orders/1.json", [order(1, 1)]), ("customers/1.json", [customer(2, "n")])):
        files[name] = rows
        lake.put_rows(name, rows)
    lake.flow()
    assert lake.rows("by_keys", *COLUMNS) == fold(files)
    for taken in (1, 2, 1, 2):  # commits of the sources that are processed together
        for _ in range(taken):
            for name, rows in change(chance, files, numbers).items():
                files[name] = rows
                lake.put_rows(name, rows)
            for table in chance.sample(["orders", "customers"], 2):
                lake.ingest(table)
        lake.follow("by_keys")
        assert lake.rows("by_keys", *COLUMNS) == fold(files)


def test_only_keys_touched_in_one_of_the_tables_are_recomputed(spark: SparkSession, tmp_path: Path) -> None:
    text = TOTALS.replace("count(o.id)", "current_timestamp() as made_at, count(o.id)")
    lake = MedallionLake(spark, tmp_path, orders=ORDERS, customers=CUSTOMERS, totals=joined(text=text))
    lake.put_rows("orders/1.json", [order(1, 1, 5), order(2, 2, 7)])
    lake.put_rows("orders/2.json", [order(3, 3, 9)])
    lake.put_rows("customers/1.json", [customer(1, "ann"), customer(2, "bob")])
    lake.put_rows("customers/2.json", [customer(4, "dan")])
    lake.flow()
    assert lake.rows("totals", *COLUMNS) == [
        (1, "ann", 1, 5),
        (2, "bob", 1, 7),
        (3, None, 1, 9),
        (4, "dan", 0, 0),
    ]
    first = dict(lake.rows("totals", "customer", "made_at"))
    # Order 3 moves to customer 4, so that nothing is left of 3; the others stay as they are.
    lake.put_rows("orders/2.json", [order(3, 4, 9)])
    done = lake.flow()["totals"]
    assert lake.rows("totals", *COLUMNS) == [(1, "ann", 1, 5), (2, "bob", 1, 7), (4, "dan", 1, 9)]
    assert done is not None
    assert (done.rows, done.deleted) == (1, 1)
    second = dict(lake.rows("totals", "customer", "made_at"))
    assert {key for key in second if second[key] == first[key]} == {1, 2}
    # Both tables change in one batch: a customer without orders is deleted.
    lake.remove("customers/1.json")
    lake.put_rows("orders/1.json", [order(2, 2, 8)])
    done = lake.flow()["totals"]
    assert lake.rows("totals", *COLUMNS) == [(2, None, 1, 8), (4, "dan", 1, 9)]
    assert done is not None
    assert (done.rows, done.deleted) == (1, 1)
    assert lake.flow() == {"totals": None}


def test_a_table_waits_for_the_first_commit_of_each_source(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    lake = MedallionLake(spark, tmp_path, orders=ORDERS, customers=CUSTOMERS, totals=joined("full"))
    lake.put_rows("orders/1.json", [order(1, 1)])
    with caplog.at_level("INFO"):
        assert lake.flow() == {"totals": None}
    assert "table totals: waiting for the first commit of customers" in caplog.text
    found = StatusReader(lake.settings, {}, datetime.now(timezone.utc)).read().tables["totals"]
    assert [(lag.source, lag.behind, lag.has_commits) for lag in found.inputs] == [
        ("orders", 1, True),
        ("customers", 0, False),
    ]
    lake.put_rows("customers/1.json", [customer(1, "ann")])
    lake.flow()
    assert lake.rows("totals", *COLUMNS) == [(1, "ann", 1, 1)]
    found = StatusReader(lake.settings, {}, datetime.now(timezone.utc)).read().tables["totals"]
    assert (found.follows, found.lag_commits) == ("orders, customers", 0)
    assert all(lag.as_of for lag in found.inputs)


def test_commits_made_during_a_batch_are_part_of_the_next_one(spark: SparkSession, tmp_path: Path) -> None:
    lake = MedallionLake(spark, tmp_path, orders=ORDERS, customers=CUSTOMERS, totals=joined())
    lake.put_rows("orders/1.json", [order(1, 1, 5)])
    lake.put_rows("customers/1.json", [customer(1, "ann")])
    lake.flow()
    lake.put_rows("orders/1.json", [order(1, 1, 6)])
    lake.ingest("orders")

    def commit_more() -> None:
        lake.put_rows("orders/2.json", [order(2, 1, 10)])
        lake.put_rows("customers/1.json", [customer(1, "eve")])
        lake.ingest("orders")
        lake.ingest("customers")

    pipeline = lake.derived("totals")
    run_after_plan(pipeline, commit_more)
    assert pipeline.run_batch() is not None
    assert lake.rows("totals", *COLUMNS) == [(1, "ann", 1, 6)]
    assert pipeline.run_batch() is not None
    assert lake.rows("totals", *COLUMNS) == [(1, "eve", 2, 16)]
    assert pipeline.run_batch() is None


def run_after_plan(pipeline: DerivedPipeline, action: Callable[[], None]) -> None:
    """Run the action once, between the plan of the next batch and its reads."""
    make = pipeline._plan

    def plan_once() -> BatchPlan | None:
        pipeline._plan = make  # type: ignore[method-assign]
        found = make()
        action()
        return found

    pipeline._plan = plan_once  # type: ignore[method-assign]


def test_a_source_cleaned_beyond_the_checkpoint_is_read_again(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    few = {"hoodie.clean.commits.retained": "1", "hoodie.clean.trigger.max.commits": "1"}
    lake = MedallionLake(
        spark, tmp_path, orders=ORDERS | {"hoodie": few}, customers=CUSTOMERS, totals=joined()
    )
    lake.put_rows("orders/1.json", [order(1, 1), order(2, 2)])
    lake.put_rows("customers/1.json", [customer(1, "ann"), customer(2, "bob")])
    lake.flow()
    for price in range(2, 5):
        lake.put_rows("orders/1.json", [order(1, 1 + price % 2, price)])
        lake.ingest("orders")
    with caplog.at_level("INFO"):
        lake.flow()
    assert "table totals: reading all of orders: the changed groups are unknown" in caplog.text
    assert lake.rows("totals", *COLUMNS) == [(1, "ann", 1, 4), (2, "bob", 0, 0)]


def test_group_columns_are_checked_in_each_source(spark: SparkSession, tmp_path: Path) -> None:
    lake = MedallionLake(spark, tmp_path, orders=ORDERS, customers=CUSTOMERS, totals=joined())
    lake.put_rows("orders/1.json", [order(1, 1)])
    lake.put_rows("customers/1.json", [{"id": "1", "name": "ann"}])
    with pytest.raises(
        ConfigError, match="'customer_id' of 'orders' is bigint, and column 'id' of 'customers' is str"
    ):
        lake.flow()
    lake.change("totals", transform=[{"sql": TOTALS.replace("c.id", "c.key")}])
    with pytest.raises(ConfigError, match="no column 'key' in 'customers'"):
        lake.follow("totals")
