"""`LedgerEntry`: a table's state of one object; the ledger is a table of them. Pure."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal

from headwater.capture.reconcile.newest_state import TableObservation
from headwater.capture.stored_event import StoredEvent
from headwater.ingest.planning.observation import (
    CONTENT_KINDS,
    SortKey,
    is_cleaning,
    is_drop,
    is_from_listing,
    is_request,
    sort_key,
)
from headwater.ingest.planning.outcome import ObjectOutcome
from headwater.sources.object_event import ObjectEvent, is_same_etag

VANISHED = "vanished"
"""The reason for removing an object that is absent from a listing."""
ABSENT = "missing"
"""The reason for removing an object that a read did not find, without a removal event."""

CLEANED = "cleaned"
TAGGED = "tagged"
CLEANED_REASONS = frozenset({CLEANED, TAGGED})
"""Reasons why an object may be absent while its rows stay: `clean_source` may delete it."""

EntryStatus = Literal["pending", "superseded", "ingested", "skipped", "removed", "quarantined"]
"""The object's state in a table: undecided, unreadable so far, ingested, without rows, removed, unusable."""

MAX_DETAIL_CHARS = 300

CLOCK_MARGIN = timedelta(minutes=5)
"""Maximum difference between the store's clock and ours, and between a batch's reads and its commit."""

_NOTHING_NEW = frozenset({"removal_ignored", "already_removed"})

# The current content is unknown, so the rows of the previous one stay until it can be read.
_UNREADABLE_FOR_NOW = frozenset({"unavailable", "forbidden", "missing"})


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """The state of one object as applied by one table.

    `order_key` and `event_id` are those of the newest event that the store sent. `event_time` is the latest
    time of all events, including listings without the object. `version` is the version id or etag of the
    current content, and `rows` the number of its rows. `looked`: a read found content that no event has named
    yet. `looked_at`: the current content, or an older one, was read then or later, or none was found.
    `instant` is the commit in which the object was last decided, empty if there is none.
    """

    object_id: str
    provider: str
    bucket: str
    key: str
    version: str = ""
    etag: str = ""
    order_key: str = ""
    event_time: datetime | None = None
    event_id: str = ""
    status: EntryStatus = "pending"
    reason: str = ""
    detail: str = ""
    rows: int = 0
    bad_rows: int = 0
    bytes: int = 0
    events: int = 0
    looked: bool = False
    instant: str = ""
    first_seen: datetime | None = None
    looked_at: datetime | None = None

    @property
    def sort_key(self) -> SortKey:
        """The order of the newest event, to compare with `sort_key` of another of its events."""
        time = self.event_time.isoformat() if self.event_time else ""
        return (self.order_key, time, self.event_id)


def names_content_of(stored: StoredEvent, state: LedgerEntry) -> bool:
    """True if the event names the current content. A listing names it by its etag."""
    event = stored.event
    if is_from_listing(stored) and not event.version_id:
        return bool(event.etag) and is_same_etag(state.etag, event.etag)
    return bool(event.version) and event.version == state.version


def is_content_of(state: LedgerEntry, version: str) -> bool:
    """True if the current rows are those of the version."""
    return state.status == "ingested" and state.version == version


def is_found(outcome: ObjectOutcome) -> bool:
    """True if a read found content that no event has named."""
    is_own = bool(outcome.version) and outcome.version == outcome.stored.event.version
    return outcome.looked and (is_from_listing(outcome.stored) or not is_own)


def is_cleaned(state: LedgerEntry) -> bool:
    """True if `clean_source` may have deleted the current content from the bucket."""
    return state.reason in CLEANED_REASONS and state.status in ("ingested", "skipped")


def is_new_content(stored: StoredEvent, state: LedgerEntry) -> bool:
    """True if the event is about content that was put after the current one, possibly with the same bytes.

    A listing identifies new content only by its etag: it does not say when the content was put.
    """
    event = stored.event
    if event.kind not in ("created", "restored") or is_request(event) or is_drop(event):
        return False
    is_same = names_content_of(stored, state)
    if is_from_listing(stored):
        return not is_same
    if is_same and (state.looked or event.kind == "restored"):
        return False
    return sort_key(stored) > state.sort_key


def find_observation(state: LedgerEntry) -> TableObservation | None:
    """Return what the table found, if a read found the content, which may have been put later, or none.

    None for content that its own notification named, that was removed by its own notification or a listing,
    or that `clean_source` may have deleted.
    """
    is_seen = state.looked or state.looked_at is not None
    is_removed = state.status == "removed" and state.reason != ABSENT
    if not is_seen or is_cleaned(state) or is_removed or state.status == "pending":
        return None
    if state.event_time is None:
        return None
    if state.status in ("superseded", "removed"):
        return TableObservation(state.event_time, "", state.looked_at)
    # An object that was given up or excluded has no etag: its last decision was no read.
    return TableObservation(state.event_time, state.etag, state.looked_at if state.etag else None)


def begin_state(event: ObjectEvent) -> LedgerEntry:
    """Return the state of an object without decisions."""
    return LedgerEntry(event.object_id, event.provider, event.bucket, event.key)


