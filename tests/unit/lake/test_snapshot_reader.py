"""Reading real tables without a JVM: rows, commits and what commits carry."""

import shutil
from decimal import Decimal
from pathlib import Path

import pytest

from headwater.errors import LakeError, TableNotFoundError, TableUnsupportedError
from headwater.lake.snapshot_reader import SnapshotReader, explain_read_failure
from tests.fixtures.lakes import FIXTURE_LAKE

ORDERS = ("orders_cow", "orders_mor")


def open_table(name: str) -> SnapshotReader:
    return SnapshotReader(f"{FIXTURE_LAKE}/{name}")


def read_orders(reader: SnapshotReader, *columns: str, **how):
    return sorted(tuple(row.values()) for row in reader.read(columns, **how).to_pylist())


@pytest.fixture
def empty_table(tmp_path: Path) -> SnapshotReader:
    """As a writer leaves it that made the table and died before its first commit."""
    target = tmp_path / "table"
    shutil.copytree(FIXTURE_LAKE / "archived" / ".hoodie", target / ".hoodie")
    shutil.rmtree(target / ".hoodie" / "timeline")
    (target / ".hoodie" / "timeline").mkdir()
    return SnapshotReader(str(target))


@pytest.mark.parametrize("table", ORDERS)
class TestOrders:
    def test_newest_state_has_updates_and_no_deleted_row(self, table):
        rows = read_orders(open_table(table), "order_id", "customer", "amount")
        assert [row[0] for row in rows] == ["o1", "o3", "o4", "o5", "o6", "o7", "o8", "o9"]
        assert rows[0] == ("o1", "changed", Decimal("1.52"))
        assert rows[2] == ("o4", "customer 4", Decimal("4.51"))

    def test_rows_are_counted_without_the_deleted(self, table):
        assert open_table(table).count_rows() == 8

    @pytest.mark.parametrize(
        ("filters", "ids"),
        [
            ([("customer", "=", "changed")], ["o1", "o3"]),
            ([("customer", "=", "customer 1")], []),  # what it was before the update
            ([("customer", "=", "customer 2")], []),  # deleted
            ([("quantity", "=", "1")], []),
            ([("region", "=", "us"), ("quantity", ">", "6")], ["o9"]),
            ([("order_id", "in", "o4,o5,nope")], ["o4", "o5"]),
        ],
    )
    def test_filters_see_the_newest_state(self, table, filters, ids):
        rows = read_orders(open_table(table), "order_id", "customer", filters=filters)
        assert [row[0] for row in rows] == ids

    def test_columns_come_in_the_order_asked_for(self, table):
        found = open_table(table).read(["region", "order_id"])
        assert found.schema.names == ["region", "order_id"]

    def test_schema_has_the_columns_of_hudi_first(self, table):
        names = open_table(table).schema.names
        assert names[:5] == [name for name in names if name.startswith("_hoodie")]
        assert names[5] == "order_id"

    def test_commits_are_oldest_first_with_own_metadata(self, table):
        commits = open_table(table).list_commits()
        assert [commit.own_metadata["step"] for commit in commits] == ["first", "second", "third"]
        assert commits == sorted(commits)
        assert all(commit.requested < commit.completed for commit in commits)
        assert {commit.action for commit in commits} == {"commit" if table == "orders_cow" else "deltacommit"}
        assert "schema" not in commits[0].extra_metadata

    def test_newest_commits_only(self, table):
        reader = open_table(table)
        assert [commit.own_metadata["step"] for commit in reader.list_commits(newest=2)] == [
            "second",
            "third",
        ]
        last = reader.last_commit()
        assert last is not None
        assert last.own_metadata["step"] == "third"

    def test_commits_of_other_writers_do_not_hide_our_metadata(self, table):
        found = open_table(table).find_metadata("checkpoint")
        assert found is not None
        assert found["step"] == "second"
        assert open_table(table).find_metadata("no such key") is None

    def test_read_since_returns_rows_of_later_commits(self, table):
        reader = open_table(table)
        first, second, _ = reader.commit_names
        changed = reader.read_since(first.completed, ["order_id"]).to_pylist()
        assert {"o1", "o3", "o9"} <= {row["order_id"] for row in changed}
        assert "o5" not in {row["order_id"] for row in changed}
        assert "o9" not in {
            row["order_id"] for row in reader.read_since(second.completed, ["order_id"]).to_pylist()
        }

    def test_nothing_comes_since_the_newest_commit(self, table):
        reader = open_table(table)
        found = reader.read_since(reader.commit_names[-1].completed, ["order_id", "amount"])
        assert (found.num_rows, found.schema.names) == (0, ["order_id", "amount"])

    def test_unknown_column_names_those_there_are(self, table):
        with pytest.raises(LakeError, match="no column nope, nada") as failure:
            open_table(table).read(["order_id", "nope", "nada"])
        assert "customer, amount" in failure.value.hint


def test_rows_of_archived_commits_are_still_read():
    reader = open_table("archived")
    assert len(reader.commit_names) < 7, "the fixture must have commits that left the timeline"
    assert sorted(row["id"] for row in reader.read(["id"]).to_pylist()) == list(range(7))


def test_reading_since_before_the_active_timeline_gives_everything():
    reader = open_table("archived")
    before = str(int(reader.commit_names[0].completed) - 1)
    assert sorted(row["id"] for row in reader.read_since(before, ["id"]).to_pylist()) == list(range(7))


