"""`CapturedEvent`: an `ObjectEvent` with its delivery metadata; one row of the events table."""

from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property
from typing import Literal

from headwater.sources.object_event import ObjectEvent

EventSource = Literal["notification", "listing"]


@dataclass(frozen=True)
class CapturedEvent:
    """`received_at` is aware, UTC; `message_id` is the queue's, empty for events from a listing."""

    event: ObjectEvent
    received_at: datetime
    message_id: str
    source: EventSource = "notification"

    @property
    def moment(self) -> datetime:
        """Return the time that all deliveries of the event have, give or take seconds: duplicates are nearby.

        Events of a listing use the time of the listing, because object times spread over years.
        """
        return self.received_at if self.source == "listing" else self.event.event_time

    @cached_property
    def day(self) -> str:
        """Return the partition."""
        return self.moment.astimezone(timezone.utc).date().isoformat()
