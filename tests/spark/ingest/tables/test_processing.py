"""A table with a transform and checks, on real Hudi: what lies in it, what stays out, what stops it."""

import hashlib
import json

import pytest

from headwater.app import App
from headwater.app.objects.verify import Verify
from headwater.errors import CheckFailedError, ConfigError, TransformError

pytestmark = pytest.mark.slow

SALT = "a long random text"


def lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


def order(number, city="Oslo", *, items=2, paid=True, **more):
    return {
        "id": number,
        "customer": {"email": f"c{number}@example.org", "address": {"city": city}},
        "card": "4111222233334444",
        "amount": "12.0",
        "items": [{"sku": f"s{at}", "n": at + 1} for at in range(items)],
        "paid": paid,
        **more,
    }


@pytest.fixture
def steps(tmp_path, monkeypatch):
    monkeypatch.setenv("HEADWATER_HASH_SALT", SALT)
    (tmp_path / "pricing_steps.py").write_text(
        """
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType

def add_tax(df):
    tax = F.udf(lambda value: round(value * 1.25, 2), DoubleType())
    return df.withColumn("total", tax("total"))
"""
    )
    (tmp_path / "totals.sql").write_text(
        "select *, amount * n as total,\n"
        "  regexp_extract(_headwater_object, '[^/]+$', 0) as file\n"
        "from input where paid;\n"
    )
    return [
        {"name": "one row a line", "flatten": {"explode": ["items"]}},
        {"rename": {"customer_address_city": "city", "customer_email": "email", "items_n": "n"}},
        {"cast": {"amount": "double"}},
        {"sql_file": str(tmp_path / "totals.sql")},
        {"python": f"{tmp_path}/pricing_steps.py:add_tax"},
        {"hash": ["email"]},
        {"mask": {"columns": ["card"], "keep_last": 4}},
        {"drop": ["id", "amount", "n", "paid"]},
        {"sql": "select _headwater_source, city, email, card, items_sku as sku, total, file from input"},
    ]


@pytest.fixture
def orders(build, steps):
    lake = build(orders={"path": "*.json", "mode": "mirror", "partition": "city", "transform": steps})
    lake.put_many(
        [
            ("a.json", lines(order(1), order(2, "Rome", items=1), order(3, paid=False))),
            ("b.json", lines(order(4, items=3))),
            ("c.json", lines(order(5, paid=False))),
        ]
    )
    (result,) = lake.ingest("orders")
    assert result.rows == 6
    return lake


def present(lake):
    return lake.rows("orders", "file", "city", "sku", "total")


def test_rows_of_a_mirror_equal_the_transform_output(orders, spark):
    assert present(orders) == [
        ("a.json", "Oslo", "s0", 15.0),
        ("a.json", "Oslo", "s1", 30.0),
        ("a.json", "Rome", "s0", 15.0),
        ("b.json", "Oslo", "s0", 15.0),
        ("b.json", "Oslo", "s1", 30.0),
        ("b.json", "Oslo", "s2", 45.0),
    ]
    table = orders.table("orders").read()
    (row,) = table.where("city = 'Rome'").collect()
    hashed = hashlib.sha256(f"{SALT}c2@example.org".encode()).hexdigest()
    assert (row["email"], row["card"]) == (hashed, "************4444")
    assert row["_headwater_object"].endswith("/a.json")
    assert {"id", "amount", "customer", "_headwater_source"}.isdisjoint(table.columns)
    # Several rows of one record have different places, which is their key.
    assert table.select("_headwater_object", "_headwater_row").distinct().count() == 6
    assert orders.ledger("key", "status", "reason", "rows") == [
        ("a.json", "ingested", "", 3),
        ("b.json", "ingested", "", 3),
        ("c.json", "skipped", "no_records", 0),
    ]
    report = Verify(App(orders.settings, spark=spark), deep=1).run(["orders"]).tables["orders"]
    assert report.deep is not None
    assert (list(report.problems), report.deep.differing) == ([], 0)


@pytest.mark.long
def test_rows_of_a_mirror_follow_their_objects_through_the_chain(orders, steps):
    orders.put("a.json", lines(order(1, "Lima", items=1)))
    orders.ingest("orders")
    assert [row for row in present(orders) if row[0] == "a.json"] == [("a.json", "Lima", "s0", 15.0)]
    (orders.source / "b.json").unlink()
    orders.announce("b.json", kind="removed")
    orders.ingest("orders")
    assert present(orders) == [("a.json", "Lima", "s0", 15.0)]
    # A column that objects bring later goes through the chain, too.
    orders.change("orders", transform=[*steps[:-1], {"sql": "select * from input"}])
    orders.put("d.json", lines(order(6, items=1, coupon="x")))
    orders.ingest("orders")
    assert orders.rows("orders", "file", "coupon") == [("a.json", None), ("d.json", "x")]


