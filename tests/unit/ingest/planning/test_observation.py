"""What an event says of its object, and the order of the events of one object."""

from dataclasses import replace
from datetime import datetime, timedelta

from headwater.capture.control_events import CLEANED_EVENT
from headwater.capture.stored_event import StoredEvent
from headwater.ingest.planning.observation import order_events
from tests.fixtures.events import START, build_event, build_stored


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def list_at(seconds: float, name: str = "headwater:ListedObject") -> StoredEvent:
    """What a listing that began then has shown."""
    event = replace(build_event(sequence=0, etag="listed"), sequencer=f"{seconds}", order_key=None)
    return replace(build_stored(replace(event, event_name=name)), source="listing", received_at=at(seconds))


def test_sent_events_are_in_the_order_of_their_sequencers() -> None:
    events = [build_stored(build_event(sequence=sequence)) for sequence in (3, 1, 2)]
    ordered = order_events(events, lambda stored: stored)
    assert [stored.event.sequencer for stored in ordered] == sorted(
        stored.event.sequencer or "" for stored in events
    )


def test_listings_follow_what_was_sent_and_announcements_of_a_cleaning_come_first() -> None:
    sent = [build_stored(build_event(sequence=sequence)) for sequence in (1, 2)]
    early, late, mark = list_at(0.5), list_at(9), list_at(9, CLEANED_EVENT)
    ordered = order_events([late, mark, *reversed(sent), early], lambda stored: stored)
    assert ordered == [mark, *sent, early, late]
