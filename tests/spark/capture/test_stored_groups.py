"""A reconcile begins with the groups of old events, and finds what it would find in all of them."""

import random
import shutil
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from headwater.capture.captured_event import CapturedEvent
from headwater.capture.events_table import EventsTable
from headwater.capture.reconcile import stored_groups
from headwater.capture.reconcile.known_states import KnownStates
from headwater.capture.reconcile.newest_state import TableObservation
from headwater.capture.reconcile.stored_groups import StoredGroups
from headwater.lake.layout import event_groups_path, events_path
from headwater.sources.listing_diff import KnownState
from tests.fixtures.events import START, build_event
from tests.spark.capture.test_known_states import SeenTable, at, build_random_events, notify

TOMORROW = datetime.now(timezone.utc) + timedelta(days=1)
"""When all commits of a test are settled."""


@pytest.fixture
def events(spark: SparkSession, lake: str) -> EventsTable:
    return EventsTable(spark, events_path(lake))


@pytest.fixture
def groups(
    spark: SparkSession, lake: str, events: EventsTable, monkeypatch: pytest.MonkeyPatch
) -> StoredGroups:
    monkeypatch.setattr(stored_groups, "LEAST_EVENTS", 1)
    monkeypatch.setattr(stored_groups, "_LATE", timedelta(days=3650))
    return StoredGroups(spark, event_groups_path(lake), events)


def list_known(events: EventsTable, groups: StoredGroups | None, *tables: SeenTable) -> list[KnownState]:
    return list(KnownStates(events, tables, groups).iter_known("landing"))


def divide(dice: random.Random, captured: list[CapturedEvent], parts: int) -> Iterator[list[CapturedEvent]]:
    places = [dice.randrange(parts) for _ in captured]
    for part in range(parts):
        yield [one for one, place in zip(captured, places, strict=True) if place == part]


@pytest.mark.slow
def test_groups_of_any_events_and_the_rest_give_what_all_events_give(
    spark: SparkSession, lake: str, events: EventsTable, groups: StoredGroups
) -> None:
    dice = random.Random(20261126)
    keys = [f"k{number:03d}" for number in range(300)]
    captured = [one for key in keys for one in build_random_events(dice, key)]
    observed = {key: TableObservation(at(dice.randint(1, 8)), dice.choice("ab"), at(5)) for key in keys[::2]}
    table = SeenTable(spark, observed)
    for part in divide(dice, captured, 4):
        events.append(part)
        assert list_known(events, groups, table) == list_known(events, None, table)
        assert groups.refresh(TOMORROW)
        assert list_known(events, groups, table) == list_known(events, None, table)
        assert list_known(events, groups) == list_known(events, None)
    assert groups.load() is not None
    files = Path(event_groups_path(lake)).glob("*.parquet")
    # Those of the groups before the last ones have been deleted.
    assert len({file.name.rpartition("_")[2] for file in files}) <= 2
    # A reconcile resumes at a key, and may be about a part of the bucket.
    for prefix, start_after in (("k1", ""), ("", "k200")):
        expected = KnownStates(events).iter_known("landing", prefix, start_after)
        assert list(KnownStates(events, (), groups).iter_known("landing", prefix, start_after)) == [*expected]


def test_only_later_events_are_read(events: EventsTable, groups: StoredGroups) -> None:
    for key in ("a", "b"):
        events.append(notify(build_event(key, 1)))
    assert groups.refresh(TOMORROW)
    found = groups.load()
    assert found is not None
    assert found.rows == 2
    snapshot = events.read_snapshot()
    assert snapshot is not None
    assert snapshot.where(found.is_later).count() == 0
    (oldest, _) = sorted(
        Path(events.path).glob("event_day=*/*.parquet"), key=lambda file: file.stat().st_mtime
    )
    oldest.unlink()
    events.append(notify(build_event("c", 1)))
    assert [state.key for state in list_known(events, None)] == ["b", "c"]
    assert [state.key for state in list_known(events, groups)] == ["a", "b", "c"]


@pytest.mark.slow
def test_keys_are_sampled_with_and_without_groups(events: EventsTable, groups: StoredGroups) -> None:
    assert groups.sample_keys("landing", 1) == []
    events.append(notify(*(build_event(f"k{number:03d}", 1) for number in range(200))))
    events.append(notify(build_event("k000", 2), build_event("k000", 3, bucket="other")))
    sampled = groups.sample_keys("landing", 10)
    assert 5 <= len(set(sampled)) == len(sampled) <= 50
    assert sorted(groups.sample_keys("landing", 1)) == [f"k{number:03d}" for number in range(200)]
    assert groups.refresh(TOMORROW)
    assert sorted(groups.sample_keys("landing", 10)) == sorted(sampled)
    assert groups.sample_keys("other", 1) == ["k000"]


