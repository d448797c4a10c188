"""The events table keeps few files, and its readers notice nothing."""

from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from headwater.app import App
from headwater.app.services.events_clustering import EventsClustering
from headwater.capture.captured_event import CapturedEvent
from headwater.capture.events_table import EventsTable
from headwater.capture.fragmentation import ORDER
from headwater.capture.position import BEGINNING
from headwater.config.hudi.lock import LockConfig
from headwater.errors import LakeError, TableUnsupportedError
from headwater.lake.layout import find_address
from headwater.lake.service_table import ServiceTable
from headwater.lake.typed_options.clustering import clustering_options
from headwater.lake.typed_options.locks import to_session_settings
from tests.fixtures.events import build_event
from tests.fixtures.folder_lake import FolderLake
from tests.fixtures.waiting import wait_until

pytestmark = pytest.mark.slow

COMMITS = 14
"""Enough to be merged of a day that is over, as that of `build_event` is."""


@pytest.fixture
def lake(spark, tmp_path, monkeypatch):
    from headwater.lake import options

    # Events of archived commits are merged, too.
    monkeypatch.setitem(options._CHANGELOG, "hoodie.keep.min.commits", "4")
    monkeypatch.setitem(options._CHANGELOG, "hoodie.keep.max.commits", "5")
    return FolderLake(spark, tmp_path, t={"path": "*.json"})


def capture(*numbers):
    now = datetime.now(timezone.utc)
    return [CapturedEvent(build_event(f"a/{n}.json", n), now, f"message-{n}") for n in numbers]


def count_files(events):
    return len(list(Path(events.path).glob("event_day=*/*.parquet")))


def read_all(events, page_events=5):
    """Keys and offsets of all events."""
    found: list[tuple[str, Any]] = []
    position = BEGINNING
    while True:
        page = events.read_after(position, page_events)
        if not page.events and page.end == position:
            return found
        found += [(stored.event.key, stored.position) for stored in page.events]
        position = page.end


def open_table(spark, lake):
    """As another process has it."""
    return EventsTable(spark, lake.app.events.path)


def test_small_files_become_one_and_every_event_keeps_its_offset(spark, lake):
    events = lake.app.events
    for n in range(COMMITS):
        events.append(capture(2 * n, 2 * n + 1))
    before = read_all(open_table(spark, lake))
    assert [key for key, _ in before] == [f"a/{n}.json" for n in range(2 * COMMITS)]
    clustering = EventsClustering(lake.app, look_seconds=0)
    clustering.run_pass()
    # Whoever read the table's files when they were merged can finish.
    assert count_files(events) == COMMITS + 1
    assert read_all(open_table(spark, lake)) == before
    # This process still knows the newest events, and what it has appended.
    assert not events.read_after(before[-1][1], 10).events
    clustering.run_pass()
    events.append(capture(99))
    clustering.run_pass()
    assert count_files(events) == 2
    assert read_all(open_table(spark, lake))[:-1] == before
    assert events.append(capture(0, 100)).duplicates == 1
    assert open_table(spark, lake).append(capture(1, 100)).events == 0
    assert [key for key, _ in read_all(events)][-1] == "a/100.json"
    assert len(read_all(events)) == len(before) + 2


def test_a_merge_that_a_killed_process_left_is_completed(spark, lake):
    events = lake.app.events
    for n in range(COMMITS):
        events.append(capture(n))
    table = ServiceTable(spark, find_address(lake.settings, "events"))
    options = clustering_options(ORDER, "linear", 10**8, 10**9, ())
    with table.open_client(options) as client:
        planned = str(client.scheduleClustering(table.java.build_none()).get())
    # Its writer goes on, and a restarted one does not roll the plan back.
    events.append(capture(100))
    restarted = open_table(spark, lake)
    restarted.append(capture(101))
    assert restarted._table.load_timeline().list_pending("clustering") == (planned,)
    before = read_all(open_table(spark, lake))
    assert len(before) == COMMITS + 2
    clustering = EventsClustering(lake.app, look_seconds=0)
    for n in range(COMMITS):
        events.append(capture(200 + n))
    clustering.run_pass()
    assert restarted._table.load_timeline().list_pending("clustering") == ()
    assert read_all(open_table(spark, lake))[: len(before)] == before


def test_few_files_are_left_as_they_are(lake):
    EventsClustering(lake.app).run_pass()  # no table yet
    events = lake.app.events
    for n in range(3):
        events.append(capture(n))
    newest = events.find_newest()
    EventsClustering(lake.app).run_pass()
    assert count_files(events) == 3
    assert events.find_newest() == newest


def test_a_lake_that_only_spark_can_read_is_left_as_it_is(lake, monkeypatch):
    def refuse(*_):
        raise TableUnsupportedError("hdfs://namenode/lake can only be read by Spark")

    monkeypatch.setattr("headwater.app.services.events_clustering.count_small_files", refuse)
    lake.app.events.append(capture(1))
    clustering = EventsClustering(lake.app, look_seconds=0)
    with capture_logs() as logs:
        clustering.run_pass()
        clustering.run_pass()
    assert [line["event"] for line in logs] == ["the small files of the events table are not merged"]


def test_a_merge_that_failed_is_repeated_with_the_next_pass(lake, monkeypatch):
    events = lake.app.events
    for n in range(COMMITS):
        events.append(capture(n))
    clustering = EventsClustering(lake.app, look_seconds=3_600)

    def fail(*_):
        raise LakeError("the storage does not answer")

    with monkeypatch.context() as patch:
        patch.setattr("headwater.app.services.events_clustering.cluster", fail)
        for _ in range(2):
            with pytest.raises(LakeError, match="does not answer"):
                clustering.run_pass()
    clustering.run_pass()
    assert count_files(events) == COMMITS + 1


def test_the_timeline_stays_short(spark, lake):
    events = lake.app.events
    clustering = EventsClustering(lake.app, look_seconds=0)
    for n in range(COMMITS):
        events.append(capture(n))
    clustering.run_pass()
    for n in range(COMMITS, 3 * COMMITS):
        events.append(capture(n))
        if n == COMMITS:
            clustering.run_pass()
    timeline = open_table(spark, lake)._table.load_timeline()
    assert len(timeline.commits) <= 12
    assert len(read_all(open_table(spark, lake))) == 3 * COMMITS


@pytest.fixture(params=["alone", "shared"])
def is_shared(request, spark):
    """Whether several processes append: only then Hudi has a lock between appends and merges."""
    settings = to_session_settings(LockConfig(provider="file_system"))
    if request.param == "shared":
        for key, value in settings.items():
            spark.conf.set(key, value)
    yield request.param == "shared"
    for key in settings:
        spark.conf.unset(key)


def test_appends_and_merges_at_the_same_time_lose_and_repeat_nothing(spark, lake, is_shared):
    app = App(lake.settings, spark=spark)
    events = app.events
    if is_shared:
        events.create()
        events.share()
    clustering = EventsClustering(app, pass_seconds=0.1, look_seconds=0)
    events.append(capture(0))
    clustering.start()
    try:
        for n in range(1, 40):
            assert events.append(capture(2 * n, 2 * n + 1)).events == 2
        wait_until(lambda: count_files(events) < 20, "merged files", 60)
    finally:
        clustering.stop()
    assert clustering.defect is None
    expected = ["a/0.json", *(f"a/{n}.json" for n in range(2, 80))]
    assert [key for key, _ in read_all(open_table(spark, lake), 50)] == expected
    snapshot = app.events.read_snapshot()
    assert snapshot is not None
    assert snapshot.count() == len(expected)
