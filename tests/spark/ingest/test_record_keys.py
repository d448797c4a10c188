"""Batches of many rows: combined where keys repeat, written without looking for that where none does."""

import json

import pytest

from headwater.ingest.writing.record_keys import are_keys_unique

MANY = 50_000
ORDERS = {"path": "orders/*.json", "mode": "merge", "record_key": "id", "ordering": "ts"}


@pytest.mark.parametrize(
    ("rows", "schema", "expected"),
    [
        ([(1,), (2,)], "id int", True),
        ([(1,), (1,)], "id int", False),
        ([("a",), ("b",)], "id string", True),
        # Hudi may make the same key of two different values of these.
        ([(1.0,), (2.0,)], "id double", False),
        ([((1,),), ((2,),)], "id struct<n int>", False),
    ],
)
def test_keys_are_unique_only_where_that_is_certain(spark, rows, schema, expected):
    assert are_keys_unique(spark.createDataFrame(rows, schema), ["id"], len(rows)) is expected


def test_fields_that_hudi_joins_are_never_certain(spark):
    rows = spark.createDataFrame([("a", "b"), ("c", "d")], "x string, y string")
    assert not are_keys_unique(rows, ["x", "y"], 2)


@pytest.mark.parametrize("repeated", [pytest.param(0, marks=pytest.mark.slow), 3])
@pytest.mark.slow
def test_many_rows_are_merged_by_key_whether_or_not_keys_repeat(build, repeated):
    lake = build(orders=ORDERS)
    lines = [json.dumps({"id": n, "ts": 1, "name": "old"}) for n in range(MANY)]
    lines += [json.dumps({"id": n, "ts": 2, "name": "new"}) for n in range(repeated)]
    lake.put("orders/1.json", "\n".join(reversed(lines)))
    lake.ingest("orders")
    rows = lake.rows("orders", "id", "name")
    assert len(rows) == MANY
    assert [row for row in rows if row[1] == "new"] == [(n, "new") for n in range(repeated)]