@pytest.mark.slow
def test_groups_are_written_if_it_pays_off(
    events: EventsTable, groups: StoredGroups, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not groups.refresh(TOMORROW)  # no events
    monkeypatch.setattr(stored_groups, "LEAST_EVENTS", 3)
    events.append(notify(build_event("a", 1), build_event("b", 1)))
    assert not groups.refresh(TOMORROW)
    assert groups.load() is None
    events.append(notify(*(build_event(f"k{number}", 1) for number in range(38))))
    # What was just committed may be joined by a commit that another process requested before.
    assert not groups.refresh(datetime.now(timezone.utc))
    assert groups.refresh(TOMORROW)
    events.append(notify(*(build_event(f"new-{number}", 1) for number in range(9))))
    assert not groups.refresh(TOMORROW)  # a quarter of 40
    events.append(notify(build_event("new-9", 1)))
    assert groups.refresh(TOMORROW)
    found = groups.load()
    assert found is not None
    assert found.rows == 50


@pytest.mark.slow
def test_an_unfinished_commit_is_not_covered(
    spark: SparkSession, events: EventsTable, groups: StoredGroups
) -> None:
    events.append(notify(build_event("a", 1)))
    timeline = Path(events.path) / ".hoodie" / "timeline"
    (requested,) = (file for file in timeline.glob("*.commit.requested"))
    # As if another process had requested it before the commit above.
    earlier = str(int(requested.name.partition(".")[0]) - 1)
    (timeline / f"{earlier}.commit.requested").write_bytes(b"")
    other = EventsTable(spark, events.path)
    assert other.find_settled(TOMORROW) < earlier
    assert not groups.refresh(TOMORROW)


@pytest.mark.slow
def test_removed_objects_leave_the_groups_after_a_while(
    events: EventsTable, groups: StoredGroups, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_groups, "_LATE", timedelta(days=35))
    events.append(
        notify(
            build_event("kept", 1),
            build_event("removed", 1),
            build_event("removed", 2, "removed"),
            build_event("version", 1, version_id="v1", etag="e1"),
            build_event("version", 2, "removed", version_id="v1"),
            build_event("version", 3, version_id="v2", etag="e2"),
        )
    )
    assert groups.refresh(TOMORROW)
    found = groups.load()
    assert found is not None
    assert sorted((row["key"], len(row["versions_removed"])) for row in found.groups.collect()) == [
        ("kept", 0),
        ("version", 0),
    ]
    assert list_known(events, groups) == list_known(events, None)
    # Its removal is forgotten: a reconcile asks the listing, and the tables look.
    events.append(notify(replace(build_event("removed", 1), version_id="late")))
    assert [state.key for state in list_known(events, groups)] == ["kept", "removed", "version"]


@pytest.mark.slow
def test_removed_objects_stay_while_their_events_may_still_arrive(
    events: EventsTable, groups: StoredGroups, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stored_groups, "_LATE", TOMORROW - START + timedelta(days=1))
    events.append(notify(build_event("removed", 2, "removed")))
    assert groups.refresh(TOMORROW)
    events.append(notify(build_event("removed", 1)))
    assert list_known(events, groups) == []


@pytest.mark.slow
def test_groups_of_another_events_table_are_not_used(
    spark: SparkSession, events: EventsTable, groups: StoredGroups
) -> None:
    events.append(notify(build_event("a", 1)))
    assert groups.refresh(TOMORROW)
    # The table was deleted, or is an older one out of a backup.
    shutil.rmtree(events.path)
    other = EventsTable(spark, events.path)
    other.append(notify(build_event("b", 1)))
    assert groups.load() is None
    assert [state.key for state in list_known(other, groups)] == ["b"]
    assert groups.refresh(TOMORROW)
    found = groups.load()
    assert found is not None
    assert [row["key"] for row in found.groups.collect()] == ["b"]


@pytest.mark.slow
def test_damaged_groups_are_built_again(
    lake: str, events: EventsTable, groups: StoredGroups, caplog: pytest.LogCaptureFixture
) -> None:
    events.append(notify(build_event("a", 1)))
    assert groups.refresh(TOMORROW)
    for file in Path(event_groups_path(lake)).glob("*.parquet"):
        file.write_bytes(b"damaged")
    assert [state.key for state in list_known(events, groups)] == ["a"]
    assert "reading all events instead" in caplog.text
    assert groups.refresh(TOMORROW)
    assert groups.load() is not None
    assert [state.key for state in list_known(events, groups)] == ["a"]
