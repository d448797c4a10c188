"""The ledger's own table: what was written is read again, by every way there is."""

from datetime import datetime, timedelta, timezone
from pathlib import Path

from pyspark.sql import SparkSession

from headwater.capture.position import Position
from headwater.ingest.ledger.ledger import Ledger
from headwater.ingest.ledger.local_states import LocalStates
from headwater.ingest.ledger.mark import Mark
from headwater.ingest.planning.ledger_entry import LedgerEntry

MARK = Mark("20260501000000000", Position("20260501000000000", 0), has_looked=False)
TIME = datetime(2026, 5, 1, 12, 30, 0, 123456, tzinfo=timezone.utc)
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
    ledger.write("orders", [FULL, BARE], MARK)
    ledger.write("other", [LedgerEntry("other", "s3", "b", "k")], MARK)
    wanted = {"full": FULL, "bare": BARE}
    assert ledger.read_states("orders", ["full", "bare", "other", "nobody"]) == wanted
    assert LocalStates(ledger.iter_texts("orders")).find(["full", "bare", "other", "nobody"]) == wanted


def test_a_table_that_the_ledger_does_not_know_has_no_states(spark: SparkSession, tmp_path: Path) -> None:
    ledger = Ledger(spark, str(tmp_path / "ledger"))
    assert list(ledger.iter_texts("orders")) == []
    assert ledger.read_states("orders", ["full"]) == {}
