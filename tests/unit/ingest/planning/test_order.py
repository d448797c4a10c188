"""The order of one object's events, and which of them a mirror still looks at."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from headwater.capture.stored_event import StoredEvent
from headwater.ingest.planning.decision import is_certain_removal
from headwater.ingest.planning.ledger_entry import LedgerEntry
from headwater.ingest.planning.mirror import decide_mirrored
from headwater.ingest.planning.order import order_events
from tests.fixtures.events import START, build_event, build_stored


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def list_at(seconds: float) -> StoredEvent:
    """What a listing that began then has shown."""
    event = replace(build_event(sequence=0, etag="listed"), sequencer=f"{seconds}", order_key=None)
    return replace(build_stored(event), source="listing", received_at=at(seconds))


def test_sent_events_are_in_the_order_of_their_sequencers() -> None:
    events = [build_stored(build_event(sequence=sequence)) for sequence in (3, 1, 2)]
    ordered = order_events(events, lambda stored: stored)
    assert [stored.event.sequencer for stored in ordered] == sorted(
        stored.event.sequencer or "" for stored in events
    )


@pytest.mark.parametrize(("seconds", "place"), [(0.5, 0), (1, 1), (1.5, 1), (9, 2)])
def test_a_listing_follows_the_events_that_are_older(seconds: float, place: int) -> None:
    events = [build_stored(build_event(sequence=sequence)) for sequence in (1, 2)]
    listed = list_at(seconds)
    ordered = order_events([listed, *events], lambda stored: stored)
    assert ordered.index(listed) == place


def test_a_mirror_does_not_look_for_an_event_that_is_older_than_what_it_has() -> None:
    newest, late = build_stored(build_event(sequence=5)), build_stored(build_event(sequence=4))
    prior = LedgerEntry(
        newest.event.object_id,
        "s3",
        "landing",
        newest.event.key,
        version=newest.event.version,
        etag=newest.event.etag or "",
        order_key=newest.event.order_key or "",
        event_time=newest.event.event_time,
        event_id=newest.event_id,
        status="ingested",
    )
    for stored in (late, newest):
        (decision,) = decide_mirrored([stored], prior)
        assert decision.action == "skip"
    (decision,) = decide_mirrored([build_stored(build_event(sequence=6))], prior)
    assert decision.action == "read"


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
