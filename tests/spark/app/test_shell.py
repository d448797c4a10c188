"""Statements of `headwater spark` on real tables: what is allowed, under which lease, and what it leaves."""

import json
from contextlib import contextmanager

import pytest
from pyspark.errors import AnalysisException, IllegalArgumentException

from headwater.app.objects.verify import Verify
from headwater.app.services.writer_lease import hold_for_command, hold_for_service
from headwater.app.shell import SparkShell
from headwater.errors import TableBusyError, TableNotFoundError, UsageError
from tests.fixtures.folder_lake import FolderLake

ORDERS = {"path": "orders/*.json", "mode": "merge", "record_key": "id", "ordering": "at"}
CLICKS = {"path": "clicks/*.json", "mode": "append"}
MIRROR = {"path": "clicks/*.json", "mode": "mirror"}
FIRST = "".join(json.dumps({"id": n, "price": n, "day": "mo", "at": n}) + "\n" for n in (1, 2, 3))


@pytest.fixture
def open_shell(spark, tmp_path):
    opened = []

    @contextmanager
    def start(*, allows_writes=True, lock=None, **orders):
        tables = {"orders": ORDERS | orders, "clicks": CLICKS, "mirrored": MIRROR, "later": MIRROR}
        tables["later"] = {**MIRROR, "path": "later/*.json"}
        lake = FolderLake(spark, tmp_path, lock=lock, **tables)
        lake.put("orders/a.json", FIRST)
        lake.put("clicks/a.json", '{"page": "home"}\n')
        for name in ("orders", "clicks", "mirrored"):
            lake.ingest(name)
        opened.append(SparkShell(lake.app, allows_writes=allows_writes))
        yield lake, opened[-1].session.sql

    yield start
    for shell in opened:
        shell.close()


def test_shell_reads_all_tables_and_writes_only_when_asked_to(open_shell):
    with open_shell(allows_writes=False) as (lake, sql):
        assert sql("select sum(price) from orders").collect()[0][0] == 6
        assert sql(
            "select count(*) from {rows} where id > :id", args={"id": 1}, rows=sql("select * from orders")
        )
        for text in (
            "delete from orders",
            "call run_clean(table => 'orders')",
            "insert into orders select 1",
        ):
            with pytest.raises(UsageError, match="only reads"):
                sql(text)
        with pytest.raises(IllegalArgumentException, match="IN THIS SHELL"):
            sql("select * from orders").write.insertInto("orders")
        with pytest.raises(TableNotFoundError, match="later has no rows yet"):
            sql("select * from later")
        with pytest.raises(AnalysisException, match="nowhere"):
            sql("select * from nowhere")
        # A commit of another writer, with a new column, is in the next query.
        lake.put("orders/b.json", '{"id": 4, "price": 4, "day": "tu", "at": 4, "note": "new"}\n')
        lake.ingest("orders")
        assert sql("select note from orders where id = 4").collect()[0][0] == "new"


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        pytest.param(
            {"table_type": "merge_on_read", "partition": "day", "metadata_table": True},
            marks=pytest.mark.long,
        ),
        pytest.param(
            {"index": {"type": "bucket", "buckets": 2}, "cdc": "data_before_after"}, marks=pytest.mark.long
        ),
    ],
    ids=["plain", "merge_on_read", "bucket"],
)
def test_statements_change_rows_and_the_pipeline_resumes(open_shell, options):
    with open_shell(**options) as (lake, sql):
        properties = lake.table("orders").load_timeline().read_properties()
        done = sql("update orders set price = 9 where id = 1").collect()[0]
        assert (done["table"], done["updated"]) == ("orders", 1)
        assert done["instant"] == lake.table("orders").load_timeline().commits[-1].requested
        assert sql("delete from orders where id = 2").collect()[0]["deleted"] == 1
        assert sql("insert into orders (id, price, day, at) values (5, 5, 'tu', 1)").collect()[0]["inserted"]
        # A row with the same key is replaced if its `at` is not older.
        sql("insert into orders (id, price, day, at) values (5, 6, 'tu', 2), (3, 0, 'mo', 0)")
        sql(
            "merge into orders t using (select 3L id, 30L price, 'mo' day, 30L at union all "
            "select 7L, 70L, 'tu', 7L) s on t.id = s.id "
            "when matched then update set price = s.price, at = s.at "
            "when not matched then insert (id, price, day, at) values (s.id, s.price, s.day, s.at)"
        )
        rows = [(1, 9), (3, 30), (5, 6), (7, 70)]
        assert lake.rows("orders", "id", "price") == rows
        lake.put("orders/b.json", '{"id": 4, "price": 4, "day": "tu", "at": 4}\n')
        lake.ingest("orders")
        assert lake.rows("orders", "id", "price") == sorted([*rows, (4, 4)])
        # As after `lake["orders"].upsert(rows)`: objects are compared, and rows of other origin are allowed.
        assert Verify(lake.app).run(["orders"]).is_complete
        after = lake.table("orders").load_timeline().read_properties()
        assert {key: after[key] for key in properties} == dict(properties) | {
            key: after[key] for key in properties if key.startswith("hoodie.table.metadata")
        }


