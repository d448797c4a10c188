"""SQL over real tables without a JVM: answers, what is refused, and what an error says."""

import json
import shutil
import subprocess
import sys
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest

from headwater.cli.rendering import format_json
from headwater.errors import LakeError, TableNotFoundError, TableUnsupportedError, UsageError
from headwater.lake.sql.engine import QueryResult, run_query
from tests.fixtures.lakes import FIXTURE_LAKE

TABLES = {
    name: f"{FIXTURE_LAKE}/{name}" for name in ("orders_cow", "orders_mor", "archived", "odd_partitions")
} | {"events": f"{FIXTURE_LAKE}/_headwater/events", "coming": f"{FIXTURE_LAKE}/coming"}


def query(sql: str, **options):
    return list(run_query(sql, TABLES, **options).rows)


def values(sql: str):
    return [tuple(row.values()) for row in query(sql)]


@pytest.mark.parametrize("table", ["orders_cow", "orders_mor"])
class TestOrders:
    def test_rows_are_the_newest_state(self, table):
        ids = [row[0] for row in values(f"select order_id from {table} order by order_id")]
        assert ids == ["o1", "o3", "o4", "o5", "o6", "o7", "o8", "o9"]

    @pytest.mark.parametrize(
        ("where", "ids"),
        [
            ("customer = 'changed'", "o1 o3"),
            ("customer = 'customer 1'", ""),
            ("customer = 'customer 2'", ""),
            ("quantity = 1", ""),
            ("quantity = 2 or customer like '%4'", "o1 o4"),
            ("region = 'us' and updated_at >= 2", "o3"),
            ("amount > 7.5", "o7 o8 o9"),
            ("placed_at >= timestamp '2026-01-01T12:08:00Z'", "o8 o9"),
            ("ship_date = date '2026-01-05'", "o4"),
            ("paid and region in ('eu')", "o4 o8"),
            ("address['city'] is null", "o4 o6 o8"),
            ("5 <= quantity and quantity < 7", "o3 o5 o6"),
            ("_hoodie_record_key = 'o5'", "o5"),
        ],
    )
    def test_filters(self, table, where, ids):
        rows = values(f"select order_id from {table} where {where} order by 1")
        assert [row[0] for row in rows] == ids.split()

    def test_aggregates(self, table):
        assert values(f"select count(*) from {table}") == [(8,)]
        found = values(
            f"select region, count(*), sum(quantity), max(customer) from {table} group by region order by 1"
        )
        assert found == [("eu", 5, 26, "customer 8"), ("us", 3, 21, "customer 9")]

    @pytest.mark.parametrize("where", ["order_id = 'zzz'", "quantity > 10000", "region = 'mars'"])
    def test_no_file_can_fit(self, table, where):
        assert values(f"select count(*), sum(quantity) from {table} where {where}") == [(0, None)]
        assert values(f"select order_id from {table} where {where} order by 1 limit 1") == []

    def test_nothing_fits(self, table):
        result = run_query(f"select order_id, region from {table} where order_id = 'none'", TABLES)
        assert (result.columns, list(result.rows)) == (("order_id", "region"), [])

    def test_limit_bounds_the_rows(self, table):
        assert len(query(f"select order_id from {table}", limit=3)) == 3


def test_two_tables_are_joined():
    found = values(
        "select a.order_id, b.name from orders_mor a join archived b on a.quantity = b.id "
        "where b.id >= 4 order by a.order_id"
    )
    assert found == [("o3", "row 6"), ("o4", "row 4"), ("o5", "row 5"), ("o6", "row 6")]


def test_table_may_be_joined_with_itself_and_hide_behind_a_cte():
    sql = (
        "with c as (select order_id, quantity from orders_cow where quantity > 6) "
        "select c.order_id from c join orders_cow o on c.order_id = o.order_id order by 1"
    )
    assert [row[0] for row in values(sql)] == ["o7", "o8", "o9"]


def test_union_of_conditions_on_one_table_is_not_cut_by_either():
    found = values(
        "select order_id from orders_cow where order_id = 'o4' "
        "union all select order_id from orders_cow where order_id = 'o5'"
    )
    assert sorted(found) == [("o4",), ("o5",)]


