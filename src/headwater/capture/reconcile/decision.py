"""Decides one comparison of listing and events, and builds the resulting event. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from headwater.capture.captured_event import CapturedEvent
from headwater.capture.control_events import LISTED_EVENT, VANISHED_EVENT
from headwater.sources.lister import ListedObject
from headwater.sources.listing_diff import Comparison, Verdict
from headwater.sources.object_event import ObjectEvent

Decision = Verdict | Literal["unsettled", "excluded"]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Selects the objects that a pass judges.

    A state younger than `settled_before` is left to its notification, which may still arrive; None: all are
    settled. Objects last modified before `existing_before` existed before headwater and are excluded unless
    an event named them; None: they are included.
    """

    settled_before: datetime | None = None
    existing_before: datetime | None = None


def choose_settled_before(
    started_at: datetime, settle: timedelta, captured_until: datetime | None
) -> datetime:
    """Return the time before which a state is judged: its notification had `settle` to be captured.

    Notifications sent after `captured_until` may still wait in the queue, however old they are;
    None: none waits.
    """
    return (started_at if captured_until is None else min(started_at, captured_until)) - settle


def decide(compared: Comparison, bounds: Bounds) -> Decision:
    """Return the verdict, or `unsettled` or `excluded` if the bounds do not allow it."""
    verdict = compared.verdict
    if verdict == "same":
        return verdict
    if bounds.settled_before is not None:
        listed_at = compared.listed.last_modified if compared.listed else None
        known_at = compared.known.event_time if compared.known else None
        if any(at is not None and at > bounds.settled_before for at in (listed_at, known_at)):
            return "unsettled"
    if verdict == "missing" and compared.listed and bounds.existing_before is not None:
        return "excluded" if compared.listed.last_modified < bounds.existing_before else verdict
    return verdict


@dataclass(frozen=True, slots=True)
class EventOrigin:
    """The source of the listed objects, and the time of the listing."""

    provider: str
    bucket: str
    listed_at: datetime


def build_event(compared: Comparison, origin: EventOrigin) -> CapturedEvent:
    """Build the event of a difference, without a sequencer: any real event of the object takes precedence.

    `received_at` is the start of the listing: a real event after it takes precedence. It also puts all events
    of a pass, resumed or not, into one partition, which prevents duplicates.
    """
    event = (
        _build_absent(compared.key, origin)
        if compared.listed is None
        else _build_listed(compared.listed, origin)
    )
    return CapturedEvent(event, received_at=origin.listed_at, message_id="", source="listing")


def _build_listed(listed: ListedObject, origin: EventOrigin) -> ObjectEvent:
    return ObjectEvent(
        provider=origin.provider,
        bucket=origin.bucket,
        key=listed.key,
        version_id=listed.version_id,
        sequencer=f"{origin.listed_at:%Y-%m-%dT%H:%M:%S.%fZ}",
        order_key=None,
        kind="created",
        event_name=LISTED_EVENT,
        event_time=listed.last_modified,
        size=listed.size,
        etag=listed.etag or None,
    )


def _build_absent(key: str, origin: EventOrigin) -> ObjectEvent:
    return ObjectEvent(
        provider=origin.provider,
        bucket=origin.bucket,
        key=key,
        version_id=None,
        sequencer=None,
        order_key=None,
        kind="removed",
        event_name=VANISHED_EVENT,
        event_time=origin.listed_at,
        size=None,
        etag=None,
    )
