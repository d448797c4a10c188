"""The ledger's own table: what was written is read again, by every way there is."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

from pyspark.sql import SparkSession

from headwater.capture.position import BEGINNING, Position
from headwater.capture.reconcile.newest_state import TableObservation
from headwater.errors import LakeError
from headwater.ingest.ledger.ledger import Ledger
from headwater.ingest.ledger.local_states import LocalStates
from headwater.ingest.ledger.watermark import Watermark
from headwater.ingest.planning.ledger_entry import LedgerEntry, find_observation
from headwater.lake.table import Table

WATERMARK = Watermark("20260501000000000", Position("20260501000000000", 0), has_unconfirmed=False)
TIME = datetime(2026, 5, 1, 12, 30, 0, 123456, tzinfo=timezone.utc)
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
FULL = LedgerEntry(
    object_id="full",
    provider="s3",
    bucket="landing",
    key='a b+%41#"ü"\\/日本.json',
    version="v1",
    etag="e1",
    order_key="0a" * 20,
    event_time=TIME,
    event_id="event",
    status="quarantined",
    reason="unparsable",
    detail="line 1:\n\t'x' \u2028 is none",
    rows=7,
    bad_rows=1,
    bytes=2**40,
    events=3,
    looked=True,
    instant="20260501000000000",
    first_seen=TIME - timedelta(days=30_000),
    looked_at=TIME + timedelta(microseconds=1),
)
BARE = LedgerEntry("bare", "file", "folder", "bare.json")


def test_states_are_the_same_by_id_and_all_together(spark: SparkSession, tmp_path: Path) -> None:
    ledger = Ledger(spark, str(tmp_path / "ledger"))
    ledger.write("orders", [FULL, BARE], WATERMARK)
    ledger.write("other", [LedgerEntry("other", "s3", "b", "k")], WATERMARK)
    wanted = {"full": FULL, "bare": BARE}
    assert ledger.read_states("orders", ["full", "bare", "other", "nobody"]) == wanted
    local = LocalStates()
    local.load(lambda: ledger.iter_texts("orders"), WATERMARK)
    assert local.find(["full", "bare", "other", "nobody"]) == wanted


def test_a_table_that_the_ledger_does_not_know_has_no_states(spark: SparkSession, tmp_path: Path) -> None:
    ledger = Ledger(spark, str(tmp_path / "ledger"))
    assert list(ledger.iter_texts("orders")) == []
    assert ledger.read_states("orders", ["full"]) == {}


def test_two_processes_keep_the_watermarks_of_each_other(spark: SparkSession, tmp_path: Path) -> None:
    one, other = (Ledger(spark, str(tmp_path / "ledger")) for _ in range(2))
    one.write("orders", [FULL], WATERMARK)
    other.write("other", [BARE], WATERMARK)
    moved = replace(WATERMARK, commit="20260502000000000")
    one.write("orders", [FULL], moved)
    # Its process has not read the newest watermark of the orders before this commit.
    other.write("other", [BARE], moved)

    for ledger in (one, other, Ledger(spark, str(tmp_path / "ledger"))):
        assert {table: ledger.find_watermark(table) for table in ("orders", "other", "nobody")} == {
            "orders": moved,
            "other": moved,
            "nobody": Watermark(),
        }


def test_tables_that_write_at_the_same_time_share_commits(spark: SparkSession, tmp_path: Path) -> None:
    ledger = Ledger(spark, str(tmp_path / "ledger"))
    ledger.create()
    tables = [f"table_{number}" for number in range(8)]
    with ThreadPoolExecutor(len(tables)) as pool:
        list(pool.map(lambda table: ledger.write(table, [replace(FULL, key=table)], WATERMARK), tables))
    assert len(Table(spark, str(tmp_path / "ledger")).load_timeline().commits) <= 1 + len(tables) // 2
    for known in (ledger, Ledger(spark, str(tmp_path / "ledger"))):
        for table in tables:
            assert known.find_watermark(table) == WATERMARK
            assert known.read_states(table, ["full"]) == {"full": replace(FULL, key=table)}


def test_each_table_hears_of_a_commit_that_failed(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    ledger = Ledger(spark, str(tmp_path / "file" / "ledger"))

    def write(table: str) -> str:
        try:
            ledger.write(table, [FULL], WATERMARK)
        except LakeError as error:
            return error.message
        return ""

    with ThreadPoolExecutor(3) as pool:
        heard = list(pool.map(write, ("one", "two", "three")))
    assert all("file" in message for message in heard)


def test_a_forgotten_table_stays_forgotten(spark: SparkSession, tmp_path: Path) -> None:
    one, other = (Ledger(spark, str(tmp_path / "ledger")) for _ in range(2))
    one.write("orders", [FULL], WATERMARK)
    other.write("other", [BARE], WATERMARK)
    one.forget("orders")

    assert other.find_watermark("orders") == Watermark()
    assert other.read_states("orders", ["full"]) == {}
    assert other.read_states("other", ["bare"]) == {"bare": BARE}


def test_seen_states_are_the_same_in_spark_and_python(spark: SparkSession, tmp_path: Path) -> None:
    seen = replace(FULL, object_id="seen", key="seen", status="ingested", looked_at=None)
    states = [
        seen,
        replace(seen, object_id="named", key="named", looked=False),
        replace(seen, object_id="listed", key="listed", looked=False, looked_at=TIME),
        replace(seen, object_id="unread", key="unread", status="superseded", looked_at=TIME),
        replace(seen, object_id="given up", key="given up", status="skipped", etag="", looked_at=TIME),
        replace(seen, object_id="gone", key="gone", status="removed"),
        replace(seen, object_id="absent", key="absent", status="removed", reason="missing", looked_at=TIME),
        replace(seen, object_id="pending", key="pending", status="pending", instant=""),
        replace(seen, object_id="cleaned", key="cleaned", reason="cleaned"),
        replace(seen, object_id="bad", key="bad", status="quarantined", reason="cleaned"),
        replace(seen, object_id="twice", key="twice"),
    ]
    # Of these the ledger's own rows are old.
    newest = [
        replace(seen, object_id="twice", key="twice", event_time=TIME + timedelta(days=1)),
        replace(seen, object_id="bad", key="bad", status="removed"),
        replace(seen, object_id="new", key="new"),
    ]
    ledger = Ledger(spark, str(tmp_path / "ledger"))
    assert ledger.read_seen("orders", []) is None
    assert read_seen(ledger, newest[:1]) == find_seen(newest[:1])
    ledger.write("orders", states, WATERMARK)
    assert read_seen(ledger, []) == find_seen(states)
    found = read_seen(ledger, newest)
    assert found == find_seen([*states, *newest])
    assert found.keys() == {"seen", "listed", "unread", "given up", "absent", "twice", "new"}


def read_seen(ledger: Ledger, newest: list[LedgerEntry]) -> dict[str, TableObservation]:
    frame = ledger.read_seen("orders", newest)
    assert frame is not None
    assert frame.where("bucket <> 'landing'").count() == 0
    rows = frame.selectExpr("key", "unix_micros(after)", "etag", "unix_micros(read_after)").collect()
    return {
        key: TableObservation(
            EPOCH + timedelta(microseconds=after),
            etag,
            None if read_after is None else EPOCH + timedelta(microseconds=read_after),
        )
        for key, after, etag, read_after in rows
    }


def find_seen(states: list[LedgerEntry]) -> dict[str, TableObservation]:
    newest = {state.key: find_observation(state) for state in states}
    return {key: observation for key, observation in newest.items() if observation is not None}


def test_a_start_is_decided_once_and_survives_all_other_commits(spark: SparkSession, tmp_path: Path) -> None:
    path, early, late = str(tmp_path / "ledger"), Position("20260501000000000"), Position("20260502000000000")
    one, other = Ledger(spark, path), Ledger(spark, path)
    assert one.find_start("orders") is None
    assert one.settle_starts(["orders"], lambda: early) == {"orders": early}
    assert other.settle_starts(["orders", "other"], lambda: late) == {"orders": early, "other": late}
    one.write("orders", [FULL], WATERMARK)
    one.forget("orders")
    commits = len(Table(spark, path).load_timeline().commits)
    for ledger in (one, other, Ledger(spark, path)):
        assert ledger.settle_starts(["other", "orders"], lambda: BEGINNING) == {
            "orders": early,
            "other": late,
        }
        assert ledger.find_start("orders") == early
    assert len(Table(spark, path).load_timeline().commits) == commits


def test_of_two_processes_that_start_at_once_the_earlier_start_counts(
    spark: SparkSession, tmp_path: Path
) -> None:
    path, early, late = str(tmp_path / "ledger"), Position("20260501000000000"), Position("20260502000000000")
    one, other = Ledger(spark, path), Ledger(spark, path)

    def settle_after_other() -> Position:
        other.settle_starts(["orders"], lambda: early)
        return late

    assert one.settle_starts(["orders"], settle_after_other) == {"orders": early}
    assert other.find_start("orders") == early