def test_union_has_the_rows_of_both_tables_also_where_one_gives_none():
    both = "select order_id from orders_cow union select name from archived where {} order by 1"
    assert len(values(both.format("id < 2"))) == 10
    assert len(values(both.format("id < 0"))) == 8
    found = values("select count(*) from orders_cow union all select count(*) from archived")
    assert sorted(found) == [(7,), (8,)]


@pytest.mark.parametrize(
    "sql",
    [
        "select order_id from orders_cow limit 1",
        "select order_id from orders_cow union all select order_id from orders_mor limit 1",
        "select a.order_id from orders_cow a join orders_mor b on a.order_id = b.order_id",
    ],
)
@pytest.mark.slow  # The command's process ends early in tests/unit/cli/test_sql.py.
def test_process_may_end_before_all_rows_are_taken(sql):
    program = (
        "import json, sys\nfrom headwater.lake.sql.engine import run_query\n"
        "print(next(run_query(sys.argv[1], json.loads(sys.argv[2])).rows))"
    )
    command = [sys.executable, "-c", program, sql, json.dumps(TABLES)]
    for _ in range(3):
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stderr) == (0, "")


def test_rows_of_archived_commits_and_odd_partitions_are_there():
    assert values("select count(*), sum(id) from archived") == [(7, 21)]
    assert values("select id from odd_partitions where place = 'a b+c'") == [(2,)]


def test_values_are_pythons_own():
    (row,) = query("select * from orders_cow where order_id = 'o7'")
    assert row["amount"] == Decimal("7.51")
    assert row["placed_at"] == datetime(2026, 1, 1, 12, 7, 0, 123456, tzinfo=timezone.utc)
    assert row["ship_date"] == date(2026, 1, 8)
    assert row["receipt"] == b"\x00\xff\x07"
    assert row["attributes"] == {"k": "7"}
    assert row["items"] == [{"sku": "s7", "n": 7}]


def test_rows_as_json_lose_nothing():
    (row,) = query("select * from orders_mor where order_id = 'o8'")
    output = json.loads(format_json(row))
    expected = {
        "amount": "8.51",
        "price": None,  # NaN has no JSON
        "paid": True,
        "placed_at": "2026-01-01T12:08:00.123456Z",
        "ship_date": "2026-01-09",
        "receipt": "AP8I",
        "tags": ["a", "t8"],
        "address": {"city": None, "zip": "8008"},
        "attributes": {"k": "8"},
        "items": [{"sku": "s8", "n": 8}],
    }
    assert {name: output[name] for name in expected} == expected


def test_columns_of_the_same_name_are_all_kept():
    result = run_query(
        "select a.order_id, b.order_id from orders_cow a join orders_mor b on a.order_id = b.order_id",
        TABLES,
    )
    assert result.columns == ("order_id", "order_id_2")
    assert len(next(result.rows)) == 2


@pytest.mark.parametrize("spelling", ["ORDERS_COW", '"orders_cow"', "`orders_cow`", "Orders_Cow"])
def test_tables_are_found_in_any_spelling(spelling):
    assert values(f"select count(*) from {spelling}") == [(8,)]


def test_show_describe_and_explain():
    assert {"table": "events", "path": TABLES["events"]} in query("show tables;")
    columns = {row["column_name"]: row["data_type"] for row in query("describe archived")}
    assert columns["id"] == "Int64"
    assert query("explain select id from archived")[0]["plan_type"] == "logical_plan"


def test_statement_without_a_table_runs():
    assert query("select 1 + 1 as n") == [{"n": 2}]


def test_unknown_table_error_has_offset_and_nearest_name():
    with pytest.raises(UsageError, match="line 2, column 7: there is no table oders_cow") as failure:
        query("select *\n from oders_cow")
    assert failure.value.hint.startswith("did you mean orders_cow? tables: orders_cow, orders_mor")
    assert failure.value.exit_code == 2


def test_unknown_column_error_has_offset_and_nearest_name():
    with pytest.raises(UsageError, match="line 1, column 18: there is no column custmer") as failure:
        query("select order_id, custmer from orders_cow")
    assert failure.value.hint.startswith("did you mean customer? columns: order_id, customer")


