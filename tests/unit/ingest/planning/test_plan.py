"""Where a batch begins and ends, and what belongs to it."""

from headwater.capture.position import Position
from headwater.config.table import TableConfig
from headwater.ingest.planning.fold import fold
from headwater.ingest.planning.plan import Limits, Scope, plan_batch
from headwater.ingest.planning.selection import build_selector
from tests.fixtures.events import build_event, build_stored

COMPLETED = "20260501000000000"
END = Position(COMPLETED)


def scope(prefix="", **table):
    return Scope("landing", prefix, build_selector(TableConfig(**{"path": "a/*.json", **table})))


def stored(count, **event):
    return [
        build_stored(build_event(key=f"a/{n}.json", sequence=n, **event), n, COMPLETED) for n in range(count)
    ]


def test_batch_that_takes_everything_ends_at_the_page():
    plan = plan_batch(stored(3), END, scope(), Limits(10, 1000), fold)
    assert (len(plan.choose("read")), plan.end, plan.more) == (3, END, False)


def test_limit_of_files_ends_inside_the_commit_and_the_next_batch_resumes_there():
    events = stored(5)
    first = plan_batch(events, END, scope(), Limits(2, 1000), fold)
    assert first.end == Position(COMPLETED, 1)
    assert first.more
    rest = [event for event in events if event.position > first.end]
    second = plan_batch(rest, END, scope(), Limits(10, 1000), fold)
    read = [sorted(d.stored.event.key for d in plan.choose("read")) for plan in (first, second)]
    assert read == [["a/0.json", "a/1.json"], ["a/2.json", "a/3.json", "a/4.json"]]


def test_limit_of_bytes_counts_sizes():
    plan = plan_batch(stored(5, size=100), END, scope(), Limits(10, 250), fold)
    assert len(plan.choose("read")) == 2


def test_first_object_is_taken_however_big():
    plan = plan_batch(stored(2, size=10_000), END, scope(), Limits(10, 1), fold)
    assert len(plan.choose("read")) == 1


def test_other_buckets_are_never_read():
    plan = plan_batch(stored(2, bucket="theirs"), END, scope(), Limits(10, 1000), fold)
    assert (plan.choose("read"), plan.foreign, plan.end) == ((), {"theirs": 2}, END)


def test_keys_are_relative_to_the_sources_prefix():
    event = build_stored(build_event(key="in/a/1.json"))
    assert len(plan_batch([event], END, scope(prefix="in/"), Limits(10, 1000), fold).choose("read")) == 1
    assert plan_batch([event], END, scope(prefix="out/"), Limits(10, 1000), fold).filtered == 1


def test_filtered_events_move_the_checkpoint():
    plan = plan_batch(stored(3), END, scope(path="b/*.json"), Limits(1, 1000), fold)
    assert (plan.filtered, plan.end, plan.more) == (3, END, False)
