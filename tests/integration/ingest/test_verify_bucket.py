"""`verify` over a bucket: nothing is called wrong that is as the table promises it."""

import json
import threading
from collections.abc import Callable
from datetime import datetime, timedelta, timezone

import pytest
from pyspark.sql import SparkSession

from headwater.app import App
from headwater.app.objects.verify import Verify
from headwater.app.reconcile.passes import Reconcile
from headwater.capture.captured_event import CapturedEvent
from headwater.capture.reconcile import ReconcilePass
from headwater.capture.reconcile.decision import EventOrigin, build_event
from headwater.config.source import ReconcileConfig
from headwater.sources.lister import ListedObject
from headwater.sources.listing_diff import Comparison
from headwater.sources.object_event import ObjectEvent
from tests.fixtures.bucket_lake import BucketLake

pytestmark = pytest.mark.slow

FIRST, SECOND = (json.dumps({"id": name}) + "\n" for name in ("first", "second"))
APPENDED = {"things": {"path": "**/*.json", "mode": "append"}}


def check(lake: BucketLake, spark: SparkSession) -> list[tuple[str, str, str]]:
    """What `verify` has to tell of the objects that are not as they should be."""
    report = Verify(App(lake.settings, spark=spark)).run().tables["things"]
    assert report.counts.ingested + len(report.problems) == 1
    return [(found.kind, found.key, found.detail) for found in report.problems]


def list_now(lake: BucketLake, created: ObjectEvent) -> CapturedEvent:
    """What a listing that is made now tells of an object."""
    now = datetime.now(timezone.utc)
    listed = ListedObject(created.key, created.size or 0, created.etag or "", None, created.event_time)
    return build_event(Comparison(created.key, listed, None), EventOrigin("s3", lake.bucket, now))


def test_content_that_was_put_twice_has_its_rows_twice(
    build: Callable[..., BucketLake], spark: SparkSession
) -> None:
    lake = build(versioned=False, **APPENDED)
    for _ in range(2):
        lake.announce(lake.put("a.json", FIRST))
        lake.ingest("things")
    assert lake.rows("things", "id") == [("first",), ("first",)]
    assert check(lake, spark) == []


def test_version_notified_after_a_listing_is_ingested_but_not_current(
    build: Callable[..., BucketLake], spark: SparkSession
) -> None:
    lake = build(versioned=True, **APPENDED)
    late, lost = lake.put("a.json", FIRST), lake.put("a.json", SECOND)
    lake.app.events.append([list_now(lake, lost)])
    lake.ingest("things")
    assert lake.rows("things", "id") == [("second",)]
    lake.announce(late)
    lake.ingest("things")
    assert lake.rows("things", "id") == [("first",), ("second",)]
    assert check(lake, spark) == []


def test_listing_and_late_version_in_one_batch(build: Callable[..., BucketLake], spark: SparkSession) -> None:
    lake = build(versioned=True, **APPENDED)
    late, lost = lake.put("a.json", FIRST), lake.put("a.json", SECOND)
    lake.app.events.append([list_now(lake, lost)])
    lake.announce(late)
    assert len(lake.ingest("things")) == 1
    assert lake.rows("things", "id") == [("first",), ("second",)]
    assert check(lake, spark) == []


def test_late_removal_keeps_content_observed_by_listing(
    build: Callable[..., BucketLake], spark: SparkSession
) -> None:
    lake = build(versioned=False, things={"path": "**/*.json", "mode": "mirror"})
    lake.put("a.json", FIRST)
    removal, lost = lake.remove("a.json"), lake.put("a.json", SECOND)
    lake.app.events.append([list_now(lake, lost)])
    lake.ingest("things")
    lake.announce(removal)
    lake.ingest("things")
    assert lake.rows("things", "id") == [("second",)]
    assert check(lake, spark) == []


def test_two_listings_emit_two_events(build: Callable[..., BucketLake]) -> None:
    lake = build(versioned=False, **APPENDED)
    put = lake.put("a.json", FIRST)
    first, second = (list_now(lake, put).event for _ in range(2))
    assert first.event_id != second.event_id
    at = datetime(2026, 5, 1, tzinfo=timezone.utc)
    listed = ListedObject("a.json", 1, "e", None, at)
    reported = [
        build_event(Comparison("a.json", listed, None), EventOrigin("s3", lake.bucket, moment)).event
        for moment in (at, at, at + timedelta(microseconds=1))
    ]
    assert reported[0].event_id == reported[1].event_id != reported[2].event_id


def test_rows_of_unnotified_objects_are_retracted_by_reconcile(
    build: Callable[..., BucketLake], spark: SparkSession
) -> None:
    lake = build(versioned=False, things={"path": "**/*.json", "mode": "mirror"})
    first, removal = lake.put("a.json", FIRST), lake.remove("a.json")
    lake.put("a.json", SECOND)
    for event in (first, removal):
        lake.announce(event)
        lake.ingest("things")
    assert lake.rows("things", "id") == [("second",)]
    lake.remove("a.json")
    done = reconcile(lake, spark)
    assert (done.vanished, done.emitted) == (1, 1)
    lake.ingest("things")
    assert lake.rows("things", "id") == []
    assert Verify(App(lake.settings, spark=spark)).run().tables["things"].problems == []
    assert reconcile(lake, spark).differences == 0


def reconcile(lake: BucketLake, spark: SparkSession) -> ReconcilePass:
    settings = lake.settings.model_copy(update={"reconcile": ReconcileConfig(settle_seconds=0)})
    return Reconcile(App(settings, spark=spark), settings.sources[0]).run_pass(threading.Event()).done
