"""The order of the events of one object. Pure.

The store numbers its events (`order_key`). What a listing has shown has no number: it lay there when the
listing began or came later, so it follows the events that are older than that.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TypeVar

from headwater.capture.object_event import ObjectEvent
from headwater.capture.own_events import CLEANED_EVENT, TAGGED_EVENT
from headwater.capture.stored_event import StoredEvent

SortKey = tuple[str, str, str]

_T = TypeVar("_T")


def sort_key(stored: StoredEvent) -> SortKey:
    """Of the events that the store sent: order key first, event time where there is none."""
    event = stored.event
    return (event.order_key or "", event.event_time.isoformat(), stored.event_id)


def is_from_listing(stored: StoredEvent) -> bool:
    """Whether the event was made from a listing: it has no place in the order of the object's events."""
    return stored.source == "listing" and not stored.event.order_key


def is_cleaning(event: ObjectEvent) -> bool:
    """Whether the event says that `clean_source` is done with the object, or about to be."""
    return event.event_name in (CLEANED_EVENT, TAGGED_EVENT)


def order_events(found: Iterable[_T], stored: Callable[[_T], StoredEvent]) -> list[_T]:
    """What belongs to the events of one object, `stored` of each, in their order.

    That an object is being cleaned comes first: what is put meanwhile is not what was cleaned.
    """
    found = list(found)
    if len(found) < 2:
        return found
    told: list[_T] = []
    listed: list[_T] = []
    for one in found:
        is_listed = is_from_listing(stored(one)) and not is_cleaning(stored(one).event)
        (listed if is_listed else told).append(one)
    told.sort(key=lambda one: sort_key(stored(one)))
    if not listed:
        return told
    listed.sort(key=lambda one: (stored(one).received_at, sort_key(stored(one))))
    ordered: list[_T] = []
    for one in listed:
        older = _count_older([stored(other) for other in told], stored(one).received_at)
        ordered += [*told[:older], one]
        del told[:older]
    return ordered + told


def _count_older(told: list[StoredEvent], moment: datetime) -> int:
    """Up to the last one that is not younger."""
    return max((at for at, one in enumerate(told, 1) if one.event.event_time <= moment), default=0)
