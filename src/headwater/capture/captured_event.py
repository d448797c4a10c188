"""`CapturedEvent`: an `ObjectEvent` with how it reached us; one row of the events table."""

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from headwater.capture.object_event import ObjectEvent

EventSource = Literal["notification", "listing"]


@dataclass(frozen=True, slots=True)
class CapturedEvent:
    """`received_at` is aware, UTC; `message_id` is the queue's, empty for a listing."""

    event: ObjectEvent
    received_at: datetime
    message_id: str
    source: EventSource = "notification"
