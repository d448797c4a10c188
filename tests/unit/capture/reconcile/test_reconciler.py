"""One pass: what becomes an event, what is left alone, and where the next one goes on."""

import threading
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from headwater.capture.reconcile import (
    Listing,
    ReconcileOptions,
    ReconcilePass,
    Reconciler,
    ensure_first_pass,
)
from headwater.capture.reconcile.decision import choose_settled_before
from headwater.errors import LakeError, SourceUnavailableError
from headwater.observability.clock import ManualClock
from headwater.sources.lister import ListedObject
from headwater.sources.listing_diff import KnownState
from tests.fixtures.listing.reconcile import OLD, BreakingLister, MemoryEvents, MemoryPasses, build_object

NOW = datetime(2026, 6, 1, 12, tzinfo=timezone.utc)


class Bench:
    """A bucket, the tables, and passes over them."""

    def __init__(self, *objects: ListedObject, known: dict[str, str] | None = None) -> None:
        self.objects = list(objects)
        self.clock = ManualClock(NOW)
        states = {key: KnownState(key, etag, event_time=OLD) for key, etag in (known or {}).items()}
        self.events = MemoryEvents(states)
        self.passes = MemoryPasses()
        self.break_after: int | None = None
        self.stop = threading.Event()
        self.lister = BreakingLister([], None)

    def run(self, *, listing: dict[str, Any] | None = None, **options: Any) -> ReconcilePass:
        self.lister.objects, self.lister.break_after = self.objects, self.break_after
        place = Listing(self.lister, "landing", "", **(listing or {}))
        wanted = ReconcileOptions(**options)
        return Reconciler(place, self.events, self.passes, wanted, clock=self.clock).run(self.stop)


def build_many(count: int) -> list[ListedObject]:
    return [build_object(f"k{at:04d}") for at in range(count)]


def test_missing_changed_and_absent_objects_become_events() -> None:
    bench = Bench(
        build_object("changed", "e2"),
        build_object("missing"),
        build_object("same"),
        known={"changed": "e1", "same": "e1", "vanished": "e1"},
    )
    done = bench.run()
    assert bench.events.reported == [("created", "changed"), ("created", "missing"), ("removed", "vanished")]
    assert (done.listed, done.missing, done.changed, done.vanished, done.emitted) == (3, 1, 1, 1, 3)
    assert done.finished_at == NOW
    assert bench.run().differences == 0


def test_an_event_says_that_it_comes_from_a_listing_and_has_no_order() -> None:
    bench = Bench(build_object("a", "e9"), known={"b": "e1"})
    bench.run()
    listed, vanished = bench.events.appended
    assert (listed.source, listed.message_id, listed.received_at) == ("listing", "", NOW)
    assert (listed.event.sequencer, listed.event.order_key) == (f"{NOW:%Y-%m-%dT%H:%M:%S.%fZ}", None)
    assert (listed.event.event_name, listed.event.event_time) == ("headwater:ListedObject", OLD)
    assert (listed.event.provider, listed.event.size, listed.event.etag) == ("s3", 10, "e9")
    assert (vanished.event.event_name, vanished.event.event_time) == ("headwater:VanishedObject", NOW)
    assert (vanished.event.order_key, vanished.event.size, vanished.event.etag) == (None, None, None)


@pytest.mark.parametrize("settle_seconds", [60, 0])
def test_young_objects_are_left_to_their_notifications(settle_seconds: int) -> None:
    young = NOW - timedelta(seconds=30)
    bench = Bench(build_object("missing", last_modified=young), build_object("old"))
    bench.events.known["vanished"] = KnownState("vanished", "e1", event_time=young)
    done = bench.run(settle=timedelta(seconds=settle_seconds))
    if settle_seconds:
        assert bench.events.reported == [("created", "old")]
        assert (done.unsettled, done.differences) == (2, 1)
    else:
        assert len(bench.events.reported) == 3


def test_objects_whose_notifications_may_wait_in_the_queue_are_left_to_them() -> None:
    twenty_minutes, hour = NOW - timedelta(minutes=20), NOW - timedelta(hours=1)
    bench = Bench(
        build_object("queued", last_modified=twenty_minutes), build_object("lost", last_modified=hour)
    )
    bench.events.known["removed"] = KnownState("removed", "e1", event_time=twenty_minutes)
    done = bench.run(settle=timedelta(seconds=60), captured_until=NOW - timedelta(minutes=30))
    assert bench.events.reported == [("created", "lost")]
    assert (done.unsettled, done.differences) == (2, 1)
    # The moment of the pass is what it was: events of a listing are ordered by it.
    assert done.started_at == NOW


@pytest.mark.parametrize(
    ("captured_until", "settled_before"),
    [
        (None, NOW - timedelta(seconds=60)),
        (NOW + timedelta(seconds=5), NOW - timedelta(seconds=60)),
        (NOW - timedelta(minutes=30), NOW - timedelta(minutes=31)),
    ],
)
def test_a_state_is_judged_when_its_notification_must_have_been_captured(
    captured_until: datetime | None, settled_before: datetime
) -> None:
    assert choose_settled_before(NOW, timedelta(seconds=60), captured_until) == settled_before


def test_without_a_settle_age_even_an_object_of_this_moment_counts() -> None:
    bench = Bench(build_object("new", last_modified=NOW + timedelta(seconds=5)))
    assert bench.run(settle=None).missing == 1


