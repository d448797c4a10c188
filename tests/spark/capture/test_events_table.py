"""The events table: what every reader sees, whatever was delivered twice, late or by another process."""

import dataclasses
import json
import shutil
from collections.abc import Mapping
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest

from headwater.capture.announced_files import read_announced_files
from headwater.capture.captured_event import CapturedEvent
from headwater.capture.control_events import LISTED_EVENT, REPAIR_EVENT, build_control_event
from headwater.capture.division import DividedEvents, Division
from headwater.capture.events_table import EventsTable
from headwater.capture.position import BEGINNING, Position
from headwater.capture.seen_events import SeenEvents
from headwater.capture.shared_ids import SharedIds
from headwater.errors import LakeError
from headwater.lake.table import Table
from headwater.lake.timeline import Commit, Timeline
from headwater.sources.local.folder_watcher.file_messages import build_created_message, build_removed_message
from headwater.sources.local.folder_watcher.known_files import KnownFile
from headwater.sources.message_parser import parse_message
from tests.fixtures.events import build_event
from tests.fixtures.notification_bodies import event_bus_body, s3_record

RECEIVED = datetime(2026, 5, 2, 12, 0, 0, 123456, tzinfo=timezone.utc)


def capture(*sequences, **event):
    return [
        CapturedEvent(build_event(key=f"a/{n}.json", sequence=n, **event), RECEIVED, f"message-{n}")
        for n in sequences
    ]


def keys(page):
    return [stored.event.key for stored in page.events]


def keep_few_commits(monkeypatch) -> None:
    from headwater.lake import options

    monkeypatch.setitem(options._CHANGELOG, "hoodie.keep.min.commits", "4")
    monkeypatch.setitem(options._CHANGELOG, "hoodie.keep.max.commits", "5")
    monkeypatch.setitem(options._CHANGELOG, "hoodie.clean.commits.retained", "2")


def read_all(reader, position):
    seen: list[str] = []
    more = True
    while more:
        page = reader.read_after(position, 1000)
        seen, position, more = seen + keys(page), page.end, page.more
    return seen


@pytest.fixture
def path(lake):
    return f"{lake}/_headwater/events"


@pytest.fixture
def events(spark, path):
    return EventsTable(spark, path)


def test_table_with_interrupted_first_commit_is_empty_and_writable(spark, path, events):
    events.append(capture(1))
    for completed in (Path(path) / ".hoodie" / "timeline").glob("*_*.*commit"):
        completed.unlink()
    restarted = EventsTable(spark, path)
    assert restarted.read_snapshot() is None
    assert restarted.read_history("landing", "a/1.json") == []
    assert restarted.find_events(["x"]) == {}
    assert list(restarted.iter_keys_after(BEGINNING, "landing")) == []
    restarted.append(capture(1, 2))
    assert read_all(EventsTable(spark, path), BEGINNING) == ["a/1.json", "a/2.json"]


def test_table_that_does_not_exist_has_no_events(events):
    page = events.read_after(BEGINNING, 10)
    assert (page.events, page.end, page.more) == ((), BEGINNING, False)
    assert events.find_newest() == BEGINNING


def test_another_process_reads_appended_events_unchanged(spark, path, events):
    batch = capture(1, 2)
    events.append(batch)
    page = EventsTable(spark, path).read_after(BEGINNING, 10)
    import dataclasses

    expected = [dataclasses.replace(captured.event, raw="") for captured in batch]
    assert [stored.event for stored in page.events] == expected
    assert [stored.event_id for stored in page.events] == [event.event_id for event in expected]
    assert {stored.received_at for stored in page.events} == {RECEIVED}


def test_tail_in_memory_equals_table_on_disk(spark, path, events):
    for batch in (capture(1, 2), capture(3), capture(4, 5, 6)):
        events.append(batch)
    fresh = EventsTable(spark, path)
    from_memory, from_disk = events.read_after(BEGINNING, 100), fresh.read_after(BEGINNING, 100)
    assert [(s.event_id, s.position) for s in from_memory.events] == [
        (s.event_id, s.position) for s in from_disk.events
    ]
    assert from_memory.end == from_disk.end


