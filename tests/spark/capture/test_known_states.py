"""What the events table says lies in a bucket, and the reconciles kept beside it, on real tables."""

import random
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from pyspark.sql import DataFrame, SparkSession

from headwater.capture.captured_event import CapturedEvent
from headwater.capture.control_events import (
    CLEANED_EVENT,
    DROP_EVENT,
    REPAIR_EVENT,
    TAGGED_EVENT,
    build_control_event,
    with_content,
)
from headwater.capture.events_table import EventsTable
from headwater.capture.position import BEGINNING
from headwater.capture.reconcile import Listing, ReconcileOptions, ReconcilePass, Reconciler, known_states
from headwater.capture.reconcile.known_states import KnownStates
from headwater.capture.reconcile.newest_state import TableObservation, fold_known
from headwater.capture.reconcile.pass_reader import read_last_pass
from headwater.capture.reconcile.pass_table import PassTable
from headwater.errors import SourceUnavailableError
from headwater.lake.layout import events_path, reconciles_path
from headwater.observability.clock import ManualClock
from headwater.sources.listing_diff import KnownState
from headwater.sources.memory.lister import MemoryLister
from headwater.sources.object_event import EventKind, ObjectEvent
from tests.fixtures.events import START, build_event
from tests.fixtures.listing.reconcile import BreakingLister, build_object


@pytest.fixture
def events(spark: SparkSession, lake: str) -> EventsTable:
    return EventsTable(spark, events_path(lake))


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def notify(*events: ObjectEvent) -> list[CapturedEvent]:
    return [CapturedEvent(event, event.event_time, f"m{n}") for n, event in enumerate(events)]


def find_listed(key: str, etag: str | None, when: float, *, removed: bool = False) -> CapturedEvent:
    """An event that a listing begun at `when` gave rise to."""
    event = build_event(key, 0, "removed" if removed else "created", etag=etag)
    event = replace(event, sequencer=None, order_key=None, event_time=START)
    return CapturedEvent(event, at(when), "", source="listing")


def read_known(events: EventsTable, prefix: str = "", start_after: str = "") -> dict[str, str | None]:
    return {state.key: state.etag for state in KnownStates(events).iter_known("landing", prefix, start_after)}


def test_no_table_knows_nothing(events: EventsTable) -> None:
    assert read_known(events) == {}


def test_newest_event_of_an_object_determines_its_state(events: EventsTable) -> None:
    events.append(
        notify(
            build_event("put", 1),
            build_event("put-twice", 3),
            build_event("put-twice", 2),  # late
            build_event("removed", 1),
            build_event("removed", 2, "removed"),
            build_event("put-again", 2, "removed"),
            build_event("put-again", 3),
            build_event("restored", 1, "restored", etag="e"),
            build_event("tagged", 1),
            build_event("tagged", 2, "tagged"),
            build_event("only-tagged", 2, "tagged"),
            build_event("elsewhere", 1, bucket="other"),
        )
    )
    assert read_known(events) == {
        "put": "etag-put-1",
        "put-twice": "etag-put-twice-3",
        "put-again": "etag-put-again-3",
        "restored": "e",
        "tagged": "etag-tagged-1",
    }
    (state,) = KnownStates(events).iter_known("landing", "put-t")
    assert state == KnownState("put-twice", "etag-put-twice-3", None, 10, at(3))


def test_events_without_a_sequencer_are_ordered_by_their_time(events: EventsTable) -> None:
    bare = [replace(build_event("k", n, etag=f"e{n}"), sequencer=None, order_key=None) for n in (3, 5, 4)]
    events.append(notify(*bare))
    assert read_known(events) == {"k": "e5"}


