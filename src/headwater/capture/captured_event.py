"""`CapturedEvent`: an `ObjectEvent` with how it reached us; one row of the events table."""

from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property
from typing import Literal

from headwater.capture.object_event import ObjectEvent

EventSource = Literal["notification", "listing"]


@dataclass(frozen=True)
class CapturedEvent:
    """`received_at` is aware, UTC; `message_id` is the queue's, empty for a listing."""

    event: ObjectEvent
    received_at: datetime
    message_id: str
    source: EventSource = "notification"

    @cached_property
    def day(self) -> str:
        """The partition. Deliveries of one event are at most a day apart, so a duplicate is found nearby.

        A listing is spread over years of object times; its events go to the day they were listed.
        """
        when = self.received_at if self.source == "listing" else self.event.event_time
        return when.astimezone(timezone.utc).date().isoformat()
