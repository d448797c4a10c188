"""`StoredEvent`: an event as a consumer reads it from the events table. Pure."""

from dataclasses import dataclass
from datetime import datetime

from headwater.capture.object_event import ObjectEvent
from headwater.capture.position import Position


@dataclass(frozen=True, slots=True)
class StoredEvent:
    """`position` is behind this event and before the next; `event.raw` is empty when read from disk."""

    event_id: str
    event: ObjectEvent
    received_at: datetime
    source: str
    position: Position
