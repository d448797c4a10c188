"""An event's statement about its object, and the order of the events of one object. Pure.

The store numbers its events (`order_key`): the greater one is newer. An event from a listing has no number.
It is a reason to read the object, and its offset decides nothing.
"""

from collections.abc import Callable, Iterable
from typing import TypeVar

from headwater.capture.control_events import (
    CLEANED_EVENT,
    DROP_EVENT,
    REPAIR_EVENT,
    REQUESTS,
    RETRACT_EVENT,
    TAGGED_EVENT,
)
from headwater.capture.stored_event import StoredEvent
from headwater.sources.object_event import ObjectEvent

SortKey = tuple[str, str, str]

CONTENT_KINDS = frozenset({"created", "removed", "restored"})
"""Kinds of events that may change the content under the key."""

_T = TypeVar("_T")


def sort_key(stored: StoredEvent) -> SortKey:
    """Return the order of events that the store sent: by order key, or by event time without one."""
    event = stored.event
    return (event.order_key or "", event.event_time.isoformat(), stored.event_id)


def is_from_listing(stored: StoredEvent) -> bool:
    """True if a listing or headwater itself made the event, so that the store gave it no order."""
    return stored.source == "listing" and not stored.event.order_key


def is_sent(stored: StoredEvent) -> bool:
    """True if the store sent the event and it is about content."""
    return stored.event.kind in CONTENT_KINDS and not is_from_listing(stored)


def is_cleaning(event: ObjectEvent) -> bool:
    """True if the event announces that `clean_source` removes the object, or has tagged it."""
    return event.event_name in (CLEANED_EVENT, TAGGED_EVENT)


def is_repair(event: ObjectEvent) -> bool:
    """True if the event requests to read the object again and to replace the rows of its content."""
    return event.event_name == REPAIR_EVENT


def is_request(event: ObjectEvent) -> bool:
    """True if the event only requests a read, and says nothing about the object under the key."""
    return event.event_name in REQUESTS


def names_version(event: ObjectEvent) -> bool:
    """True if the event requests one version of the object, whatever the current one is."""
    return is_request(event) and bool(event.version_id)


def is_drop(event: ObjectEvent) -> bool:
    """True if the event gives up an object that is in quarantine."""
    return event.event_name == DROP_EVENT


def is_retract(event: ObjectEvent) -> bool:
    """True if the event is for tables whose rules exclude the object now."""
    return event.event_name == RETRACT_EVENT


def order_events(found: Iterable[_T], stored: Callable[[_T], StoredEvent]) -> list[_T]:
    """Return items about one object in a fixed order; `stored` gives the event of an item.

    Announcements of a cleaning come first: a put during a cleaning is not the cleaned content. Contents that
    a listing or a request found by reading come last: they were read after the others were sent.
    """

    def to_order_key(one: _T) -> tuple[bool, str, SortKey]:
        event = stored(one)
        is_late = is_from_listing(event) and not is_cleaning(event.event)
        return (is_late, event.received_at.isoformat() if is_late else "", sort_key(event))

    return sorted(found, key=to_order_key)