@pytest.mark.parametrize(
    ("sql", "expected_message"),
    [
        ("selec 1", "line 1, column 7: "),
        ("select * from orders_cow where", "line 1, column 26: .*the statement is incomplete"),
        ("select *\nfrom orders_cow\nwhere and", "line 3, column "),
        ("select 'open", "SQL: "),
        ("select frobnicate(1) from archived", "frobnicate"),
        ("", "no statement"),
        ("-- nothing", "no statement"),
        ("select 1; select 2", "2 statements"),
    ],
)
def test_bad_sql_is_one_line(sql, expected_message):
    with pytest.raises(UsageError, match=expected_message) as failure:
        query(sql)
    assert failure.value.message.startswith("SQL: ")
    assert "\n" not in failure.value.message
    assert len(failure.value.message) < 320


@pytest.mark.parametrize(
    "sql",
    [
        "drop table orders_cow",
        "delete from orders_cow",
        "update orders_cow set quantity = 1",
        "insert into orders_cow select * from orders_cow",
        "create table x as select * from orders_cow",
        "create external table x stored as csv location '/etc/passwd'",
        "copy orders_cow to 'elsewhere.csv'",
        "merge into orders_cow using orders_mor on true when matched then delete",
        "with x as (delete from orders_cow returning *) select * from x",
        "select * into x from orders_cow",
        "set datafusion.execution.batch_size = 1",
        "explain drop table orders_cow",
        "truncate table orders_cow",
        "call system()",
    ],
)
def test_only_reads_are_allowed(sql):
    with pytest.raises(UsageError, match=r"^SQL: ") as failure:
        query(sql)
    assert "\n" not in failure.value.message


@pytest.mark.parametrize("sql", ["select * from '/etc/passwd'", "select * from read_csv('/etc/passwd')"])
def test_files_are_no_tables(sql):
    with pytest.raises(UsageError):
        query(sql)


def test_table_without_rows_yet_says_so():
    with pytest.raises(TableNotFoundError, match="table coming has no rows yet") as failure:
        query("select count(*) from coming")
    assert failure.value.exit_code == 2
    assert "headwater run --once" in failure.value.hint


def test_empty_table_has_no_rows(tmp_path: Path):
    shutil.copytree(FIXTURE_LAKE / "archived" / ".hoodie", tmp_path / ".hoodie")
    for file in (tmp_path / ".hoodie/timeline").glob("2*"):
        file.unlink()
    with pytest.raises(TableNotFoundError, match="has no rows yet"):
        run_query("select * from empty", {"empty": str(tmp_path)})


def test_only_tables_that_are_named_are_opened():
    assert list(run_query("select count(*) as n from archived", TABLES | {"broken": "s3a://nowhere/x"}).rows)


def fall_back(sql: str, tables) -> QueryResult:
    rows: list[dict[str, object]] = [{"sql": sql, "tables": dict(tables)}]
    return QueryResult(("sql", "tables"), iter(rows), "spark", lambda: pa.Table.from_pylist(rows))


def test_fallback_runs_where_hudi_rs_cannot_read():
    tables = TABLES | {"Far": "hdfs://name/lake/far"}
    sql = "select count(*) from far join archived on true"
    result = run_query(sql, tables, fallback=fall_back)
    assert result.engine == "spark"
    assert list(result.rows) == [
        {"sql": sql, "tables": {"Far": "hdfs://name/lake/far", "archived": TABLES["archived"]}}
    ]


def test_fallback_is_not_used_for_unsupported_queries():
    for sql in ("select * from coming", "select nope from archived", "drop table archived"):
        with pytest.raises((UsageError, LakeError)):
            run_query(sql, TABLES, fallback=fall_back)


def test_without_a_fallback_the_table_is_unsupported():
    with pytest.raises(TableUnsupportedError, match="only Spark"):
        run_query("select 1 from far", {"far": "hdfs://name/lake/far"})


def test_corrupt_file_is_an_error_of_the_lake(tmp_path: Path):
    shutil.copytree(FIXTURE_LAKE / "archived", tmp_path / "damaged")
    for file in (tmp_path / "damaged").glob("*.parquet"):
        file.write_bytes(b"PAR1 this is no parquet file PAR1")
    with pytest.raises(LakeError, match="damaged") as failure:
        list(run_query("select * from damaged", {"damaged": str(tmp_path / "damaged")}).rows)
    assert "\n" not in failure.value.message