def test_reading_since_an_archived_time_omits_older_days():
    reader = open_table("archived")
    newest = reader.commit_names[-1].completed
    reader.__dict__["commit_names"] = []
    assert reader.read_since(newest, ["id"]).num_rows == 7
    found = reader.read_since(str(int(newest[:4]) + 1) + newest[4:], ["id"])
    assert (found.num_rows, found.schema.names) == (0, ["id"])


def test_reading_since_within_the_active_timeline_gives_later_rows_only():
    reader = open_table("archived")
    oldest = reader.list_commits()[0]
    found = reader.read_since(oldest.completed, ["id"]).to_pylist()
    assert sorted(row["id"] for row in found) == list(range(int(oldest.own_metadata["step"]) + 1, 7))


def test_partition_values_that_a_url_would_encode_are_read_back():
    found = open_table("odd_partitions").read(["id", "place"]).to_pylist()
    assert {row["id"]: row["place"] for row in found} == {1: "Zürich", 2: "a b+c", 3: "50%", 4: "plain"}


@pytest.mark.parametrize("place", ["Zürich", "a b+c", "50%", "plain"])
def test_odd_partition_values_can_be_filtered_by(place):
    found = open_table("odd_partitions").read(["place"], [("place", "=", place)])
    assert [row["place"] for row in found.to_pylist()] == [place]


def test_absent_table_does_not_exist_and_says_so(tmp_path):
    reader = SnapshotReader(str(tmp_path / "nothing"))
    assert not reader.exists()
    for ask in (reader.read, reader.count_rows, reader.list_commits, lambda: reader.schema):
        with pytest.raises(TableNotFoundError, match="no Hudi table exists there"):
            ask()


def test_folder_that_is_no_table_is_an_absent_table(tmp_path):
    (tmp_path / "part-0.parquet").write_bytes(b"PAR1")
    assert not SnapshotReader(str(tmp_path)).exists()


def test_table_without_commits_exists_and_is_empty(empty_table):
    assert empty_table.exists()
    assert empty_table.schema.names == []
    assert empty_table.read().num_rows == empty_table.count_rows() == 0
    assert empty_table.list_commits() == []
    assert empty_table.last_commit() is None
    assert empty_table.find_metadata("checkpoint") is None


@pytest.mark.parametrize("spelling", ["{}", "file:{}", "file://{}"])
def test_folder_may_be_spelled_as_spark_takes_it(spelling):
    assert SnapshotReader(spelling.format(FIXTURE_LAKE / "orders_cow")).count_rows() == 8


def test_relative_folder_is_below_the_working_directory(monkeypatch):
    monkeypatch.chdir(FIXTURE_LAKE)
    assert SnapshotReader("orders_cow").count_rows() == 8


def test_path_readable_only_by_spark_is_distinguished():
    with pytest.raises(TableUnsupportedError, match="hdfs://name/lake/orders"):
        SnapshotReader("hdfs://name/lake/orders").exists()


@pytest.mark.parametrize(
    ("text", "kind", "expected_message"),
    [
        ("Hoodie properties not found", TableNotFoundError, "no Hudi table"),
        ("NoSuchBucket: no", LakeError, "the bucket does not exist"),
        ("status 403 Forbidden: AccessDenied\nmore", LakeError, "access denied: status 403"),
        ("error sending request for url (http://127.0.0.1:1/)", LakeError, "the store does not answer"),
        ("Unsupported table version 12", TableUnsupportedError, "Unsupported table version 12"),
        ("something else\nwith a backtrace", LakeError, "p: something else\n  ->"),
    ],
)
def test_failures_are_one_line_with_location_and_hint(text, kind, expected_message):
    error = explain_read_failure("p", text)
    assert type(error) is kind
    with pytest.raises(kind, match=expected_message):
        raise error
    assert error.hint


@pytest.mark.parametrize("table", ORDERS)
def test_commit_after_opening_belongs_to_the_next_snapshot(table, tmp_path):
    copy = shutil.copytree(FIXTURE_LAKE / table, tmp_path / table)
    reader = SnapshotReader(str(copy))
    assert reader.schema.names
    newest = max((copy / ".hoodie/timeline").glob("*_*.*commit"))
    shutil.copy(newest, newest.with_name(f"20261122000000000_20261122000001000{newest.suffix}"))
    assert len(reader.commit_names) == 3
    assert len(reader.reopen().commit_names) == 4


def test_store_that_does_not_answer_is_no_absent_table():
    options = {
        "aws_endpoint": "http://127.0.0.1:9",
        "aws_allow_http": "true",
        "aws_region": "us-east-1",
        "aws_skip_signature": "true",
        "max_retries": "0",
    }
    with pytest.raises(LakeError, match="does not answer"):
        SnapshotReader("s3a://lake/orders", options).exists()


def test_first_commit_after_the_table_was_opened_is_read(tmp_path: Path) -> None:
    table, later = tmp_path / "orders", tmp_path / "later"
    shutil.copytree(FIXTURE_LAKE / "orders_cow", table)
    timeline = table / ".hoodie" / "timeline"
    later.mkdir()
    for commit in timeline.glob("*.commit"):
        commit.rename(later / commit.name)
    reader = SnapshotReader(str(table))
    assert reader.exists()
    for commit in later.iterdir():
        commit.rename(timeline / commit.name)
    assert reader.commit_names
    assert reader.read(["order_id"]).num_rows == 8
