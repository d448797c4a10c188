"""What the events of one object mean for a table that mirrors the bucket. Pure.

Only the newest event counts: it says what lies under the key, and the table's rows follow that.
"""

from collections.abc import Sequence

from headwater.capture.object_event import ObjectEvent
from headwater.capture.position import parse_instant
from headwater.capture.stored_event import StoredEvent
from headwater.ingest.planning.decision import Decision, find_rowless_reason, is_certain_removal
from headwater.ingest.planning.ledger_entry import (
    CLOCK_MARGIN,
    CONTENT_KINDS,
    LedgerEntry,
    is_drop,
    is_request,
    names_content_of,
)
from headwater.ingest.planning.order import is_from_listing, sort_key


def decide_mirrored(events: Sequence[StoredEvent], prior: LedgerEntry | None) -> list[Decision]:
    """Decide for one object's events, given in order. `prior` is what the table has applied so far."""
    changes = [stored for stored in events if stored.event.kind in CONTENT_KINDS]
    real = [stored for stored in changes if not (is_from_listing(stored) or _is_late(stored, prior))]
    listed = [stored for stored in changes if is_from_listing(stored)]
    newest = next(reversed(real or listed), None)
    # A listing has seen something else than the newest event says, or than another listing: which of them is
    # newer, nobody knows.
    differs = newest is not None and any(_shows_other(stored.event, newest.event) for stored in listed)
    decisions = []
    for stored in events:
        if stored.event.kind not in CONTENT_KINDS:
            decisions.append(Decision(stored, "skip", "not_content"))
        elif stored is not newest:
            decisions.append(Decision(stored, "skip", "superseded"))
        elif is_from_listing(stored):
            decisions.append(_decide_listed(stored, prior, differs=differs))
        else:
            decisions.append(_decide_newest(stored, prior, differs=differs))
    return decisions


def _is_late(stored: StoredEvent, prior: LedgerEntry | None) -> bool:
    """Whether the table has applied this, or something newer."""
    return prior is not None and not is_from_listing(stored) and sort_key(stored) <= prior.sort_key


def _shows_other(listed: ObjectEvent, told: ObjectEvent) -> bool:
    """Whether a listing has seen something else than an event, or another listing, tells of."""
    return listed.kind != told.kind or listed.etag != told.etag


def _decide_newest(stored: StoredEvent, prior: LedgerEntry | None, *, differs: bool) -> Decision:
    event = stored.event
    # What was found by looking may be newer than this event: its own one is still to come.
    is_sure = not (differs or _may_be_older(event, prior) or _is_behind_listing(event, prior))
    if event.kind == "removed":
        return Decision(stored, "retract" if is_sure and is_certain_removal(event) else "look")
    if _has_applied(prior, stored) and not differs:
        return Decision(stored, "skip", "already_ingested")
    if not is_sure:
        return Decision(stored, "look")
    reason = find_rowless_reason(event)
    return Decision(stored, "retract" if reason else "read", reason)


def _decide_listed(stored: StoredEvent, prior: LedgerEntry | None, *, differs: bool) -> Decision:
    if is_drop(stored.event):
        return Decision(stored, "skip", "dropped")
    if differs or is_request(stored.event):
        return Decision(stored, "look")
    if stored.event.kind == "removed":
        if prior is None or prior.status == "removed":
            return Decision(stored, "skip", "already_removed")
        return Decision(stored, "look")
    if _has_applied(prior, stored):
        return Decision(stored, "skip", "already_ingested")
    if prior is not None and prior.event_id:
        # The listing may be older than what the table has heard of since.
        return Decision(stored, "look")
    reason = find_rowless_reason(stored.event)
    return Decision(stored, "retract" if reason else "read", reason)


def _may_be_older(event: ObjectEvent, prior: LedgerEntry | None) -> bool:
    """Whether the content that was found by looking may have come after the event."""
    if prior is None:
        return False
    if prior.looked_at is not None and event.event_time < prior.looked_at + CLOCK_MARGIN:
        # The look was then, or as much later as the batch took.
        return True
    if not prior.looked:
        return False
    found_by = parse_instant(prior.instant) if prior.instant else None
    return found_by is None or event.event_time < found_by + CLOCK_MARGIN


def _is_behind_listing(event: ObjectEvent, prior: LedgerEntry | None) -> bool:
    """Whether a listing that was taken later has told of the object: order keys know nothing of it."""
    return prior is not None and prior.event_time is not None and event.event_time <= prior.event_time


def _has_applied(prior: LedgerEntry | None, stored: StoredEvent) -> bool:
    return prior is not None and prior.status in ("ingested", "skipped") and names_content_of(stored, prior)
