"""`StoredEvent` and `EventPage`: events as a consumer reads them from the events table. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from headwater.capture.position import Position
from headwater.sources.object_event import ObjectEvent


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """`position` is after this event and before the next; `event.raw` is empty when read from disk."""

    event_id: str
    event: ObjectEvent
    received_at: datetime
    source: str
    position: Position


@dataclass(frozen=True, slots=True)
class EventPage:
    """Events in order of offset; `end` is the start of the next page; `more` says whether there is one.

    The page of one table omits events of other tables: so many are `omitted`.
    """

    events: tuple[StoredEvent, ...]
    end: Position
    more: bool
    omitted: int = 0


def build_page(events: Iterable[StoredEvent], position: Position, end: Position, *, more: bool) -> EventPage:
    """Build the page of the events after the offset."""
    return EventPage(tuple(stored for stored in events if stored.position > position), end, more)
