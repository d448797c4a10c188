"""The object under a key according to its events: cases that tests of complete tables do not show."""

from dataclasses import replace
from datetime import timedelta

import pytest

from headwater.capture.reconcile.newest_state import TableObservation, fold_known, is_certain_removal
from headwater.sources.lister import ListedObject
from headwater.sources.listing_diff import Comparison
from tests.fixtures.events import START, build_event, build_stored


@pytest.mark.parametrize(
    ("version", "name", "certain"),
    [
        (None, "ObjectRemoved:Delete", True),
        ("null", "ObjectRemoved:Delete", True),
        ("v1", "ObjectRemoved:Delete", False),
        ("v1", "ObjectRemoved:DeleteMarkerCreated", True),
        ("v1", "LifecycleExpiration:DeleteMarkerCreated", True),
    ],
)
def test_a_delete_marker_hides_all_versions(version: str | None, name: str, *, certain: bool) -> None:
    event = replace(build_event(kind="removed", version_id=version), event_name=name)
    assert is_certain_removal(event) is certain
    assert not is_certain_removal(build_event(version_id=version))


@pytest.mark.parametrize(
    ("etag", "seconds", "verdict"),
    [
        ("e2", 4, "same"),
        ("e1", 5, "same"),
        ("e1-digest", 5, "same"),
        ("e2", 5, "missing"),
        ("", 6, "missing"),
    ],
)
def test_table_that_read_another_content_after_the_listing_makes_it_uncertain(
    etag: str, seconds: float, verdict: str
) -> None:
    # All events of the other content may be lost, that of its deletion too.
    event = replace(build_event(etag="e1"), sequencer=None, order_key=None)
    listed = replace(build_stored(event), source="listing", received_at=START + timedelta(seconds=5))
    observation = TableObservation(event.event_time, etag, START + timedelta(seconds=seconds))
    (known,) = fold_known([listed], "landing", {event.key: [observation]})
    found = ListedObject(event.key, event.size or 0, "e1", None, event.event_time)
    assert Comparison(event.key, found, known).verdict == verdict
    assert Comparison(event.key, None, known).verdict == "vanished"


@pytest.mark.parametrize(
    ("etag", "processed", "read_after", "verdict"),
    [
        ("e1", 0, 9, "same"),
        ("e1-digest", 0, 9, "same"),
        ("e2", 0, 9, "missing"),
        ("", 0, 9, "missing"),
        # The table has not processed the event, or has given the object up.
        ("e2", -1, 9, "same"),
        ("", 0, None, "same"),
    ],
)
def test_table_that_read_another_content_after_the_notification_makes_it_uncertain(
    etag: str, processed: float, read_after: float | None, verdict: str
) -> None:
    # A version that the table found ahead of its event may be deleted; both events may be lost.
    event = build_event(etag="e1")
    read = None if read_after is None else event.event_time + timedelta(seconds=read_after)
    observation = TableObservation(event.event_time + timedelta(seconds=processed), etag, read)
    (known,) = fold_known([build_stored(event)], "landing", {event.key: [observation]})
    found = ListedObject(event.key, event.size or 0, "e1", None, event.event_time)
    assert Comparison(event.key, found, known).verdict == verdict
    assert Comparison(event.key, None, known).verdict == "vanished"


def test_object_that_a_table_found_absent_after_its_removal_is_not_reported_again() -> None:
    removal = build_event("k", 2, "removed")
    absent = TableObservation(removal.event_time + timedelta(seconds=5), "", removal.event_time)
    events = [build_stored(build_event("k", 1)), build_stored(removal)]
    assert fold_known(events, "landing", {"k": [absent]}) == []


def test_object_that_only_a_request_had_a_table_read_is_compared() -> None:
    (known,) = fold_known([], "landing", {"k": [TableObservation(START, "e1", START)]})
    assert Comparison("k", None, known).verdict == "vanished"
    found = ListedObject("k", 1, "e1", None, START)
    assert Comparison("k", found, known).verdict == "missing"


def test_a_version_that_is_deleted_before_an_older_one_does_not_exist() -> None:
    events = [
        build_event("k", 1, version_id="v1"),
        build_event("k", 2, version_id="v2"),
        build_event("k", 3, "removed", version_id="v2"),
        build_event("k", 4, "removed", version_id="v1"),
    ]
    assert fold_known([build_stored(event) for event in events], "landing", {}) == []