def test_existing_objects_are_excluded_when_configured() -> None:
    bench = Bench(build_object("existing"), build_object("changed", "e2"), known={"changed": "e1"})
    ensure_first_pass(Listing(bench.lister, "landing", ""), bench.passes, NOW)
    bench.clock.advance(3600)
    bench.objects.append(build_object("lost", last_modified=NOW + timedelta(seconds=1)))
    done = bench.run(include_existing=False)
    assert bench.events.reported == [("created", "changed"), ("created", "lost")]
    assert done.unsettled == 0


def test_events_are_committed_in_batches() -> None:
    bench = Bench(*build_many(25))
    bench.run(max_batch_events=10)
    assert bench.events.batches == [10, 10, 5]


def test_a_pass_without_differences_commits_nothing_but_itself() -> None:
    bench = Bench(*build_many(25), known={f"k{at:04d}": "e1" for at in range(25)})
    bench.run(checkpoint_objects=100)
    assert bench.events.batches == []
    assert len(bench.passes.saved) == 1


def test_the_cursor_is_saved_after_the_events_of_its_objects() -> None:
    bench = Bench(*build_many(30))
    bench.run(checkpoint_objects=10)
    assert [done.cursor for done in bench.passes.saved] == ["k0009", "k0019", "k0029", "k0029"]
    assert [done.emitted for done in bench.passes.saved] == [10, 20, 30, 30]
    assert [done.finished_at is None for done in bench.passes.saved] == [True, True, True, False]


def test_interrupted_listing_keeps_its_events_and_the_next_pass_resumes() -> None:
    bench = Bench(*build_many(30), known={"k9": "e1", "k00005-gone": "e1"})
    bench.break_after = 15
    with pytest.raises(SourceUnavailableError):
        bench.run()
    # The object shown last is not decided: it could be shown again.
    assert bench.passes.saved[-1].cursor == "k0013"
    assert ("removed", "k9") not in bench.events.reported
    bench.break_after = None
    bench.clock.advance(3600)
    done = bench.run()
    assert done.pass_id == bench.passes.saved[0].pass_id
    assert done.started_at == NOW
    assert (done.listed, done.missing, done.vanished, done.emitted) == (30, 30, 2, 32)
    assert len(bench.events.reported) == len(set(bench.events.reported)) == 32


def test_a_pass_resumed_on_another_day_emits_nothing_twice() -> None:
    bench = Bench(*build_many(3))
    bench.clock.advance(11.9 * 3600)
    bench.break_after = 2
    with pytest.raises(SourceUnavailableError):
        bench.run()
    bench.break_after = None
    bench.events.known.clear()  # as if the commit had not been seen
    bench.passes.saved[-1] = ReconcilePass("p", "landing", "", "listing", bench.passes.saved[-1].started_at)
    bench.clock.advance(3600)
    assert bench.run().emitted == 2
    assert len(bench.events.reported) == 3


def test_unfinished_pass_of_yesterday_is_restarted() -> None:
    bench = Bench(*build_many(30))
    bench.break_after = 15
    with pytest.raises(SourceUnavailableError):
        bench.run()
    bench.break_after = None
    bench.clock.advance(24 * 3600)
    done = bench.run()
    assert done.pass_id != bench.passes.saved[0].pass_id
    assert done.listed == 30


def test_a_commit_that_fails_leaves_the_cursor_where_it_was() -> None:
    bench = Bench(*build_many(30))
    bench.events.failures = []

    def fail_later(listed: ListedObject) -> None:
        if listed.key == "k0015":
            bench.events.failures = [LakeError("disk full")]

    bench.lister.on_object = fail_later
    with pytest.raises(LakeError):
        bench.run(checkpoint_objects=10)
    assert bench.passes.saved[-1].cursor == "k0009"
    bench.lister.on_object = lambda _listed: None
    assert bench.run().listed == 30
    assert len(bench.events.reported) == len(set(bench.events.reported)) == 30


def test_stopped_pass_resumes_later() -> None:
    bench = Bench(*build_many(30), known={"z": "e1"})
    bench.lister.on_object = lambda listed: bench.stop.set() if listed.key == "k0009" else None
    stopped = bench.run()
    assert stopped.finished_at is None
    assert stopped.cursor == "k0008"
    bench.stop.clear()
    bench.lister.on_object = lambda _listed: None
    done = bench.run()
    assert (done.listed, done.vanished) == (30, 1)
    assert len(bench.events.reported) == 31


def test_a_dry_run_counts_and_writes_nothing() -> None:
    bench = Bench(build_object("a"), known={"b": "e1"})
    done = bench.run(dry_run=True, checkpoint_objects=1)
    assert (done.missing, done.vanished, done.emitted) == (1, 1, 0)
    assert (bench.events.appended, bench.passes.saved) == ([], [])


def test_object_missing_from_an_inventory_is_confirmed_with_the_bucket() -> None:
    bench = Bench(known={"gone": "e1", "outside": "e1"})
    as_of = NOW - timedelta(days=2)
    bench.events.known["after"] = KnownState("after", "e1", event_time=NOW - timedelta(days=1))
    asked = []

    def is_absent(key: str) -> bool:
        asked.append(key)
        return key == "gone"

    done = bench.run(listing={"name": "s3://m/manifest.json", "as_of": as_of, "is_absent": is_absent})
    assert bench.events.reported == [("removed", "gone")]
    assert bench.events.appended[0].event.event_time == as_of
    assert asked == ["gone", "outside"]
    assert done.unsettled == 2


def test_listing_does_not_resume_an_inventory_pass() -> None:
    bench = Bench(*build_many(5))
    bench.break_after = 3
    with pytest.raises(SourceUnavailableError):
        bench.run(listing={"name": "s3://m/manifest.json"})
    bench.break_after = None
    assert bench.run().listed == 5
