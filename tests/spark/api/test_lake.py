"""The Python API on a real lake, in the session of the caller, as in a notebook."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import headwater as hw
from headwater.errors import RunFailedError, UsageError

AT = "2026-11-28T12:00:00Z"


class Shop:
    """A folder of orders, and the lake of it."""

    def __init__(self, folder: Path, spark: SparkSession, **sections: Any) -> None:
        self.landing = folder / "landing"
        self.landing.mkdir()
        self.lake = hw.Lake(
            source={"type": "local", "path": str(self.landing)},
            lake=str(folder / "lake"),
            tables={
                "orders": {
                    "path": "orders/*.json",
                    "mode": "merge",
                    "record_key": "id",
                    "ordering": "at",
                    "table_type": "merge_on_read",
                },
                "clicks": {"path": "clicks/*.json", "mode": "append"},
            },
            spark=spark,
            **sections,
        )

    def put(self, key: str, *rows: dict[str, Any]) -> None:
        path = self.landing / key
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, spark: SparkSession) -> Iterator[Shop]:
    shop = Shop(tmp_path_factory.mktemp("shop"), spark)
    shop.put("orders/a.json", *({"id": n, "price": n / 2, "at": AT} for n in range(1, 4)))
    shop.put("clicks/a.json", {"page": "home"}, {"page": "cart"})
    (shop.landing / "orders/bad.json").write_text("{")
    report = shop.lake.run(progress=False)
    assert (report.tables["orders"].rows, report.tables["clicks"].rows) == (3, 2)
    yield shop
    shop.lake.close()
    # The session is the caller's.
    assert spark.range(1).count() == 1


def test_a_run_says_what_it_commits_where_it_is_watched(
    shop: Shop, capsys: pytest.CaptureFixture[str]
) -> None:
    shop.put("clicks/b.json", {"page": "help"})
    shop.lake.run(tables=["clicks"], progress=True)
    said = capsys.readouterr().err
    assert "1 events captured" in said
    assert "clicks: 1 objects, 1 rows" in said
    shop.lake.run(tables=["clicks"])
    assert capsys.readouterr().err == ""
    assert sorted(shop.lake["clicks"].to_arrow()["page"].to_pylist()) == ["cart", "help", "home"]


def test_tables_are_checked_and_explained(shop: Shop) -> None:
    report = shop.lake.verify(["orders"], deep=1)
    counts = report.tables["orders"].counts
    assert (counts.ingested, counts.quarantined, counts.missing) == (1, 1, 0)
    assert shop.lake["clicks"].verify().is_complete
    assert shop.lake.explain("orders/a.json").status == "ingested"
    assert shop.lake.explain("orders/bad.json").status == "quarantined"
    assert list(shop.lake["orders"].explain("orders/a.json").tables) == ["orders"]
    assert shop.lake.status().tables["orders"].rows == 3


def test_spark_and_arrow_read_the_same(shop: Shop) -> None:
    orders = shop.lake["orders"]
    spark_rows = {tuple(row) for row in orders.to_spark(["id", "price"]).collect()}
    arrow = orders.to_arrow(["id", "price"])
    assert spark_rows == set(zip(arrow["id"].to_pylist(), arrow["price"].to_pylist(), strict=True))
    assert orders.to_spark().columns == orders.schema.names


@pytest.mark.parametrize(
    "build",
    [
        pytest.param(lambda rows, spark: rows, id="dicts"),
        pytest.param(
            lambda rows, spark: pd.DataFrame(rows).assign(at=lambda frame: pd.to_datetime(frame["at"])),
            id="pandas",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            lambda rows, spark: pl.DataFrame(rows).with_columns(
                pl.col("at").str.to_datetime(time_zone="UTC")
            ),
            id="polars",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            lambda rows, spark: pa.Table.from_pylist(rows).cast(
                pa.schema([("id", pa.int64()), ("price", pa.float64()), ("at", pa.timestamp("us", "UTC"))])
            ),
            id="arrow",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            lambda rows, spark: spark.createDataFrame(rows).selectExpr(
                "id", "price", "cast(at as timestamp) at"
            ),
            id="spark",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_rows_of_each_library_are_written_and_deleted(shop: Shop, spark: SparkSession, build: Any) -> None:
    orders = shop.lake["orders"]
    rows = [{"id": 3, "price": 33.0, "at": "2026-11-29T00:00:00Z"}, {"id": 9, "price": 9.0, "at": AT}]
    before = orders.history()[0]
    done = orders.upsert(build(rows, spark))
    assert done.rows == 2
    prices = {row["id"]: row["price"] for row in orders.to_arrow().to_pylist()}
    assert prices == {1: 0.5, 2: 1.0, 3: 33.0, 9: 9.0}
    assert before.completed is not None
    assert orders.as_of(before.completed).count() == 3
    assert {(change.op, change.key) for change in orders.changes(before.completed)} >= {("i", "9")}
    assert orders.delete("id = 9", dry_run=True).rows == 1
    assert orders.delete("id = 9").rows == 1
    assert orders.count() == 3


def test_services_and_other_writes(shop: Shop) -> None:
    assert shop.lake["orders"].compact().instants
    assert shop.lake["clicks"].insert([{"page": "late"}]).rows == 1
    assert "late" in shop.lake["clicks"].to_arrow()["page"].to_pylist()
    assert shop.lake["clicks"].delete("page = 'late'").rows == 1
    shop.lake["clicks"].cluster(["page"])
    shop.lake["clicks"].clean()
    assert "late" not in shop.lake["clicks"].to_arrow()["page"].to_pylist()


@pytest.mark.slow
def test_forgotten_keys_stay_out(tmp_path: Path, spark: SparkSession) -> None:
    shop = Shop(tmp_path, spark)
    shop.put("clicks/a.json", {"page": "home"}, {"page": "cart"})
    shop.lake.run(progress=False)
    clicks = shop.lake["clicks"]
    planned = clicks.forget(["cart"], by="page", dry_run=True)
    assert (planned.structures[0].rows_deleted, planned.is_erased, clicks.count()) == (1, False, 2)
    assert clicks.forget(["cart"], by="page").is_erased
    shop.put("clicks/b.json", {"page": "cart"}, {"page": "late"})
    shop.lake.run(progress=False)
    assert sorted(clicks.to_arrow()["page"].to_pylist()) == ["home", "late"]
    assert clicks.verify().is_complete
    with pytest.raises(UsageError, match="no record key"):
        clicks.forget(["cart"])


@pytest.mark.parametrize("rows", [5, "text", [{"id": {}}], [{"other": 1}]])
def test_rows_that_fit_nothing_are_rejected_whole(shop: Shop, rows: Any) -> None:
    before = shop.lake["orders"].history()[0]
    with pytest.raises(UsageError) as caught:
        shop.lake["orders"].upsert(rows)
    assert caught.value.hint
    assert shop.lake["orders"].history()[0].instant == before.instant


@pytest.mark.slow
def test_quarantine_is_listed_retried_and_dropped(shop: Shop) -> None:
    quarantine = shop.lake.quarantine
    (item,) = quarantine.list(table="orders")
    assert (item["key"], len(quarantine), quarantine.list(reason="other")) == ("orders/bad.json", 1, [])
    assert "orders/bad.json" in quarantine._repr_html_()
    assert quarantine[str(item["quarantine_id"])[:8]] == item
    assert quarantine.retry().resolved == 0
    shop.put("orders/bad.json", {"id": 20, "price": 2.0, "at": AT})
    assert quarantine.retry([item]).resolved == 1
    assert 20 in shop.lake["orders"].to_arrow()["id"].to_pylist()
    (shop.landing / "orders/worse.json").write_text("{")
    shop.lake.run()
    (worse,) = quarantine.list()
    assert quarantine.drop([str(worse["quarantine_id"])]) == 1
    assert len(quarantine) == 0


@pytest.mark.slow
def test_a_failed_table_raises_unless_asked_otherwise(tmp_path: Path, spark: SparkSession) -> None:
    shop = Shop(tmp_path, spark)
    shop.lake = hw.Lake(
        source={"type": "local", "path": str(shop.landing)},
        lake=str(tmp_path / "lake"),
        tables={
            "good": {"path": "*.json"},
            "bad": {"path": "*.json", "checks": [{"row_count": {"min": 5}, "on_failure": "fail"}]},
        },
        spark=spark,
    )
    shop.put("a.json", {"id": 1})
    with pytest.raises(RunFailedError, match="bad: ") as caught:
        shop.lake.run()
    assert caught.value.failures.keys() == {"bad"}
    assert shop.lake["good"].count() == 1
    assert shop.lake.run(check=False).failures.keys() == {"bad"}


@pytest.mark.slow
def test_answers_are_as_fresh_as_the_table(tmp_path: Path, spark: SparkSession) -> None:
    search = {"table": "orders", "text": ["title"], "id": "id", "embedder": {"type": "hashing"}}
    shop = Shop(tmp_path, spark, search=search)
    lamp = {"id": 1, "title": "Desk lamp, warm light", "price": 19.0, "at": AT}
    headphones = {"id": 2, "title": "Swimming headphones", "price": 59.0, "at": AT}
    shop.put("orders/a.json", lamp, headphones)
    with shop.lake as lake:
        lake.run()
        found = lake.search("swimming headphones", filters={"price": {"lte": 60}})
        assert (found.rows[0].row_key, found.rows[0].fields["price"]) == ("2", 59.0)
        assert [row.row_key for row in lake.search("lamp", filters={"price": {"gte": 50}}).rows] == ["2"]
        answer = lake.recommend("swimming headphones")
        assert answer
        assert answer.cited == ("2",)
        assert "Swimming headphones" in answer.message
        shop.put("orders/b.json", headphones | {"price": 49.0, "at": "2026-11-29T00:00:00Z"})
        lake.run()
        assert lake.search("swimming headphones").rows[0].fields["price"] == 49.0
        with pytest.raises(UsageError, match=r"filters\.colour: allowed: .*price"):
            lake.search("lamp", filters={"colour": "red"})
