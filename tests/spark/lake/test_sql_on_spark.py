"""The same SQL on Spark gives the same rows as without a JVM."""

import pytest

from headwater.errors import UsageError
from headwater.lake.sql.engine import run_query
from headwater.lake.sql.spark import run_on_spark
from tests.fixtures.lakes import FIXTURE_LAKE

TABLES = {name: str(FIXTURE_LAKE / name) for name in ("orders_cow", "orders_mor")}


@pytest.mark.parametrize("table", TABLES)
def test_rows_are_those_of_the_reader_without_a_jvm(spark, table):
    columns = (
        "order_id, amount, paid, placed_at, ship_date, receipt, tags, address, attributes, items, region"
    )
    sql = f"select {columns} from {table} where updated_at < 3 order by order_id;"
    there, here = run_on_spark(spark, sql, TABLES), run_query(sql, TABLES)
    assert there.engine == "spark"
    assert there.columns == here.columns
    assert list(there.rows) == list(here.rows)


def test_limit_and_columns_of_one_name(spark):
    sql = "select a.order_id, b.order_id from orders_cow a join orders_mor b on a.order_id = b.order_id"
    result = run_on_spark(spark, sql, TABLES, limit=2)
    rows = list(result.rows)
    assert result.columns == ("order_id", "order_id_2")
    assert [row["order_id"] == row["order_id_2"] for row in rows] == [True, True]


@pytest.mark.parametrize("sql", ["select nope from orders_cow", "select count( from orders_cow"])
def test_bad_sql_is_one_line(spark, sql):
    with pytest.raises(UsageError, match=r"^SQL: ") as failure:
        run_on_spark(spark, sql, TABLES)
    assert "\n" not in failure.value.message