def test_listed_state_counts_until_a_newer_event(events: EventsTable) -> None:
    lost, gone, later, never = "overwrite-lost", "removal-lost", "event-later", "never-told"
    events.append(notify(*(build_event(key, 1) for key in (lost, gone, later))))
    events.append(
        [
            find_listed(lost, "listed", 10),
            find_listed(gone, None, 10, removed=True),
            find_listed(later, "listed", 10),
            find_listed(never, "listed", 10),
        ]
    )
    events.append(notify(build_event(later, 11)))
    expected = {lost: "listed", later: f"etag-{later}-11", never: "listed"}
    assert read_known(events) == expected
    events.append([find_listed(never, "listed again", 20)])
    assert read_known(events) == expected | {never: "listed again"}


def test_retry_and_skip_requests_do_not_change_the_state(events: EventsTable) -> None:
    events.append(notify(build_event("asked", 1), build_event("dropped", 1)))
    requests = [
        build_control_event(REPAIR_EVENT, "s3", "landing", "asked", at(50)),
        build_control_event(REPAIR_EVENT, "s3", "landing", "never-told", at(50)),
        with_content(build_control_event(DROP_EVENT, "s3", "landing", "dropped", at(50)), "created", "e9"),
    ]
    events.append(requests)
    assert read_known(events) == {"asked": "etag-asked-1", "dropped": "etag-dropped-1"}


def test_the_removal_of_an_old_version_leaves_the_object(events: EventsTable) -> None:
    events.append(
        notify(
            build_event("old-version", 1, version_id="v1"),
            build_event("old-version", 2, version_id="v2", etag="e2"),
            build_event("old-version", 3, "removed", version_id="v1"),
            build_event("both-versions", 1, version_id="v1"),
            build_event("both-versions", 2, version_id="v2"),
            build_event("both-versions", 3, "removed", version_id="v2"),
            build_event("both-versions", 4, "removed", version_id="v1"),
            build_event("this-version", 1, version_id="v1"),
            build_event("this-version", 2, "removed", version_id="v1"),
            replace(
                build_event("marker", 2, "removed", version_id="m"),
                event_name="ObjectRemoved:DeleteMarkerCreated",
            ),
            build_event("marker", 1, version_id="v1"),
            build_event("told-by-event-bus", 1, version_id="v1", etag="e1"),
            replace(
                build_event("told-by-event-bus", 2, "removed", version_id="v0"), event_name="Object Deleted"
            ),
        )
    )
    assert read_known(events) == {"old-version": "e2", "told-by-event-bus": "e1"}


