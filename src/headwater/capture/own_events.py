"""Control events, with which headwater requests a new decision about an object, by command or retry. Pure."""

from dataclasses import replace
from datetime import datetime
from typing import Final

from headwater.capture.captured_event import CapturedEvent
from headwater.capture.object_event import EventKind, ObjectEvent

REPAIR_EVENT: Final = "headwater:Repair"
"""Read the object again, whatever is known of it, and replace the rows of its content."""
RETRY_EVENT: Final = "headwater:Retry"
"""Read an object again that was quarantined; content that a table has already is left alone."""
REQUESTS: Final = frozenset({REPAIR_EVENT, RETRY_EVENT})
"""Ask for a read. They say nothing about what is stored under the key."""
DROP_EVENT: Final = "headwater:Drop"
"""The object is given up as it is."""
LISTED_EVENT: Final = "headwater:ListedObject"
"""A listing has shown an object of which the events told something else, or nothing."""
VANISHED_EVENT: Final = "headwater:VanishedObject"
"""A listing has not shown an object that is there as far as the events tell."""
RETRACT_EVENT: Final = "headwater:Retract"
"""Tables whose rules do not take the object any more let go of its rows."""
CLEANED_EVENT: Final = "headwater:Cleaned"
"""The tables have this content, and it may now leave the bucket by `clean_source`: nobody removed it."""
TAGGED_EVENT: Final = "headwater:Tagged"
"""The same, and `clean_source: tag` has put its tags on."""


def build_own_event(name: str, provider: str, bucket: str, key: str, now: datetime) -> CapturedEvent:
    """Builds an event without an order among the object's events, like one observed by listing."""
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
    """Builds a control event that re-reads a quarantined object: the failed version, or else the current
    content.

    A version keeps the time of its notification, which orders merged rows. The sequencer distinguishes
    attempts.
    """
    captured = build_own_event(RETRY_EVENT, provider, bucket, key, now)
    when = event_time if version_id and event_time else now
    event = replace(
        captured.event, version_id=version_id, event_time=when, sequencer=f"retry {now.isoformat()}"
    )
    return replace(captured, event=event)


def with_content(
    captured: CapturedEvent, kind: EventKind, etag: str | None, size: int | None = None
) -> CapturedEvent:
    """Returns the same event with the given content."""
    return replace(captured, event=replace(captured.event, kind=kind, etag=etag, size=size))