@pytest.mark.slow
def test_procedures_maintain_a_table_by_its_name(open_shell):
    with open_shell(table_type="merge_on_read") as (lake, sql):
        sql("update orders set price = 9 where id = 1")
        commits = sql("call show_commits(table => 'orders')").collect()
        assert len(commits) == 2
        sql("call run_compaction(op => 'scheduleAndExecute', table => 'orders')")
        sql("call run_clustering(table => 'orders')")
        assert sql("call create_savepoint(table => 'orders')").collect()[0]["create_savepoint_result"]
        assert len(lake.table("orders").load_timeline().commits) == 4
        assert lake.rows("orders", "id", "price") == [(1, 9), (2, 2), (3, 3)]


@pytest.mark.slow
def test_rows_are_added_to_an_append_table_with_keys_of_their_own(open_shell):
    with open_shell() as (lake, sql):
        sql("insert into clicks values ('cart')")
        sql("insert into clicks select page from clicks")
        assert [page for (page,) in lake.rows("clicks", "page")] == ["cart", "cart", "home", "home"]
        sql("update clicks set page = 'front' where page = 'home'")
        sql("insert overwrite clicks select 'only'")
        assert lake.rows("clicks", "page") == [("only",)]


@pytest.mark.slow
def test_rules_of_writes_hold_for_statements(open_shell):
    with open_shell() as (lake, sql):
        for text, said in (
            ("insert into mirrored values ('x')", "is a mirror"),
            ("update mirrored set page = 'x'", "is a mirror"),
            ("merge into clicks c using orders o on c.page = o.day when matched then delete", "need keys"),
            ("delete from events", "headwater's own tables"),
            ("delete from nowhere", "there is no table nowhere"),
            ("delete from hudi.`/tmp/orders`", "is not a table of this lake"),
            ("insert into later values (1)", "has no rows yet"),
            ("insert into orders values (1)", "1 values for 4 columns"),
            ("insert into orders partition (day = 'mo') values (1)", "PARTITION is not allowed"),
            ("from orders insert into orders select * insert into clicks select day", "several INSERTs"),
            ("insert into orders (id, price, day, at) values ('x', 1, 'mo', 1)", "do not fit the columns"),
            ("update orders set nothing = 1", "nothing"),
            ("drop table orders", "DROP TABLE is not allowed"),
            ("alter table orders add columns (a int)", "ALTER TABLE is not allowed"),
            ("truncate table orders", "TRUNCATE TABLE is not allowed"),
            ("create table mine as select 1", "CREATE TABLE is not allowed"),
            (
                "insert overwrite directory '/tmp/headwater-absent' using json select 1",
                "INSERT OVERWRITE is not allowed",
            ),
            ("call run_clean('orders')", "needs `table`"),
            ("call run_clean(path => '/tmp')", "needs `table`"),
            ("selct 1", "selct"),
        ):
            with pytest.raises((UsageError, TableNotFoundError)) as raised:
                pytest.fail(f"{text} is allowed: {sql(text).collect()}")
            assert said in str(raised.value), text
        sql("set hoodie.metadata.enable = true")
        with pytest.raises(UsageError, match="would override the options") as raised:
            sql("delete from orders")
        assert "RESET" in raised.value.hint
        sql("reset hoodie.metadata.enable")
        # A delete is allowed in a mirror, as `headwater table NAME delete` is.
        assert sql("delete from mirrored").collect()[0]["deleted"] == 1
        assert not Verify(lake.app).run(["mirrored"]).is_complete


@pytest.mark.slow
def test_statements_hold_the_lease_of_their_table(open_shell):
    with open_shell() as (lake, sql), hold_for_command(lake.settings, "reconcile"):
        for text in ("delete from orders", "insert into clicks values ('x')"):
            with pytest.raises(TableBusyError, match="being written by reconcile"):
                sql(text)
        assert sql("select count(*) from orders").collect()[0][0] == 3


@pytest.mark.slow
def test_with_a_lock_rows_are_written_alongside_a_run_but_not_clustered(open_shell):
    lock = {"provider": "file_system"}
    with open_shell(lock=lock) as (lake, sql), hold_for_command(lake.settings, "run"):
        sql("update orders set price = 9 where id = 1")
        for text in (
            "call run_clustering(table => 'orders')",
            "insert overwrite orders select * from orders",
        ):
            with pytest.raises((TableBusyError, UsageError)):
                sql(text)
    with hold_for_service(lake.settings, "compact", ["orders"]), pytest.raises(TableBusyError):
        sql("update orders set price = 8 where id = 1")