def test_keys_come_in_the_order_of_their_bytes_whatever_is_in_them(
    events: EventsTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(known_states, "_ROWS_A_PARTITION", 40)
    keys = ["a", "a/", "a.b", "A", "é", "😀", "\ufb00", "%41", " ", "a%", "~", "日本"]
    keys += [f"part-{n:04d}" for n in range(300)]
    random.Random(3).shuffle(keys)
    events.append(notify(*(build_event(key) for key in keys)))
    ordered = sorted(keys, key=lambda key: key.encode())
    assert list(read_known(events)) == ordered
    assert list(read_known(events, start_after="part-0100")) == [k for k in ordered if k > "part-0100"]
    assert list(read_known(events, "part-029", "part-0295")) == [f"part-{n:04d}" for n in range(296, 300)]


def build_random_events(dice: random.Random, key: str) -> list[CapturedEvent]:
    """Some events of one object, of every source, with few versions and contents, each at its own moment."""
    found = []
    for second in dice.sample(range(1, 8), dice.randint(1, 7)):
        etag, version = dice.choice("abc"), dice.choice((None, "null", "v1", "v2"))
        kind: EventKind = dice.choice(("created", "created", "removed", "restored", "tagged"))
        source = dice.choice(("sent", "sent", "sent", "listing", "wish", "cleaning"))
        if source == "listing":
            found.append(find_listed(key, etag, second + 0.5, removed=kind == "removed"))
        elif source == "sent":
            event = build_event(key, second, kind, etag=etag, version_id=version)
            if kind == "removed" and dice.random() < 0.3:
                event = replace(event, event_name="ObjectRemoved:DeleteMarkerCreated")
            found += notify(event)
        else:
            names = (REPAIR_EVENT, DROP_EVENT) if source == "wish" else (CLEANED_EVENT, TAGGED_EVENT)
            control = build_control_event(dice.choice(names), "s3", "landing", key, at(second))
            found.append(with_content(control, "created" if source == "wish" else "other", etag))
    return found


def test_spark_finds_the_newest_states_that_the_rule_for_one_object_gives(
    spark: SparkSession, events: EventsTable
) -> None:
    dice = random.Random(20261124)
    keys = [f"k{at:03d}" for at in range(400)]
    events.append([captured for key in keys for captured in build_random_events(dice, key)])
    tables = [
        {
            key: TableObservation(
                at(dice.randint(1, 8)),
                dice.choice(("", "a", "b", "c", "a-digest")),
                dice.choice((None, at(dice.randint(1, 9)))),
            )
            for key in [*keys, "only requested"]
            if dice.random() < 0.5 or key == "only requested"
        }
        for _ in range(2)
    ]
    stored = events.read_after(BEGINNING, 10_000).events
    seen = {key: [table[key] for table in tables if key in table] for key in [*keys, "only requested"]}
    wanted = fold_known(stored, "landing", seen)
    found = list(KnownStates(events, [SeenTable(spark, table) for table in tables]).iter_known("landing"))
    assert found == wanted
    kinds = Counter((state.may_be_deleted, state.is_unheard) for state in wanted)
    contradicted = sum(state.is_unheard and state.etag is not None for state in wanted)
    rarest = min(contradicted, kinds[False, False], kinds[True, False], kinds[False, True])
    assert rarest > 5, "each kind was tried"


def test_passes_are_read_back_as_they_were_by_spark_and_without(spark: SparkSession, lake: str) -> None:
    table = PassTable(spark, reconciles_path(lake))
    assert table.list_passes("landing", "") == []
    assert read_last_pass(reconciles_path(lake), "landing", "") is None
    begun = ReconcilePass("p1", "landing", "a/", "listing", at(1.000001), cursor="a/é\n😀", listed=5)
    table.save(begun)
    table.save(ReconcilePass("p2", "other", "a/", "listing", at(9)))
    assert table.list_passes("landing", "a/") == [begun]
    finished = replace(begun, finished_at=at(2), missing=2, emitted=2)
    table.save(finished)
    assert table.list_passes("landing", "a/") == [finished]
    assert read_last_pass(reconciles_path(lake), "landing", "a/") == finished


@pytest.mark.slow
def test_interrupted_reconcile_is_completed_by_the_next_process(spark: SparkSession, lake: str) -> None:
    clock = ManualClock(at(86_400))
    objects = [build_object(f"k{n:03d}") for n in range(60)]

    def run(lister: BreakingLister | MemoryLister) -> ReconcilePass:
        table = EventsTable(spark, events_path(lake))
        passes = PassTable(spark, reconciles_path(lake))
        options = ReconcileOptions(checkpoint_objects=20, max_batch_events=10)
        place = Listing(lister, "landing", "")
        return Reconciler(place, KnownStates(table), passes, options, clock=clock).run(_never())

    events = EventsTable(spark, events_path(lake))
    # 1 in 10 is known already, and two are known that are not there.
    events.append(notify(*(build_event(f"k{n:03d}", n + 1, etag="e1") for n in range(0, 60, 10))))
    events.append(notify(build_event("k005-gone", 99), build_event("z-gone", 98)))
    with pytest.raises(SourceUnavailableError):
        run(BreakingLister(objects, break_after=45))
    done = run(MemoryLister(objects))
    assert (done.listed, done.missing, done.vanished, done.emitted) == (60, 54, 2, 56)
    assert done.finished_at == clock.now()
    rows = events.read_snapshot()
    assert rows is not None
    assert rows.where("source = 'listing'").count() == 56
    assert rows.count() == rows.select("event_id").distinct().count() == 64
    again = run(MemoryLister(objects))
    assert (again.listed, again.differences, again.emitted) == (60, 0, 0)


def test_a_lost_overwrite_is_found_once_and_not_again_on_another_day(
    spark: SparkSession, lake: str, events: EventsTable
) -> None:
    events.append(notify(build_event("k", 1)))
    passes = PassTable(spark, reconciles_path(lake))
    clock = ManualClock(at(86_400))
    found = []
    for _ in _days(clock, 3):
        place = Listing(MemoryLister([build_object("k", "overwritten")]), "landing", "")
        options = ReconcileOptions()
        done = Reconciler(place, KnownStates(events), passes, options, clock=clock).run(_never())
        found.append((done.changed, done.emitted))
    assert found == [(1, 1), (0, 0), (0, 0)]


def _days(clock: ManualClock, count: int) -> Iterator[int]:
    for day in range(count):
        yield day
        clock.advance(86_400)


def _never() -> threading.Event:
    return threading.Event()


def test_cleaned_objects_may_be_deleted_but_newer_ones_not(events: EventsTable) -> None:
    def clean(key: str, etag: str, when: float) -> CapturedEvent:
        return with_content(build_control_event(CLEANED_EVENT, "s3", "landing", key, at(when)), "other", etag)

    events.append(
        [
            *notify(
                build_event("cleaned", 1, etag="e1"),
                build_event("removed", 1, etag="e1"),
                build_event("removed", 3, "removed"),
                build_event("other bytes", 1, etag="e1"),
                build_event("other bytes", 3, etag="e2"),
                build_event("same bytes", 1, etag="e1"),
                build_event("same bytes", 3, etag="e1"),
                build_event("never", 1, etag="e1"),
            ),
            *(clean(key, "e1", 2) for key in ("cleaned", "removed", "other bytes", "same bytes")),
        ]
    )
    found = {state.key: state.may_be_deleted for state in KnownStates(events).iter_known("landing")}
    assert found == {"cleaned": True, "other bytes": False, "same bytes": False, "never": False}


class SeenTable:
    """What a table has found, by key; a number is the time in seconds, of a content that was never read."""

    def __init__(self, spark: SparkSession, seen: Mapping[str, float | TableObservation]) -> None:
        self._spark = spark
        found = {
            key: one if isinstance(one, TableObservation) else TableObservation(at(one))
            for key, one in seen.items()
        }
        self._rows = [("landing", key, one.after, one.etag, one.read_after) for key, one in found.items()]

    def read_seen(self) -> DataFrame | None:
        rows = [*self._rows, ("other", "removed", at(99), "", at(99))]
        schema = "bucket string, key string, after timestamp, etag string, read_after timestamp"
        return self._spark.createDataFrame(rows, schema) if self._rows else None


def test_state_seen_by_a_table_after_the_newest_event_is_requested(
    spark: SparkSession, events: EventsTable
) -> None:
    keys = ("removed", "removed later", "vanished", "vanished later", "marker", "lies there")
    events.append(notify(*(build_event(key, 1) for key in keys)))
    events.append(
        [
            *notify(
                build_event("removed", 2, "removed"),
                build_event("removed later", 20, "removed"),
                build_event("marker", 2, "removed", version_id="v1"),
                build_event("lone removal", 2, "removed"),
            ),
            find_listed("vanished", None, 5, removed=True),
            find_listed("vanished later", None, 20, removed=True),
        ]
    )
    tables = [
        SeenTable(spark, dict.fromkeys([*keys, "lone removal", "only requested"], 5)),
        SeenTable(spark, {"removed": 3}),
        SeenTable(spark, {}),
    ]
    found = {state.key: state for state in KnownStates(events, tables).iter_known("landing")}
    assert {key for key, state in found.items() if state.is_unheard} == {
        "removed",
        "vanished",
        "lone removal",
        "only requested",
    }
    (first,) = KnownStates(events, tables).iter_known("landing", "o", "on")
    assert first == KnownState("only requested", None, is_unheard=True)
    assert not list(KnownStates(events, tables).iter_known("landing", "o", "only requested"))
    assert found["removed"] == KnownState("removed", None, is_unheard=True)
    # The removal of a version without an event of its own removes nothing.
    assert {key for key, state in found.items() if not state.is_unheard} == {"lies there", "marker"}
