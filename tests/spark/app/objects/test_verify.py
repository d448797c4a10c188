"""`verify` finds what is missing, wrong or too much, says up to when all is there, and repairs it."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.app import App
from headwater.app.objects.redrive import Redrive
from headwater.app.objects.verify import Verify, VerifyReport
from headwater.capture.captured_event import CapturedEvent
from headwater.capture.control_events import LISTED_EVENT, RETRY_EVENT, build_retry
from headwater.lake.layout import table_path
from headwater.lake.options import WriteOptions
from headwater.lake.table import Table
from tests.fixtures.folder_lake import FolderLake

MODES = {
    "mirror": {"mode": "mirror"},
    "append": {"mode": "append"},
    "merge": {"record_key": "id"},
}


def lines(*values: object) -> str:
    return "".join(json.dumps({"id": value}) + "\n" for value in values)


@pytest.fixture(params=["mirror", *(pytest.param(m, marks=pytest.mark.long) for m in ("append", "merge"))])
def lake(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> FolderLake:
    return FolderLake(spark, tmp_path, things={"path": "**/*.json", **MODES[request.param]})


@pytest.fixture
def verify(spark: SparkSession) -> Callable[[FolderLake], Verify]:
    return lambda lake: Verify(App(lake.settings, spark=spark))


def counts(report: VerifyReport) -> dict[str, int]:
    found = report.tables["things"].counts
    names = (
        "ingested",
        "pending",
        "skipped",
        "quarantined",
        "missing",
        "extra",
        "wrong_version",
        "wrong_rows",
    )
    return {name: getattr(found, name) for name in names if getattr(found, name)}


def test_table_that_equals_the_folder_is_complete_up_to_now(lake: FolderLake, verify) -> None:
    lake.put_many([("a.json", lines(1, 2)), ("b/c.json", lines(3)), ("e.json", ""), ("x.csv", "1")])
    lake.ingest("things")
    report = verify(lake).run(folder_depth=1)
    assert counts(report) == {"ingested": 2, "skipped": 1}
    assert report.is_complete
    assert report.watermark == report.started_at
    assert report.tables["things"].folders["b"].ingested == 1


def test_everything_that_is_wrong_is_found_and_repaired(lake: FolderLake, verify) -> None:
    lake.put_many([(f"{name}.json", lines(name)) for name in ("kept", "changed", "gone")])
    lake.ingest("things")
    lake.write("new.json", lines("new"))
    lake.write("changed.json", lines("changed once more"))
    (lake.source / "gone.json").unlink()
    before = verify(lake)
    report = before.run()
    mirrors = lake.settings.tables["things"].effective_mode == "mirror"
    extra = {"extra": 1} if mirrors else {}
    assert counts(report) == {"ingested": 1, "missing": 1, "wrong_version": 1, **extra}
    assert not report.is_complete
    assert report.watermark < report.started_at
    assert before.repair() == 2 + mirrors
    after = verify(lake).run()
    assert counts(after) == {"ingested": 3}
    rows = {row[0] for row in lake.rows("things", "id")}
    assert rows == {"kept", "changed once more", "new"} | (set() if mirrors else {"changed", "gone"})


def test_waiting_event_is_pending_and_failure_is_reported(lake: FolderLake, verify) -> None:
    lake.put_many([("a.json", lines(1)), ("bad.json", "{no\n")])
    lake.ingest("things")
    lake.put("later.json", lines(2))
    report = verify(lake).run()
    assert counts(report) == {"ingested": 1, "pending": 1, "quarantined": 1}
    assert report.tables["things"].counts.reasons == {"unparsable": 1}
    assert not report.is_complete


def test_table_with_only_unusable_objects_is_reported(lake: FolderLake, verify) -> None:
    lake.put("bad.json", "{no\n")
    lake.ingest("things")
    assert counts(verify(lake).run()) == {"quarantined": 1}


@pytest.mark.parametrize(
    "has_digests", [True, pytest.param(False, marks=pytest.mark.slow)], ids=["", "older release"]
)
@pytest.mark.parametrize("lake", ["mirror", pytest.param("append", marks=pytest.mark.slow)], indirect=True)
@pytest.mark.slow
def test_externally_deleted_rows_are_found_and_restored(
    lake: FolderLake, spark: SparkSession, verify, has_digests: bool
) -> None:
    lake.has_digests = has_digests
    lake.put_many([("a.json", lines(1, 2, 3)), ("b.json", lines(4))])
    lake.ingest("things")
    table = Table(spark, table_path(lake.lake, "things"))
    properties = table.read().where("id = 2")
    mirrors = lake.settings.tables["things"].effective_mode == "mirror"
    key = ("_headwater_object", "_headwater_row") if mirrors else ("_headwater_event_id", "_headwater_row")
    frame = properties.drop(*(name for name in properties.columns if name.startswith("_hoodie_")))
    table.write(
        frame,
        WriteOptions(
            table_name="things",
            operation="upsert",
            record_key=key,
            extra={"hoodie.datasource.write.operation": "delete"},
        ),
    )
    first = verify(lake)
    assert counts(first.run()) == {"ingested": 1, "wrong_rows": 1}
    assert first.repair() == 1
    assert counts(verify(lake).run()) == {"ingested": 2}
    assert lake.rows("things", "id") == [(1,), (2,), (3,), (4,)]


def test_verify_sees_batches_not_yet_in_the_ledger(lake: FolderLake, spark: SparkSession, verify) -> None:
    lake.put("a.json", lines(1))
    pipeline = lake.pipeline("things")
    while pipeline.run_batch():
        pass
    assert lake.ledger("key") == []
    report = verify(lake).run()
    assert counts(report) == {"ingested": 1}
    assert report.started_at <= datetime.now(timezone.utc)


@pytest.mark.slow
@pytest.mark.parametrize("found_by", [LISTED_EVENT, pytest.param(RETRY_EVENT, marks=pytest.mark.slow)])
def test_content_whose_first_notification_was_lost_may_be_in_the_table_twice(
    spark: SparkSession, tmp_path: Path, verify, found_by: str
) -> None:
    lake = FolderLake(spark, tmp_path, things={"path": "*.json", **MODES["append"]})
    for value, is_announced in ((1, False), (2, True), (1, True)):
        lake.write("a.json", lines(value))
        os.utime(lake.source / "a.json", (value, value))
        put = lake.capture("a.json")
        lake.append(put_later(put) if is_announced else find_without_notification(put, found_by))
        lake.ingest("things")
    assert lake.rows("things", "id") == [(1,), (1,), (2,)]
    assert counts(verify(lake).run()) == {"ingested": 1}

    lake.append(Redrive(lake.app).ask_again(str(lake.source), "a.json", datetime.now(timezone.utc)))
    lake.ingest("things")
    assert lake.rows("things", "id") == [(1,), (1,), (2,)]


def put_later(put: CapturedEvent) -> CapturedEvent:
    """An hour later: content put soon after a decision would be taken for content that its read found."""
    return replace(put, event=replace(put.event, event_time=put.event.event_time + timedelta(hours=1)))


def find_without_notification(put: CapturedEvent, name: str) -> CapturedEvent:
    """What finds an object whose notification was lost: a listing, or a request to read it."""
    if name == RETRY_EVENT:
        return build_retry("local", put.event.bucket, put.event.key, None, None, put.received_at)
    event = replace(put.event, event_name=name, sequencer="listing", order_key=None)
    return replace(put, event=event, source="listing")
