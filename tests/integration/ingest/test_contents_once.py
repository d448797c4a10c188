"""A content that was announced or found is in an append table once, however often and why it is read."""

from datetime import datetime, timedelta, timezone

import pytest
from pyspark.sql import functions as F

from headwater.app import App
from headwater.app.objects.redrive import Redrive
from headwater.app.objects.verify import Verify
from headwater.capture.control_events import (
    LISTED_EVENT,
    REPAIR_EVENT,
    build_control_event,
    build_retry,
    with_content,
)
from headwater.capture.quarantine_reader import QuarantineFilter, QuarantineReader
from headwater.ingest.lineage import EVENT_ID, VERSION
from headwater.lake.layout import quarantine_path, table_path
from headwater.lake.options import WriteOptions
from headwater.lake.table import Table
from tests.fixtures.bucket_lake import BucketLake

pytestmark = pytest.mark.slow

ROWS = {"rows": {"path": "*.json", "mode": "append"}}
BUCKETS = [pytest.param(False, id="unversioned"), pytest.param(True, id="versioned")]
A, B = '{"n": 1}\n{"n": 2}\n', '{"n": 3}\n'


class Requests:
    """Events of headwater's own about one object, each at a later time than the one before."""

    def __init__(self, lake: BucketLake) -> None:
        self._lake = lake
        self._now = datetime.now(timezone.utc)

    def append(self, *kinds: str, etag: str | None = None, version_id: str | None = None) -> None:
        """One commit of the events table."""
        events = []
        for kind in kinds:
            self._now += timedelta(seconds=1)
            if kind == "retry":
                events.append(
                    build_retry("s3", self._lake.bucket, "a.json", version_id, self._now, self._now)
                )
                continue
            name = {"repair": REPAIR_EVENT, "listed": LISTED_EVENT}[kind]
            event = build_control_event(name, "s3", self._lake.bucket, "a.json", self._now)
            events.append(with_content(event, "created", etag))
        self._lake.app.events.append(events)


EVERY_KIND = ("repair", "retry", "listed", "repair", "retry", "repair")


@pytest.mark.parametrize("versioned", BUCKETS)
def test_requests_and_listings_add_no_duplicates(build, versioned: bool) -> None:
    lake = build(versioned=versioned, **ROWS)
    requests = Requests(lake)
    events = []
    for text in (A, B, A):
        events.append(lake.put("a.json", text))
        lake.announce(events[-1])
        lake.ingest("rows")
    wanted = [(1,), (1,), (2,), (2,), (3,)]
    assert lake.rows("rows", "n") == wanted
    # All in one batch, then each in a batch of its own, then with the notification delivered again.
    requests.append(*EVERY_KIND, etag=events[-1].etag)
    lake.ingest("rows")
    assert lake.rows("rows", "n") == wanted
    for kind in ("repair", "retry", "listed"):
        requests.append(kind, etag=events[-1].etag)
        lake.announce(*events)
        lake.ingest("rows")
        assert lake.rows("rows", "n") == wanted, kind
    assert Verify(App(lake.settings, spark=lake.app.spark)).run().is_complete


@pytest.mark.parametrize("versioned", BUCKETS)
def test_requests_in_the_batch_of_the_notification_or_before_it_add_nothing(build, versioned: bool) -> None:
    lake = build(versioned=versioned, **ROWS)
    requests = Requests(lake)
    first = lake.put("a.json", A)
    requests.append("repair", "retry", "repair")
    lake.announce(first)
    requests.append("repair")
    lake.ingest("rows")
    assert lake.rows("rows", "n") == [(1,), (2,)]
    second = lake.put("a.json", B)
    requests.append("repair", "repair")
    lake.ingest("rows")
    lake.announce(second)
    lake.ingest("rows")
    assert lake.rows("rows", "n") == [(1,), (2,), (3,)]


def test_retry_reads_the_version_that_failed_and_leaves_the_others_alone(build) -> None:
    lake = build(versioned=True, **ROWS)
    broken, whole = lake.put("a.json", "{no\n"), lake.put("a.json", A)
    lake.announce(broken, whole)
    lake.ingest("rows")
    assert lake.rows("rows", "n", VERSION) == [(1, whole.version_id), (2, whole.version_id)]
    reader = QuarantineReader(quarantine_path(lake.lake))
    (row,) = reader.list_rows(QuarantineFilter(level="object"))
    assert (row["version_id"], row["event_time"]) == (broken.version_id, broken.event_time)
    redrive = Redrive(App(lake.settings, spark=lake.app.spark))
    assert redrive.retry([row]).resolved == 0
    lake.s3.delete_object(Bucket=lake.bucket, Key="a.json", VersionId=broken.version_id)
    assert redrive.retry([row]).resolved == 1
    assert lake.rows("rows", "n") == [(1,), (2,)]


def test_verify_finds_rows_that_are_there_twice_and_repairs_them(build) -> None:
    lake = build(versioned=False, **ROWS)
    for text in (A, B, A):
        lake.announce(lake.put("a.json", text))
        lake.ingest("rows")
    table = Table(lake.app.spark, table_path(lake.lake, "rows"))
    rows = table.read().where(F.col("n") == 3)
    copies = rows.drop(*(name for name in rows.columns if name.startswith("_hoodie_")))
    options = WriteOptions(table_name="rows", operation="insert", record_key=(EVENT_ID, "_headwater_row"))
    table.write(copies.withColumn(EVENT_ID, F.lit("once more")), options)
    verify = Verify(App(lake.settings, spark=lake.app.spark))
    (problem,) = verify.run().tables["rows"].problems
    assert problem.kind == "wrong_rows"
    assert "is in the table 2 times but was put once" in problem.detail
    assert verify.repair() == 1
    assert lake.rows("rows", "n") == [(1,), (1,), (2,), (2,), (3,)]
    assert Verify(App(lake.settings, spark=lake.app.spark)).run().is_complete
