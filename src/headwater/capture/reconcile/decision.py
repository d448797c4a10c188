"""What one comparison of listing and events means, and the event that says so. Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from headwater.capture.captured_event import CapturedEvent
from headwater.capture.listers.listing_diff import Comparison, Verdict
from headwater.capture.listers.protocol import ListedObject
from headwater.capture.object_event import ObjectEvent
from headwater.capture.own_events import LISTED_EVENT, VANISHED_EVENT

Decision = Verdict | Literal["unsettled", "excluded"]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Which objects a pass speaks about.

    A state younger than `settled_before` is left to its notification, which may be on its way; None:
    all are settled. Objects last modified before `existing_before` were there before headwater and stay
    out unless an event told of them; None: they are taken.
    """

    settled_before: datetime | None = None
    existing_before: datetime | None = None


def choose_settled_before(
    started_at: datetime, settle: timedelta, captured_until: datetime | None
) -> datetime:
    """Before which moment a state is judged: its notification had `settle` to arrive, and was captured then.

    Notifications sent after `captured_until` may still wait in the queue, however old they are by now;
    None: none waits.
    """
    return (started_at if captured_until is None else min(started_at, captured_until)) - settle


def decide(compared: Comparison, bounds: Bounds) -> Decision:
    """The verdict, unless the bounds say that it is not to be given now."""
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
    """Whose objects are listed, and since when the listing holds."""

    provider: str
    bucket: str
    listed_at: datetime


def build_event(compared: Comparison, origin: EventOrigin) -> CapturedEvent:
    """The event of a difference; has no sequencer, so that any real event of the object goes before it.

    `received_at` is when the listing began: a real event after that moment knows better. It also puts all
    events of a pass into one partition, resumed or not, so that none gets in twice.
    """
    event = (
        _build_vanished(compared.key, origin)
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


def _build_vanished(key: str, origin: EventOrigin) -> ObjectEvent:
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
