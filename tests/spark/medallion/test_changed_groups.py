"""Tables of groups that only make those groups anew in which rows changed, on real Hudi."""

import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from headwater.errors import ConfigError, TransformError
from tests.fixtures.medallion.medallion_lake import MedallionLake, Row

pytestmark = [pytest.mark.long, pytest.mark.timeout(1800)]

ORDERS = {"path": "*.json", "mode": "mirror"}
SHOPS = ("a", "b", "c", None)
BY_SHOP = """
select shop, coalesce(shop, 'none') as name, count(*) as orders, sum(price) as total, max(id) as newest
from input where paid group by shop
"""


def grouped(refresh: str, text: str = BY_SHOP, **more: Any) -> dict[str, Any]:
    given = {"group_key": "shop"} if refresh == "changed_keys" else {}
    return {
        "from": "orders", "refresh": refresh, "record_key": "name", "transform": [{"sql": text}],
        **given, **more,
    }  # fmt: skip


def order(number: int, shop: str | None = "a", price: int = 1, *, paid: bool = True) -> Row:
    return {"id": number, "shop": shop, "price": price, "paid": paid}


def fold(files: dict[str, list[Row]]) -> list[tuple[Any, ...]]:
    """What there has to be, without Spark."""
    rows = [row for rows in files.values() for row in rows if row["paid"]]
    found = []
    for shop in SHOPS:
        of_shop = [row for row in rows if row["shop"] == shop]
        if of_shop:
            prices = [row["price"] for row in of_shop]
            newest = max(row["id"] for row in of_shop)
            found.append((shop or "none", len(of_shop), sum(prices), newest))
    return sorted(found)


def change(
    chance: random.Random, files: dict[str, list[Row]], numbers: list[int]
) -> dict[str, list[Row] | None]:
    """Some files anew: rows come, go, and move between groups. None: the file goes."""
    changed: dict[str, list[Row] | None] = {}
    for name in chance.sample(["1.json", "2.json", "3.json", "4.json"], chance.randint(1, 2)):
        if name in files and chance.random() < 0.25:
            changed[name] = None
            continue
        kept = [row for row in files.get(name, []) if chance.random() < 0.8]
        moved = [row | {"shop": chance.choice(SHOPS)} if chance.random() < 0.3 else row for row in kept]
        new = [
            order(numbers.pop(), chance.choice(SHOPS), chance.randint(1, 9), paid=chance.random() < 0.8)
            for _ in range(chance.randint(1, 3))
        ]
        changed[name] = moved + new
    return changed


@pytest.mark.parametrize(("seed", "table_type"), [(1, "copy_on_write"), (2, "merge_on_read")])
def test_incremental_result_equals_full_recomputation(
    spark: SparkSession, tmp_path: Path, seed: int, table_type: str
) -> None:
    kind = {"table_type": table_type}
    lake = MedallionLake(
        spark, tmp_path, orders=ORDERS | kind, by_keys=grouped("changed_keys") | kind, whole=grouped("full")
    )
    chance, numbers = random.Random(seed), list(range(1000, 0, -1))
    files: dict[str, list[Row]] = {}
    columns = ("name", "orders", "total", "newest")
    for taken in (1, 2, 1, 1):  # commits of the source that are taken in together
        for _ in range(taken):
            for name, rows in change(chance, files, numbers).items():
                if rows is None:
                    del files[name]
                    lake.remove(name)
                else:
                    files[name] = rows
                    lake.put_rows(name, rows)
            lake.ingest("orders")
        lake.follow("by_keys")
        assert lake.rows("by_keys", *columns) == fold(files)
    lake.follow("whole")
    assert lake.rows("whole", *columns) == lake.rows("by_keys", *columns)


def test_only_changed_groups_are_recomputed(spark: SparkSession, tmp_path: Path) -> None:
    text = BY_SHOP.replace("select shop", "select shop, current_timestamp() as made_at")
    lake = MedallionLake(spark, tmp_path, orders=ORDERS, by_shop=grouped("changed_keys", text))
    lake.put_rows("1.json", [order(1), order(2, "b", 2)])
    lake.put_rows("2.json", [order(3, "c", 3), order(4, None, 4)])
    lake.flow()
    first = dict(lake.rows("by_shop", "name", "made_at"))
    assert set(first) == {"a", "b", "c", "none"}
    # A row moves from b to c; a's stays as it is, but its object is new, so that counts as changed.
    lake.put_rows("1.json", [order(1), order(2, "c", 2)])
    done = lake.flow()["by_shop"]
    second = dict(lake.rows("by_shop", "name", "made_at"))
    assert lake.rows("by_shop", "name", "total") == [("a", 1), ("c", 5), ("none", 4)]
    assert second["none"] == first["none"]
    assert second["c"] > first["c"]
    assert done is not None
    assert (done.rows, done.deleted) == (2, 1)
    lake.remove("2.json")
    lake.flow()
    third = dict(lake.rows("by_shop", "name", "made_at"))
    assert (set(third), third["a"]) == ({"a", "c"}, second["a"])
    # Nothing new is nothing to do; other steps are a reason to make all anew.
    assert lake.flow() == {"by_shop": None}
    lake.change("by_shop", transform=[{"sql": text.replace("sum(price)", "sum(price) * 10")}])
    lake.follow("by_shop")
    assert lake.rows("by_shop", "name", "total") == [("a", 10), ("c", 20)]


def test_without_previous_state_everything_is_recomputed(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    few = {"hoodie.clean.commits.retained": "1", "hoodie.clean.trigger.max.commits": "1"}
    lake = MedallionLake(spark, tmp_path, orders=ORDERS | {"hoodie": few}, by_shop=grouped("changed_keys"))
    lake.put_rows("1.json", [order(1), order(2, "b", 2)])
    lake.flow()
    for price in range(3):
        shop = "a" if price % 2 else "c"
        lake.put_rows("1.json", [order(1, shop, price), order(2, "b", 2)])
        lake.ingest("orders")
    with caplog.at_level("INFO"):
        lake.flow()
    assert "have been cleaned" in caplog.text
    assert "the changed groups are unknown" in caplog.text
    assert lake.rows("by_shop", "name", "total") == [("b", 2), ("c", 2)]


def shout(rows: DataFrame) -> DataFrame:
    return rows.selectExpr("upper(shop) as shop", "id as name")


def test_transforms_that_change_the_key_are_detected(spark: SparkSession, tmp_path: Path) -> None:
    step = {"python": f"{__file__}:shout"}
    lake = MedallionLake(spark, tmp_path, orders=ORDERS, by_shop=grouped("changed_keys", transform=[step]))
    lake.put_rows("1.json", [order(1)])
    with pytest.raises(TransformError, match="a row with shop = A, which no source row"):
        lake.flow()
    lake.change("by_shop", group_key=["town"])
    with pytest.raises(ConfigError, match="no column 'town' in 'orders'") as raised:
        lake.follow("by_shop")
    assert "id, paid, price, shop" in raised.value.hint