def test_same_event_twice_is_one_row_in_a_batch_across_batches_and_after_a_restart(spark, path, events):
    assert events.append(capture(1, 1, 2)).duplicates == 1
    assert events.append(capture(2, 3)).duplicates == 1
    restarted = EventsTable(spark, path)
    result = restarted.append(capture(1, 2, 3, 4))
    assert (result.events, result.duplicates) == (1, 3)
    rows = Table(spark, path).read()
    assert rows.count() == rows.select("event_id").distinct().count() == 4


def test_one_event_in_two_encodings_around_midnight_is_one_row(spark, path):
    stored = {"key": "a.json", "size": 7, "sequencer": "0A"}
    record = s3_record(eventTime="2026-06-02T23:59:59.900Z", object_={**stored, "eTag": "abc"})
    bus = event_bus_body(time="2026-06-03T00:00:01Z")
    bus["detail"]["object"] = {**stored, "etag": "abc"}
    encodings = [
        [CapturedEvent(event, RECEIVED, "m") for event in parse_message(json.dumps(body)).events]
        for body in ({"Records": [record]}, bus)
    ]
    assert [found[0].day for found in encodings] == ["2026-06-02", "2026-06-03"]
    for first, second in (encodings, encodings[::-1]):
        place = f"{path}-{first[0].day}"
        # In one process and after a restart.
        assert EventsTable(spark, place).append([*first, *second]).duplicates == 1
        assert EventsTable(spark, place).append(second).events == 0


@pytest.mark.parametrize("source", ["notification", "listing"])
def test_events_of_hundreds_of_windows_are_known_after_a_restart(spark, path, source):
    begin = datetime(2026, 6, 2, 23, 0, tzinfo=timezone.utc)
    batch = [
        dataclasses.replace(
            captured,
            event=dataclasses.replace(captured.event, event_time=begin + timedelta(minutes=11 * n)),
            received_at=begin + timedelta(minutes=11 * n, days=1),
            source=source,
        )
        for n, captured in enumerate(capture(*range(150)))
    ]
    assert EventsTable(spark, path).append(batch).events == 150
    restarted = EventsTable(spark, path)
    assert restarted.append([*batch, *capture(1000)]).events == 1
    assert EventsTable(spark, path).append(batch[70:72]).events == 0


def test_commit_that_is_complete_and_seems_to_have_failed_is_neither_repeated_nor_passed_over(
    events, monkeypatch
):
    write = Table.write

    def write_and_fail(table, *arguments):
        write(table, *arguments)
        raise LakeError("archiving failed")

    for first, tried in ((0, (1, 2)), (2, (3, 4))):
        with monkeypatch.context() as patch:
            patch.setattr(Table, "write", write_and_fail)
            with pytest.raises(LakeError):
                events.append(capture(*tried))
        assert events.append(capture(*tried)).duplicates == 2
        events.append(capture(tried[-1] + 10))
        page = events.read_after(BEGINNING, 100)
        assert len(keys(page)) == len(set(keys(page))) == first + len(tried) + 1 + (1 if first else 0)


def test_only_the_newest_commits_stay_in_memory(spark, path, monkeypatch):
    monkeypatch.setattr("headwater.capture.event_tail._CACHED_SECONDS", -1.0)
    events = EventsTable(spark, path)
    for n in range(1, 4):
        events.append(capture(n))
    reads = []
    read_commits = Table.read_commits
    monkeypatch.setattr(
        Table, "read_commits", lambda table, *of: reads.append(of) or read_commits(table, *of)
    )
    page = events.read_after(BEGINNING, 2)
    assert keys(page) == ["a/1.json", "a/2.json"]
    assert len(reads) == 1
    assert keys(events.read_after(page.end, 10)) == ["a/3.json"]
    assert len(reads) == 1


def test_batch_of_known_events_makes_no_commit(events):
    events.append(capture(1))
    before = events.find_newest()
    assert events.append(capture(1)).events == 0
    assert events.find_newest() == before


def test_newest_commit_is_read_without_waiting_for_a_further_one(spark, path, events):
    for n in range(1, 6):
        events.append(capture(n))
    reader = EventsTable(spark, path)
    page = reader.read_after(BEGINNING, 100)
    assert keys(page) == [f"a/{n}.json" for n in range(1, 6)]
    assert page.end == reader.find_newest()
    assert not reader.read_after(page.end, 100).events