@pytest.mark.long
def test_keys_of_a_merge_are_output_columns(build):
    lake = build(
        orders={
            "path": "*.json",
            "record_key": "order_id",
            "ordering": "at",
            "transform": [
                {"rename": {"id": "order_id"}},
                {"sql": "select _headwater_source, order_id, at, upper(v) v from input"},
            ],
            "checks": [{"not_null": "v", "on_failure": "quarantine"}],
        }
    )
    lake.put(
        "a.json", lines({"id": 1, "at": 1, "v": "a"}, {"id": None, "at": 1, "v": "b"}, {"id": 2, "at": 1})
    )
    lake.put("b.json", lines({"id": 1, "at": 2, "v": "c"}, {"id": 3, "at": 2, "v": "d"}))
    lake.ingest("orders")
    assert lake.rows("orders", "order_id", "at", "v") == [(1, 2, "C"), (3, 2, "D")]
    found = lake.quarantine("key", "line", "reason", "detail")
    assert [row[:3] for row in found] == [("a.json", 2, "missing_key"), ("a.json", 3, "failed_check")]
    assert found[1][3] == "line 3 does not pass check 1 (not_null): null in v"
    assert lake.ledger("key", "status", "rows")[0] == ("a.json", "ingested", 1)
    lake.change("orders", transform=[{"drop": "id"}])
    lake.put("c.json", lines({"id": 4, "at": 3, "v": "x"}))
    with pytest.raises(ConfigError, match=r"tables.orders.record_key: no column 'order_id'"):
        lake.ingest("orders")


CHECKS = [
    {"name": "prices", "range": {"column": "price", "min": 0, "max": 100}, "on_failure": "quarantine"},
    {"name": "one row an id", "unique": ["id"]},
    {"name": "day", "not_null": ["day"], "on_failure": "warn"},
    {"name": "few free ones", "sql": "select count(*) from input where price = 0", "equals": 0},
    {"row_count": {"max": 4}},
]
WRONG_PRICE = "does not pass check 'prices': price is below 0 or above 100"


@pytest.fixture
def items(build):
    lake = build(items={"path": "*.json", "checks": CHECKS})
    lake.put_many(
        [
            ("a.json", lines({"id": 1, "price": 5, "day": "mon"}, {"id": 2, "price": 500, "day": "mon"})),
            ("bad.json", lines({"id": 3, "price": -1, "day": "mon"})),
        ]
    )
    (result,) = lake.ingest("items")
    assert result.warnings == ()
    return lake


def fail(lake):
    with pytest.raises(CheckFailedError) as raised:
        lake.ingest("items")
    assert raised.value.hint.startswith("the batch was not committed")
    return raised.value.message


def test_rows_that_fail_a_check_go_to_quarantine_and_the_others_into_the_table(items):
    assert items.rows("items", "id") == [(1,)]
    assert items.quarantine("key", "level", "reason", "detail") == [
        ("a.json", "record", "failed_check", f"line 2 {WRONG_PRICE}"),
        ("bad.json", "object", "failed_check", f"all of its 1 records were rejected: one {WRONG_PRICE}"),
    ]
    assert items.ledger("key", "status", "rows") == [
        ("a.json", "ingested", 1),
        ("bad.json", "quarantined", 0),
    ]


@pytest.mark.long
def test_failing_check_leaves_the_table_unchanged_until_fixed(items, caplog):
    items.put(
        "b.json", lines({"id": 4, "price": 1, "day": "tue"}, {"id": 4, "price": 2}, {"id": 9, "price": 900})
    )
    before = items.state("items").checkpoint
    said = fail(items)
    assert "table items: check 'one row an id': 1 values of (id) occur more than once, in 2 rows" in said
    assert '; for example {"day":"tue","id":4,"price":1}' in said
    assert items.state("items").checkpoint == before
    assert items.rows("items", "id") == [(1,)]
    assert len(items.quarantine("key")) == 2

    items.put("b.json", lines({"id": 4, "price": 1, "day": "tue"}, {"id": 5, "price": 2}))
    (result,) = items.ingest("items")
    assert items.rows("items", "id", "day") == [(1, "mon"), (4, "tue"), (5, None)]
    assert result.warnings == ("check 'day'",)
    assert "table items: check 'day': 1 of 2 rows: null in day; for example" in caplog.text

    free = {"id": 6, "price": 0, "day": "wed"}
    items.put("c.json", lines(free, *({"id": n, "price": 1} for n in range(7, 12))))
    said = fail(items)
    assert "check 'few free ones': the value is 1, not 0" in said
    assert "check 5 (row_count): the batch has 6 rows; expected at most 4" in said
    items.change("items", checks=[])
    items.ingest("items")
    assert len(items.rows("items", "id")) == 9


def test_transform_error_quarantines_the_record_and_invalid_transform_stops_the_table(build, tmp_path):
    (tmp_path / "failing_steps.py").write_text(
        "from pyspark.sql import functions as F\n"
        "def divide(df):\n"
        "    return df.withColumn('share', F.udf(lambda n: str(1 / n))('n'))\n"
    )
    lake = build(items={"path": "*.json", "transform": [{"python": f"{tmp_path}/failing_steps.py:divide"}]})
    lake.put("a.json", lines({"n": 0}))
    lake.ingest("items")
    ((level, reason, detail),) = lake.quarantine("level", "reason", "detail")
    assert (level, reason) == ("object", "unwritable")
    assert "ZeroDivisionError" in detail
    lake.put("b.json", lines({"n": 4}))
    steps = lake.settings.model_dump(by_alias=True, exclude_unset=True)["tables"]["items"]["transform"]
    outer = (
        "select i._headwater_source, r.n from input i "
        "right join (select explode(array(0, 5)) as n) r on r.n = i.n"
    )
    lake.change("items", transform=[{"sql": outer}])
    with pytest.raises(TransformError, match="1 rows of the transform belong to no record"):
        lake.ingest("items")
    lake.change("items", transform=[{"sql": "select _headwater_source, n, upper('a') from input"}])
    with pytest.raises(TransformError, match=r"the transform produces columns named 'upper\(a\)'"):
        lake.ingest("items")
    lake.change("items", transform=steps)
    lake.put("a.json", lines({"n": 2}))
    lake.ingest("items")
    assert lake.rows("items", "n", "share") == [(2, "0.5"), (4, "0.25")]
