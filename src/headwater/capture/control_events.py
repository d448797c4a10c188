"""Control events, with which headwater requests a new decision about an object, by command or retry. Pure."""

from dataclasses import replace
from datetime import datetime
from typing import Final

from headwater.capture.captured_event import CapturedEvent
from headwater.sources.object_event import EventKind, ObjectEvent

REPAIR_EVENT: Final = "headwater:Repair"
"""Requests a read of the object, whatever its state, and replaces the rows of its content."""
RETRY_EVENT: Final = "headwater:Retry"
"""Requests another read of a quarantined object; content that a table already has is unchanged."""
REQUESTS: Final = frozenset({REPAIR_EVENT, RETRY_EVENT})
"""Request a read. They say nothing about the object under the key."""
DROP_EVENT: Final = "headwater:Drop"
"""Gives up the object in its current state."""
LISTED_EVENT: Final = "headwater:ListedObject"
"""An object observed by listing that the events have differently, or not at all."""
VANISHED_EVENT: Final = "headwater:VanishedObject"
"""An object that exists according to the events and is absent from the listing."""
RETRACT_EVENT: Final = "headwater:Retract"
"""Retracts the object's rows from tables whose rules no longer include it."""
CLEANED_EVENT: Final = "headwater:Cleaned"
"""The tables have this content, and `clean_source` may now delete it: no other process removed it."""
TAGGED_EVENT: Final = "headwater:Tagged"
"""The tables have this content, and `clean_source: tag` has added its tags."""


def build_control_event(name: str, provider: str, bucket: str, key: str, now: datetime) -> CapturedEvent:
    """Build an event without an order among the object's events, like one observed by listing."""
    event = ObjectEvent(
        provider=provider,
        bucket=bucket,
        key=key,
        version_id=None,
        sequencer=None,
        order_key=None,
        kind="created",
        event_name=name,
        event_time=now,
        size=None,
        etag=None,
    )
    return CapturedEvent(event, now, "", "listing")


def build_retry(
    provider: str, bucket: str, key: str, version_id: str | None, event_time: datetime | None, now: datetime
) -> CapturedEvent:
    """Build a control event that re-reads a quarantined object: the failed version, else the current one.

    A version keeps the time of its notification, which orders merged rows. The sequencer distinguishes
    attempts.
    """
    captured = build_control_event(RETRY_EVENT, provider, bucket, key, now)
    when = event_time if version_id and event_time else now
    event = replace(
        captured.event, version_id=version_id, event_time=when, sequencer=f"retry {now.isoformat()}"
    )
    return replace(captured, event=event)


def with_content(
    captured: CapturedEvent, kind: EventKind, etag: str | None, size: int | None = None
) -> CapturedEvent:
    """Return the same event with the given content."""
    return replace(captured, event=replace(captured.event, kind=kind, etag=etag, size=size))