def test_reading_resumes_inside_a_commit(spark, path, events):
    events.append(capture(1, 2, 3, 4))
    for reader in (events, EventsTable(spark, path)):
        page = reader.read_after(BEGINNING, 100)
        middle = page.events[1].position
        assert keys(reader.read_after(middle, 100)) == ["a/3.json", "a/4.json"]


def test_pages_are_complete_commits_and_cover_all_events(spark, path, events):
    for n in range(5):
        events.append(capture(10 * n + 1, 10 * n + 2))
    for reader in (events, EventsTable(spark, path)):
        position, seen = BEGINNING, []
        while True:
            page = reader.read_after(position, 3)
            seen += keys(page)
            position = page.end
            if not page.more:
                break
        assert len(seen) == len(set(seen)) == 10


def test_table_reads_its_share_of_the_newest_commits(spark, path, monkeypatch):
    events = EventsTable(spark, path, division=Division(["landing"], ["a/", "b/"]))
    theirs = [CapturedEvent(build_event(key=f"b/{n}", sequence=n), RECEIVED, "") for n in (1, 2)]
    events.append([*capture(1, 2), *theirs])
    first = events.find_newest()
    events.append(capture(3))
    share = events.select(["a/"])
    page = share.read_after(BEGINNING, 10)
    assert (keys(page), page.omitted, page.more) == (["a/1.json", "a/2.json", "a/3.json"], 2, False)
    assert keys(share.read_after(Position(first.completed, 0), 10)) == ["a/2.json", "a/3.json"]
    assert keys(share.read_after(first, 10)) == ["a/3.json"]
    monkeypatch.setattr(DividedEvents, "select", lambda *_: pytest.fail("a commit that was read is divided"))
    assert keys(share.read_after(events.find_newest(), 10)) == []
    monkeypatch.undo()
    others = events.select(["b/"]).read_after(first, 10)
    assert (keys(others), others.omitted, others.end) == ([], 1, events.find_newest())
    assert len(events.read_after(BEGINNING, 10).events) == 5
    assert len(EventsTable(spark, path).select(["b/"]).read_after(BEGINNING, 10).events) == 5


def test_equal_event_times_are_all_events(events):
    same_time = [CapturedEvent(build_event(key=f"k{n}", sequence=5), RECEIVED, f"m{n}") for n in range(3)]
    events.append(same_time[:2])
    events.append(same_time[2:])
    assert keys(events.read_after(BEGINNING, 10)) == ["k0", "k1", "k2"]


def test_consumer_older_than_the_active_timeline_still_gets_everything(
    spark, path, events, monkeypatch, caplog
):
    keep_few_commits(monkeypatch)
    for n in range(1, 15):
        events.append(capture(n))
    timeline = Table(spark, path).load_timeline()
    assert timeline.list_archived(), "the test needs archived commits to say anything"
    # However the parts fall that the archive is read in.
    monkeypatch.setattr("headwater.lake.timeline.timeline._READ_AT_ONCE", 4)
    assert [metadata.get("events") for _, metadata in timeline.iter_metadata("")] == ["1"] * 14
    reader = EventsTable(spark, path)
    third = Position(timeline.list_archived()[2].completed)
    for start, first in ((BEGINNING, 1), (third, 4)):
        assert read_all(reader, start) == [f"a/{n}.json" for n in range(first, 15)]
    assert "reading in full" not in caplog.text


def complete_last(path: str) -> str:
    """As if the oldest active commit had been in progress until now; return the time of its request."""
    timeline = Path(path, ".hoodie/timeline")
    oldest, *others = sorted(timeline.glob("[0-9]*_*.commit"))
    requested = oldest.name.partition("_")[0]
    last = max(file.name.partition("_")[2] for file in others).partition(".")[0]
    oldest.rename(timeline / f"{requested}_{int(last) + 1}.commit")
    return requested