def apply_outcome(prior: LedgerEntry | None, outcome: ObjectOutcome, instant: str = "") -> LedgerEntry:
    """Return the state after one event was decided. Call it once per event, in the order of `order_events`.

    The order and the time of the state are the maxima of all its events. Its content is the last one read,
    or, of contents that only their events name, the one with the greatest order.
    """
    stored, event = outcome.stored, outcome.stored.event
    known = prior or begin_state(event)
    changes: dict[str, Any] = {"events": known.events + 1}
    if known.first_seen is None or stored.received_at < known.first_seen:
        changes["first_seen"] = stored.received_at
    if is_cleaning(event) or outcome.reason == CLEANED:
        return replace(known, **changes, **_mark_cleaned(known, outcome))
    if event.kind not in CONTENT_KINDS:
        # Tags may overtake the object they are put on: its content has not been ingested.
        first = {} if prior else {**_decide(known, outcome, instant), "version": "", "etag": ""}
        return replace(known, **changes, **first)
    if not _is_without_content(outcome):
        # Otherwise the versions that it overtook would count as late.
        changes |= _advance(known, stored)
    if _confirms(known, outcome):
        changes["looked"] = False
    is_read = is_found(outcome) and (bool(outcome.version) or outcome.status == "removed")
    if is_read or _is_observed_by_listing(known, stored):
        # The read came after the event, so later than this.
        changes["looked_at"] = max(known.looked_at or stored.received_at, stored.received_at)
    if _counts(known, outcome):
        changes |= _decide(known, outcome, instant)
    elif outcome.looked and is_cleaned(known) and outcome.reason == "already_ingested":
        # The same bytes once more: a later removal is not of the cleaned content.
        changes["reason"] = ""
    return replace(known, **changes)


def _is_without_content(outcome: ObjectOutcome) -> bool:
    """True for a removal that the table ignores, and for a version that was deleted before it was read."""
    is_deleted = outcome.status == outcome.reason == "superseded" and bool(outcome.stored.event.version_id)
    return outcome.reason == "removal_ignored" or is_deleted


def _is_observed_by_listing(known: LedgerEntry, stored: StoredEvent) -> bool:
    """True if the current content was observed by listing."""
    return is_from_listing(stored) and not is_request(stored.event) and names_content_of(stored, known)


def _confirms(known: LedgerEntry, outcome: ObjectOutcome) -> bool:
    """True if the event is the notification of content that was found by reading."""
    stored = outcome.stored
    is_own = is_content_of(known, stored.event.version) and not is_from_listing(stored)
    return is_own and outcome.status == "superseded"


def _counts(known: LedgerEntry, outcome: ObjectOutcome) -> bool:
    """True if the outcome determines the object's current state, as far as the table can know."""
    stored = outcome.stored
    if outcome.reason == "already_ingested":
        is_other = bool(outcome.kept) and not is_content_of(known, outcome.version)
        return is_other and stored.event.kind != "restored" and (outcome.looked or _is_newest(known, stored))
    if known.status == "pending":
        return True
    if outcome.reason == "dropped":
        return known.status == "quarantined"
    if outcome.status == "superseded" or outcome.reason in _NOTHING_NEW:
        return False
    # One unreadable content decides nothing about the others, older ones included.
    if known.status == "superseded" or outcome.looked or outcome.reason == "filtered":
        return True
    return _is_newest(known, stored)


def _is_newest(known: LedgerEntry, stored: StoredEvent) -> bool:
    """True if nothing newer than the event's content was sent or read."""
    event = stored.event
    is_older = known.looked_at is not None and event.event_time <= known.looked_at
    if is_older and event.version_id and event.version != known.version:
        return False
    if is_from_listing(stored):
        return known.event_time is None or event.event_time >= known.event_time
    return sort_key(stored) >= known.sort_key


def _mark_cleaned(known: LedgerEntry, outcome: ObjectOutcome) -> dict[str, Any]:
    """Keep ingested content and its order.

    A removal by `clean_source` must not be newer than a later put that is notified earlier.
    """
    if not is_cleaning(outcome.stored.event) or outcome.reason not in CLEANED_REASONS:
        return {}
    if not names_content_of(outcome.stored, known):
        # An earlier event of the same batch found newer content.
        return {}
    if known.reason in CLEANED_REASONS:
        return {"reason": outcome.reason}
    return {"reason": outcome.reason, "detail": known.reason or known.detail}


def _advance(state: LedgerEntry, stored: StoredEvent) -> dict[str, Any]:
    """Return the greatest order that the store sent, and the latest time of any event."""
    event, known_time = stored.event, state.event_time
    time = event.event_time if known_time is None else max(known_time, event.event_time)
    if is_from_listing(stored) and known_time is not None:
        # A listing shows the current object, but not since when: the store's next event must still win. An
        # absence is valid for every earlier moment.
        return {"event_time": time} if event.kind == "removed" else {}
    if sort_key(stored) < state.sort_key:
        return {}
    return {"order_key": event.order_key or "", "event_time": time, "event_id": stored.event_id}


def keeps_rows(outcome: ObjectOutcome) -> bool:
    """True if the rows of the previous content stay: the current content is unreadable or given up."""
    if outcome.reason in ("dropped", *CLEANED_REASONS):
        return True
    return outcome.status in ("quarantined", "unavailable") and outcome.reason in _UNREADABLE_FOR_NOW


def _decide(state: LedgerEntry, outcome: ObjectOutcome, instant: str) -> dict[str, Any]:
    is_kept = outcome.reason == "already_ingested" and bool(outcome.kept)
    status = "quarantined" if outcome.status in ("unavailable", "missing") else outcome.status
    # A read of a named version does not describe the content that was found by reading: its event may still
    # come.
    is_named = bool(outcome.stored.event.version_id) and not outcome.looked
    is_unnamed = state.looked and is_named and not is_content_of(state, outcome.version)
    return {
        "version": outcome.version,
        "etag": outcome.etag,
        "status": "ingested" if is_kept else status,
        "reason": "" if is_kept else outcome.reason,
        "detail": outcome.detail[:MAX_DETAIL_CHARS],
        "rows": state.rows if keeps_rows(outcome) else outcome.kept or outcome.rows,
        "bad_rows": outcome.bad_rows,
        "bytes": outcome.bytes,
        "looked": is_found(outcome) or is_unnamed,
        "instant": instant,
    }
