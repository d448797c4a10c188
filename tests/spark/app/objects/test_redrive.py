"""What lies in quarantine has a way back: tried again, given up, or retried by itself."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.app import App
from headwater.app.objects.redrive import Redrive, RetryReport
from headwater.app.objects.verify import Verify
from headwater.capture.quarantine_item import QuarantineItem
from headwater.capture.quarantine_reader import QuarantineReader, Row
from headwater.errors import LakeError
from headwater.lake.layout import quarantine_path
from tests.fixtures.folder_lake import FolderLake

pytestmark = pytest.mark.slow

MODES = {"mirror": {"mode": "mirror"}, "append": {"mode": "append"}, "merge": {"record_key": "id"}}


@pytest.fixture(params=["mirror", *(pytest.param(m, marks=pytest.mark.long) for m in ("append", "merge"))])
def lake(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> FolderLake:
    return FolderLake(spark, tmp_path, things={"path": "*.json", **MODES[request.param]})


@pytest.fixture
def redrive(spark: SparkSession) -> Callable[..., Redrive]:
    return lambda lake, **options: Redrive(App(lake.settings, spark=spark), **options)


def rows_in_quarantine(lake: FolderLake) -> list[Row]:
    return QuarantineReader(quarantine_path(lake.lake)).list_rows()


def test_object_that_can_be_read_now_leaves_quarantine_and_is_counted_once(
    lake: FolderLake, spark: SparkSession, redrive
) -> None:
    lake.put_many([("a.json", "{no\n"), ("good.json", '{"id": 1}\n')])
    lake.ingest("things")
    lake.write("a.json", '{"id": 2}\n{"id": 3}\n')
    report = redrive(lake).retry(rows_in_quarantine(lake))
    assert report == RetryReport(tried=1, resolved=1)
    assert rows_in_quarantine(lake) == []
    assert lake.rows("things", "id") == [(1,), (2,), (3,)]
    verified = Verify(App(lake.settings, spark=spark)).run()
    assert verified.is_complete
    assert verified.tables["things"].counts.ingested == 2


def test_object_that_still_cannot_be_read_stays(lake: FolderLake, redrive) -> None:
    lake.put_many([("a.json", "{no\n"), ("good.json", '{"id": 1}\n')])
    lake.ingest("things")
    assert redrive(lake).retry(rows_in_quarantine(lake)) == RetryReport(tried=1, resolved=0)
    assert {row["key"] for row in rows_in_quarantine(lake)} == {"a.json"}


def test_bad_record_of_a_good_object_is_replaced_by_the_corrected_object(lake: FolderLake, redrive) -> None:
    lake.put("a.json", '{"id": 1}\n{no\n{"id": 3}\n')
    lake.ingest("things")
    assert lake.rows("things", "id") == [(1,), (3,)]
    lake.write("a.json", '{"id": 1}\n{"id": 2}\n{"id": 3}\n')
    assert redrive(lake).retry(rows_in_quarantine(lake)).resolved == 1
    kept = [(1,), (3,)] if lake.settings.tables["things"].effective_mode == "append" else []
    # An append keeps the rows of every version that it has read.
    assert lake.rows("things", "id") == sorted([(1,), (2,), (3,), *kept])


def test_dropped_items_stay_skipped(lake: FolderLake, spark: SparkSession, redrive) -> None:
    lake.put_many([("a.json", "{no\n"), ("good.json", '{"id": 1}\n')])
    lake.ingest("things")
    assert redrive(lake).drop(rows_in_quarantine(lake)) == 1
    assert rows_in_quarantine(lake) == []
    verified = Verify(App(lake.settings, spark=spark)).run()
    assert verified.is_complete
    assert verified.tables["things"].counts.reasons == {"dropped": 1}


@pytest.mark.parametrize("lake", ["append"], indirect=True)
def test_trouble_with_quarantine_does_not_make_a_batch_count_twice(
    lake: FolderLake, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.put_many([("a.json", "{no\n"), ("good.json", '{"id": 1}\n')])
    lake.ingest("things")
    lake.write("a.json", '{"id": 2}\n')
    app = App(lake.settings, spark=spark)
    resolve, refusals = app.stores.quarantine.resolve, iter([LakeError("no space left")])

    def refuse_once(*args: Any) -> None:
        for refusal in refusals:
            raise refusal
        resolve(*args)

    monkeypatch.setattr(app.stores.quarantine, "resolve", refuse_once)
    pipeline = app.build_pipeline("things")
    app.events.append([Redrive(app).ask_again(str(lake.source), "a.json", datetime.now(timezone.utc))])
    with pytest.raises(LakeError, match="no space left"):
        pipeline.run_batch()
    while pipeline.run_batch():
        pass
    pipeline.save_checkpoint()
    assert lake.rows("things", "id") == [(1,), (2,)]
    assert lake.ledger("key", "events") == [("a.json", 2), ("good.json", 1)]
    assert rows_in_quarantine(lake) == []


@pytest.mark.parametrize("lake", ["append"], indirect=True)
def test_message_is_parsed_again(lake: FolderLake, redrive) -> None:
    now = datetime.now(timezone.utc)
    lake.write("a.json", '{"id": 1}\n')
    record = {
        "eventVersion": "2.1",
        "eventSource": "headwater:local",
        "eventName": "ObjectCreated:Put",
        "eventTime": "2026-05-01T00:00:00Z",
        "s3": {
            "bucket": {"name": str(lake.source)},
            "object": {"key": "a.json", "size": 10, "sequencer": "01"},
        },
    }
    body = json.dumps({"Records": [record]})
    item = QuarantineItem("message", "capture", "unknown_shape", "x", now, message_id="m1", payload=body)
    lake.app.stores.quarantine.append([item])
    assert redrive(lake).retry(rows_in_quarantine(lake)) == RetryReport(tried=1, resolved=1)
    assert lake.rows("things", "id") == [(1,)]


@pytest.mark.parametrize("lake", ["merge"], indirect=True)
def test_object_that_was_missing_is_tried_again_by_itself(lake: FolderLake, redrive) -> None:
    lake.put("good.json", '{"id": 1}\n')
    lake.announce("late.json")
    lake.ingest("things")
    assert [row["reason"] for row in rows_in_quarantine(lake)] == ["missing"]
    lake.write("late.json", '{"id": 2}\n')
    assert redrive(lake).ask_for_due() == 0
    in_two_minutes = datetime.now(timezone.utc) + timedelta(minutes=2)
    assert redrive(lake, now=lambda: in_two_minutes).ask_for_due() == 1
    lake.ingest("things")
    assert lake.rows("things", "id") == [(1,), (2,)]
    assert rows_in_quarantine(lake) == []


@pytest.mark.parametrize(
    ("policy", "status", "quarantined"),
    [({}, "quarantined", 1), ({"unparsable": "skip"}, "skipped", 0)],
)
def test_policy_determines_handling_of_bad_objects(
    spark: SparkSession, tmp_path: Path, policy: dict[str, str], status: str, quarantined: int
) -> None:
    lake = FolderLake(spark, tmp_path, things={"path": "*.json", "on_bad_object": policy})
    lake.put_many([("a.json", "{no\n"), ("good.json", '{"id": 1}\n')])
    lake.ingest("things")
    assert ("a.json", status) in lake.ledger("key", "status")
    assert len(rows_in_quarantine(lake)) == quarantined


def test_empty_object_is_quarantined_on_request(spark: SparkSession, tmp_path: Path) -> None:
    lake = FolderLake(spark, tmp_path, things={"path": "*.json", "on_bad_object": {"empty": "quarantine"}})
    lake.put_many([("a.json", ""), ("good.json", '{"id": 1}\n')])
    lake.ingest("things")
    assert [(row["key"], row["reason"]) for row in rows_in_quarantine(lake)] == [("a.json", "empty")]
