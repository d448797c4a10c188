import gzip
from datetime import datetime, timezone

from headwater.demo.plain_reading import compare_rows, read_plainly
from headwater.demo.shop_data import to_csv, to_json_lines, to_parquet

CLICK = {
    "click_id": 7,
    "session": "a1",
    "page": "/",
    "referrer": "search, paid",
    "product_id": None,
    "at": "2026-05-04T09:00:00.250Z",
    "ms": 30,
}


def order(order_id, status, updated_at):
    return {"order_id": order_id, "status": status, "updated_at": updated_at}


def test_the_newest_change_of_an_order_counts_whatever_came_last():
    late = to_json_lines([order("O-1", "placed", "2026-05-04T09:00:00Z")])
    early = to_json_lines([order("O-1", "paid", "2026-05-04T10:00:00Z")])
    assert read_plainly([("orders/b.json", early), ("orders/a.json", late)]).rows["orders"] == [
        order("O-1", "paid", datetime(2026, 5, 4, 10, tzinfo=timezone.utc))
    ]


def test_the_last_upload_of_a_product_counts():
    old, new = ({"product_id": "P-1", "price": price} for price in (1.0, 2.0))
    read = read_plainly(
        [("products/a.parquet", to_parquet([old])), ("products/b.parquet", to_parquet([new]))]
    )
    assert [row["price"] for row in read.rows["products"]] == [2.0]


def test_clicks_are_typed_and_know_their_day():
    read = read_plainly([("clicks/day=2026-05-04/two words/c.csv", to_csv([CLICK]))])
    at = datetime(2026, 5, 4, 9, 0, 0, 250_000, timezone.utc)
    assert read.rows["clicks"] == [CLICK | {"at": at, "day": "2026-05-04"}]


def test_unreadable_files_are_named_and_the_rest_counted():
    good = to_json_lines([order("O-1", "paid", "2026-05-04T10:00:00Z")])
    cut = gzip.compress(good * 50)[:30]
    read = read_plainly([("orders/torn.json", good + b'{"order_id\n' + good), ("orders/cut.json.gz", cut)])
    assert read.unusable == {("record", "orders/torn.json", 2), ("object", "orders/cut.json.gz", 0)}
    assert len(read.rows["orders"]) == 1


def test_markers_empty_objects_and_objects_of_no_table_hold_no_rows():
    read = read_plainly([("clicks/", b""), ("orders/empty.json.gz", b""), ("readme.txt", b"hello")])
    assert not any(read.rows.values())
    assert not read.unusable


def test_equal_rows_in_another_order_are_equal():
    at = datetime(2026, 5, 4, tzinfo=timezone.utc)
    naive = at.replace(tzinfo=None)
    assert compare_rows("t", [{"a": 1, "at": at}, {"a": 2}], [{"a": 2}, {"at": naive, "a": 1}]).is_equal


def test_a_row_twice_is_too_many():
    check = compare_rows("t", [{"a": 1}], [{"a": 1}, {"a": 1}])
    assert (check.missing, check.extra) == ((), ('{"a": 1}',))


def test_a_changed_row_is_missing_and_too_many():
    check = compare_rows("t", [{"a": 1}], [{"a": "1"}])
    assert (check.missing, check.extra) == (('{"a": 1}',), ('{"a": "1"}',))
