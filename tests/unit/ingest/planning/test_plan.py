"""Where a batch begins and ends, and what belongs to it."""

from dataclasses import replace

from headwater.capture.control_events import RETRACT_EVENT
from headwater.capture.position import Position
from headwater.capture.stored_event import EventPage
from headwater.config.table import TableConfig
from headwater.ingest.planning.plan import Limits, Location, Scope, take_batch
from headwater.ingest.planning.selection import build_selector, find_beginnings
from tests.fixtures.events import build_event, build_stored

COMPLETED = "20260501000000000"
END = Position(COMPLETED)


def scope(prefix="", **table):
    config = TableConfig(**{"path": "a/*.json", **table})
    return Scope((Location("s3", "landing", prefix),), build_selector(config), find_beginnings(config.path))


def page_of(events):
    return EventPage(tuple(events), END, more=False)


def stored(count, **event):
    return [
        build_stored(build_event(key=f"a/{n}.json", sequence=n, **event), n, COMPLETED) for n in range(count)
    ]


def test_batch_that_takes_everything_ends_at_the_page():
    batch = take_batch(page_of(stored(3)), scope(), Limits(10, 1000))
    assert (len(batch.events), batch.end, batch.more) == (3, END, False)


def test_limit_of_files_ends_inside_the_commit_and_the_next_batch_resumes_there():
    events = stored(5)
    first = take_batch(page_of(events), scope(), Limits(2, 1000))
    assert first.end == Position(COMPLETED, 1)
    assert first.more
    rest = [event for event in events if event.position > first.end]
    second = take_batch(page_of(rest), scope(), Limits(10, 1000))
    read = [sorted(stored.event.key for stored in batch.events) for batch in (first, second)]
    assert read == [["a/0.json", "a/1.json"], ["a/2.json", "a/3.json", "a/4.json"]]


def test_limit_of_bytes_counts_sizes():
    batch = take_batch(page_of(stored(5, size=100)), scope(), Limits(10, 250))
    assert len(batch.events) == 2


def test_first_object_is_taken_however_big():
    batch = take_batch(page_of(stored(2, size=10_000)), scope(), Limits(10, 1))
    assert len(batch.events) == 1


def test_other_buckets_are_counted_whatever_their_keys():
    events = [build_stored(build_event(key=key, bucket="theirs"), 0, COMPLETED) for key in ("a/1.json", "b")]
    batch = take_batch(page_of(events), scope(), Limits(10, 1000))
    assert (batch.events, batch.foreign, batch.filtered) == ((), {"theirs": 2}, 0)


def test_keys_of_other_tables_are_retracted_where_the_rules_exclude_them():
    event = replace(build_event(key="b/1.json"), event_name=RETRACT_EVENT)
    batch = take_batch(page_of([build_stored(event)]), scope(), Limits(10, 1000))
    assert [stored.event.key for stored in batch.events] == ["b/1.json"]


def test_other_buckets_are_never_read():
    batch = take_batch(page_of(stored(2, bucket="theirs")), scope(), Limits(10, 1000))
    assert (batch.events, batch.foreign, batch.end) == ((), {"theirs": 2}, END)


def test_keys_are_relative_to_the_sources_prefix():
    event = build_stored(build_event(key="in/a/1.json"))
    assert len(take_batch(page_of([event]), scope(prefix="in/"), Limits(10, 1000)).events) == 1
    assert take_batch(page_of([event]), scope(prefix="out/"), Limits(10, 1000)).filtered == 1


def test_filtered_events_move_the_checkpoint():
    batch = take_batch(page_of(stored(3)), scope(path="b/*.json"), Limits(1, 1000))
    assert (batch.filtered, batch.end, batch.more) == (3, END, False)
