"""An `s3a://` lake read without a JVM: rows, commits and SQL over the real protocol."""

import json
import uuid

import pytest

from headwater.config.lake_storage import LakeStorageConfig
from headwater.demo.emulator import CREDENTIALS
from headwater.errors import LakeError
from headwater.lake import TableAddress
from headwater.lake.queries import ChangeFeed, Query, read
from headwater.lake.snapshot_reader import SnapshotReader
from headwater.lake.sql.engine import run_query
from headwater.lake.storage_options import build_storage_options
from tests.fixtures.lakes import FIXTURE_LAKE, build_clean_plan

TABLES = ("orders_cow", "orders_mor", "odd_partitions")


@pytest.fixture(scope="module")
def lake(emulator):
    """The fixture tables in a bucket."""
    bucket = f"lake-{uuid.uuid4().hex[:12]}"
    emulator.clients.s3.create_bucket(Bucket=bucket)
    for table in TABLES:
        for path in (FIXTURE_LAKE / table).rglob("*"):
            if path.is_file():
                key = f"bronze/{path.relative_to(FIXTURE_LAKE)}"
                emulator.clients.s3.put_object(Bucket=bucket, Key=key, Body=path.read_bytes())
    return f"s3a://{bucket}/bronze"


@pytest.fixture
def options(emulator, lake, monkeypatch):
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    return build_storage_options(lake, LakeStorageConfig(endpoint=emulator.endpoint))


@pytest.mark.parametrize("table", TABLES)
def test_rows_and_commits_are_those_of_the_folder(lake, options, table):
    there, here = SnapshotReader(f"{lake}/{table}", options), SnapshotReader(str(FIXTURE_LAKE / table))
    # One price is NaN, which equals nothing.
    columns = [name for name in here.schema.names if name != "price"]
    assert there.schema == here.schema
    assert there.read(columns).sort_by("_hoodie_record_key") == here.read(columns).sort_by(
        "_hoodie_record_key"
    )
    assert there.count_rows() == here.count_rows()
    assert there.list_commits() == here.list_commits()
    assert there.find_metadata("checkpoint") == here.find_metadata("checkpoint")


@pytest.mark.parametrize("table", ["orders_cow", "orders_mor"])
def test_rows_since_a_commit_are_those_of_the_folder(lake, options, table):
    there = SnapshotReader(f"{lake}/{table}", options)
    first = there.list_commits()[0]
    assert set(there.read_since(first.completed, ["order_id"])["order_id"].to_pylist()) == {"o1", "o3", "o9"}


@pytest.mark.parametrize("table", ["orders_cow", "orders_mor"])
def test_rows_as_of_a_commit_are_those_of_the_folder(emulator, lake, options, table):
    there, here = SnapshotReader(f"{lake}/{table}", options), SnapshotReader(str(FIXTURE_LAKE / table))
    for name in here.commit_names:
        columns = ["order_id", "customer"]
        found = there.read(columns, as_of=name.requested).sort_by("order_id")
        assert found == here.read(columns, as_of=name.requested).sort_by("order_id")
    assert there.find_earliest_retained() == ""
    write_clean_plan(emulator.clients.s3, lake, table, here.commit_names[1].requested)
    assert there.find_earliest_retained() == here.commit_names[1].requested


def write_clean_plan(s3, lake: str, table: str, earliest: str) -> None:
    bucket, folder = lake.removeprefix("s3a://").split("/")
    key = f"{folder}/{table}/.hoodie/timeline/20261121070000000.clean.requested"
    s3.put_object(Bucket=bucket, Key=key, Body=build_clean_plan(earliest))


def test_sql_runs_over_the_bucket(lake, options):
    tables = {table: f"{lake}/{table}" for table in TABLES}
    sql = """
        select c.region, count(*) as n from orders_cow c join orders_mor m on c.order_id = m.order_id
        where m.quantity > 1 group by c.region order by 1
    """
    rows = run_query(sql, tables, storage_options=options).rows
    assert json.dumps(list(rows)) == '[{"region": "eu", "n": 5}, {"region": "us", "n": 3}]'
    places = run_query("select place from odd_partitions", tables, storage_options=options).rows
    assert {row["place"] for row in places} == {"Zürich", "a b+c", "50%", "plain"}


@pytest.mark.parametrize("table", ["orders_cow", "orders_mor"])
def test_time_travel_and_changes_work_on_the_bucket(lake, options, table):
    address = TableAddress(table, f"{lake}/{table}", options)
    first, second, third = SnapshotReader(str(FIXTURE_LAKE / table)).commit_names
    assert read(address, Query.as_of(second.completed), ["order_id"]).num_rows == 9
    assert read(address, Query.changes(first.completed), ["order_id"]).num_rows == 3
    feed = ChangeFeed(address, Query.changes(second.completed), per_commit=True)
    assert [[(change.op, change.key) for change in step] for step in feed.poll()] == [[("d", "o2")]]
    assert feed.position == third.completed
    (everything,) = ChangeFeed(address, Query.changes("earliest"), per_commit=False).poll()
    assert {change.op for change in everything} == {"i"}
    assert len(everything) == 8


def test_absent_table_and_absent_bucket_are_distinguished(lake, options):
    assert not SnapshotReader(f"{lake}/coming", options).exists()
    with pytest.raises(LakeError, match="the bucket does not exist"):
        SnapshotReader("s3a://not-there/orders", options).exists()
