"""Tables that take only objects last modified in a window: in every mode, by events and by listings."""

import os
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from headwater.app import App
from headwater.app.objects.explain import Explain
from headwater.app.objects.verify import Verify
from headwater.capture.control_events import LISTED_EVENT
from headwater.ingest.planning.verification import TableVerification
from tests.fixtures.folder_lake import FolderLake

pytestmark = pytest.mark.slow

AFTER, DAY = datetime(2026, 1, 10, tzinfo=timezone.utc), timedelta(days=1)
WINDOW: dict[str, Any] = {"modified_after": AFTER.isoformat(), "modified_before": (AFTER + DAY).isoformat()}
MODES: dict[str, dict[str, Any]] = {"mirror": {"mode": "mirror"}, "append": {}, "merge": {"record_key": "id"}}


@pytest.fixture(params=MODES)
def lake(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> FolderLake:
    return FolderLake(spark, tmp_path, things={"path": "*.json", **MODES[request.param], **WINDOW})


def write(lake: FolderLake, key: str, text: str, age: timedelta) -> None:
    """Write a file that was last modified so long after the beginning of the window."""
    lake.write(key, text)
    moment = (AFTER + age).timestamp()
    os.utime(lake.source / key, (moment, moment))


def put(lake: FolderLake, key: str, age: timedelta) -> None:
    """Write a file with one row, and announce it."""
    write(lake, key, f'{{"id": "{key} {age}"}}\n', age)
    lake.announce(key)


def ids(lake: FolderLake) -> list[str]:
    return sorted(row[0] for row in lake.rows("things", "id"))


def verify(lake: FolderLake) -> TableVerification:
    return Verify(App(lake.settings, spark=lake.app.spark)).run().tables["things"].counts


def repair(lake: FolderLake) -> None:
    Verify(App(lake.settings, spark=lake.app.spark)).repair()


def test_only_objects_in_the_window_are_ingested(lake: FolderLake, spark: SparkSession) -> None:
    ages = {"early": -DAY, "first": 0 * DAY, "last": DAY - timedelta(seconds=1), "late": DAY}
    for name, age in ages.items():
        put(lake, f"{name}.json", age)
    results = lake.ingest("things")
    assert ids(lake) == sorted(f"{name}.json {ages[name]}" for name in ("first", "last"))
    assert results[0].skipped == {"outside_window": 2}
    counts = verify(lake)
    assert (counts.ingested, counts.missing, counts.skipped, counts.is_complete) == (2, 0, 0, True)
    assert lake.quarantine() == []
    found = Explain(App(lake.settings, spark=spark)).explain("late.json")
    assert (found.status, found.reason) == ("skipped", "things: outside_window")


def test_a_newest_version_outside_retracts_the_rows_of_a_mirror_only(lake: FolderLake) -> None:
    put(lake, "a.json", 0 * DAY)
    lake.ingest("things")
    put(lake, "a.json", 2 * DAY)
    lake.ingest("things")
    is_mirror = lake.settings.tables["things"].effective_mode == "mirror"
    assert ids(lake) == ([] if is_mirror else [f"a.json {0 * DAY}"])
    assert verify(lake).is_complete
    put(lake, "a.json", DAY / 2)
    lake.ingest("things")
    assert f"a.json {DAY / 2}" in ids(lake)
    assert (verify(lake).ingested, verify(lake).is_complete) == (1, True)


@pytest.mark.parametrize("lake", ["mirror", "append"], indirect=True)
def test_a_listing_of_an_object_outside_needs_no_read(lake: FolderLake) -> None:
    write(lake, "a.json", "not readable as JSON", -DAY)
    captured = lake.capture("a.json")
    event = replace(captured.event, event_name=LISTED_EVENT, order_key=None, event_time=AFTER - DAY)
    (lake.source / "a.json").unlink()
    lake.append(replace(captured, event=event, source="listing"))
    assert lake.ingest("things")[0].skipped == {"outside_window": 1}
    assert lake.quarantine() == []


def test_objects_outside_decide_nothing_about_the_columns(lake: FolderLake) -> None:
    write(lake, "a.json", '{"id": "a", "other": 1}\n', -DAY)
    write(lake, "b.json", '{"id": "b"}\n', 0 * DAY)
    lake.announce("a.json", "b.json")
    lake.ingest("things")
    assert "other" not in lake.columns("things")


def test_large_and_bad_objects_outside_are_skipped_like_others(lake: FolderLake) -> None:
    lake.change("things", large_file_bytes=1000, max_record_bytes=2000)
    rows = "".join(f'{{"id": "{number}"}}\n' for number in range(200))
    write(lake, "large.json", rows, -DAY)
    write(lake, "bad.json", "{" * 3000, -DAY)
    write(lake, "in.json", rows, 0 * DAY)
    lake.announce("large.json", "bad.json", "in.json")
    lake.ingest("things")
    assert len(ids(lake)) == 200
    assert lake.quarantine() == []
    assert (verify(lake).ingested, verify(lake).is_complete) == (1, True)


@pytest.mark.parametrize("lake", ["mirror", "append"], indirect=True)
def test_a_repair_applies_a_changed_window(lake: FolderLake) -> None:
    for name, age in (("a", 0 * DAY), ("b", 2 * DAY)):
        put(lake, f"{name}.json", age)
    lake.ingest("things")
    moved = {"modified_after": (AFTER + DAY).isoformat(), "modified_before": (AFTER + 3 * DAY).isoformat()}
    lake.change("things", **moved)
    counts = verify(lake)
    is_mirror = lake.settings.tables["things"].effective_mode == "mirror"
    assert (counts.missing, counts.extra) == (1, is_mirror)
    repair(lake)
    assert ids(lake) == [f"a.json {0 * DAY}"] * (not is_mirror) + [f"b.json {2 * DAY}"]
    assert verify(lake).is_complete