@pytest.mark.slow
def test_commit_in_progress_while_many_others_are_made_and_archived(spark, path, events, monkeypatch):
    keep_few_commits(monkeypatch)
    for n in range(1, 9):
        events.append(capture(n))
    read_until = events.find_newest()
    requested = complete_last(path)
    (late,) = (row["key"] for row in Table(spark, path).read().collect() if row[0] == requested)
    reader = EventsTable(spark, path)
    assert read_all(reader, read_until) == [late]
    other = EventsTable(spark, path)
    for n in range(9, 16):
        other.append(capture(n))
        # Archived before the commits that completed earlier.
        assert read_all(reader, read_until) == [late, *(f"a/{k}.json" for k in range(9, n + 1))]
    assert requested in {commit.requested for commit in Table(spark, path).load_timeline().list_archived()}


def test_commits_that_are_archived_while_they_are_read(spark, path, events, monkeypatch):
    keep_few_commits(monkeypatch)
    for n in range(1, 5):
        events.append(capture(n))
    read_metadata = Timeline.read_own_metadata
    late: list[Commit] = []

    def read_late(timeline: Timeline, commit: Commit) -> Mapping[str, str]:
        # A reader that is slower than the writer and its archiving. The writer reads its commits by it, too.
        if not late:
            late.append(commit)
            for n in range(5, 15):
                events.append(capture(n))
            assert Table(spark, path).load_timeline().commits[0] > late[0]
        return read_metadata(timeline, commit)

    reader = EventsTable(spark, path)
    monkeypatch.setattr(Timeline, "read_own_metadata", read_late)
    assert read_all(reader, BEGINNING) == [f"a/{n}.json" for n in range(1, 15)]


def test_events_of_another_process_are_noticed(spark, path, events):
    events.append(capture(1))
    other = EventsTable(spark, path)
    other.append(capture(2))
    events.signal.external_seconds = 0
    events.signal.refresh()
    assert keys(events.read_after(BEGINNING, 10)) == ["a/1.json", "a/2.json"]
    assert events.append(capture(2)).events == 0


def test_files_are_known_as_they_were_announced_last(events):
    known = KnownFile("5-1", 20_000, True, "64-1", "aa")
    bodies = [
        build_created_message("/in", "a", 1, known, from_listing=False),
        build_created_message("/in", "a", 1, KnownFile("4-1", 10_000), from_listing=True),
        build_created_message("/in", "b", 1, known, from_listing=False),
        build_removed_message("/in", "b", 30_000, from_listing=True),
        build_created_message("/other", "c", 1, known, from_listing=False),
    ]
    reported = [event for body in bodies for event in parse_message(body).events]
    # Announced before events told more than an etag; what a reconcile found later; and requests.
    old = dataclasses.replace(reported[0], key="old", raw="{}")
    listed = dataclasses.replace(old, sequencer="x", order_key=None, event_name=LISTED_EVENT, etag="9-1")
    repair = build_control_event(REPAIR_EVENT, "local", "/in", "b", RECEIVED)
    events.append(
        [
            *(CapturedEvent(event, RECEIVED, "m") for event in (*reported, old)),
            CapturedEvent(dataclasses.replace(listed, key="d"), RECEIVED, "", "listing"),
            CapturedEvent(
                dataclasses.replace(listed, key="a", event_name=LISTED_EVENT), RECEIVED, "", "listing"
            ),
            repair,
        ]
    )
    assert read_announced_files(events, "/in") == {
        "a": KnownFile("9-1", 20_000),
        "b": KnownFile("5-1", 30_000, False, "64-1", "aa"),
        "old": KnownFile("5-1", 20_000),
        "d": KnownFile("9-1"),
    }


def test_raw_json_is_kept(spark, path, events):
    (captured,) = capture(1)
    raw = '{"eventName":"ObjectCreated:Put","é":"\\u0000"}'
    events.append([dataclasses.replace(captured, event=dataclasses.replace(captured.event, raw=raw))])
    (row,) = Table(spark, path).read().collect()
    assert row["raw"] == raw


def leave_unfinished_commit(path: str) -> None:
    """As a writer that was killed does: the newest commit's plan again, a moment later."""
    timeline = Path(path, ".hoodie/timeline")
    newest = max(file.name for file in timeline.glob("*.requested")).partition(".")[0]
    for file in [*timeline.glob(f"{newest}.*requested"), *timeline.glob(f"{newest}.*inflight")]:
        shutil.copy(file, timeline / file.name.replace(newest, str(int(newest) + 1)))


def find_oldest_instant(path: str) -> str:
    return min(file.name for file in Path(path, ".hoodie/timeline").glob("[0-9]*_*.*"))


@pytest.mark.slow
def test_all_events_come_where_a_rollback_is_the_oldest_instant(spark, path, events, monkeypatch):
    # apache/hudi issue 20286: an incremental read of such a timeline may give nothing, and raises nothing.
    keep_few_commits(monkeypatch)
    for n in range(1, 15):
        if n == 7:
            leave_unfinished_commit(path)
        events.append(capture(n))
        if n > 7 and find_oldest_instant(path).endswith(".rollback"):
            break
    found = sorted(file.name for file in Path(path, ".hoodie/timeline").glob("[0-9]*_*.*"))
    assert found[0].endswith(".rollback"), f"the test needs one to say anything: {found}"
    expected = [f"a/{number}.json" for number in range(1, n + 1)]
    timeline = Table(spark, path).load_timeline()
    commits = [*timeline.list_archived(), *timeline.commits]
    starts = [BEGINNING, *(Position(commit.completed) for commit in commits)]
    for at, start in enumerate(starts):
        assert read_all(EventsTable(spark, path), start) == expected[at:]


def test_incremental_read_that_gives_too_little_is_read_in_full(spark, path, events, monkeypatch, caplog):
    for n in range(1, 4):
        events.append(capture(n))
    reader = EventsTable(spark, path)
    monkeypatch.setattr(Table, "read_commits", lambda table, after, upto: table.read().limit(0))
    assert keys(reader.read_after(BEGINNING, 1000)) == ["a/1.json", "a/2.json", "a/3.json"]
    assert "incremental read returned 0 of 3 events" in caplog.text


def test_removed_file_of_the_table_is_an_error_and_no_gap(spark, path, events):
    for n in range(1, 4):
        events.append(capture(n))
    next(Path(path).glob("event_day=*/*.parquet")).unlink()
    with pytest.raises(LakeError, match=r"contain 3 events, but only 2 can be read|is missing") as caught:
        EventsTable(spark, path).read_after(BEGINNING, 1000)
    assert caught.value.hint


def test_an_event_that_two_processes_committed_at_once_is_read_once(spark, path, events, monkeypatch):
    other = EventsTable(spark, path)
    events.create()
    for table in (events, other):
        table.share()
    assert events.append(capture(1, 2)).events == 2
    # What the other process has committed is known before the next commit.
    assert other.append(capture(2, 3)).duplicates == 1

    # It commits while this process has looked already.
    read_new = SharedIds.read_new

    def look_early(shared):
        found = read_new(shared)
        monkeypatch.undo()
        assert other.append(capture(4, 5)).events == 2
        return found

    monkeypatch.setattr(SharedIds, "read_new", look_early)
    assert events.append(capture(5, 6)).events == 2

    assert read_all(EventsTable(spark, path), BEGINNING) == [f"a/{n}.json" for n in range(1, 7)]
    assert read_all(events, BEGINNING) == [f"a/{n}.json" for n in range(1, 7)]
    # Also from between the two commits.
    page = other.read_after(BEGINNING, 5)
    assert [event.event.key for event in other.read_after(page.end, 10).events] == ["a/6.json"]
    assert events.append(capture(4)).duplicates == 1


def test_a_created_table_is_empty_and_stays_as_it_is(spark, path, events):
    events.create()
    assert read_all(events, BEGINNING) == []
    events.append(capture(1))
    events.create()
    assert read_all(EventsTable(spark, path), BEGINNING) == ["a/1.json"]


def test_ids_of_another_process_are_known_after_a_failure_between_reading_and_keeping_them(
    spark, path, events, monkeypatch
):
    other = EventsTable(spark, path)
    events.create()
    for table in (events, other):
        table.share()
    assert events.append(capture(1)).events == 1
    assert other.append(capture(2)).events == 1

    def fail(*_):
        raise LakeError("the lake does not answer")

    monkeypatch.setattr(SeenEvents, "add", fail)
    with pytest.raises(LakeError):
        events.append(capture(2, 3))
    monkeypatch.undo()
    assert events.append(capture(2, 3)).duplicates == 1
