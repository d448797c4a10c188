"""`LedgerEntry`: what a table knows of one object; the ledger is a table of them. Pure."""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from headwater.capture.object_event import ObjectEvent
from headwater.capture.own_events import (
    DROP_EVENT,
    REPAIR_EVENT,
    REQUESTS,
    RETRACT_EVENT,
)
from headwater.capture.stored_event import StoredEvent
from headwater.ingest.planning.order import SortKey, is_cleaning, is_from_listing, sort_key
from headwater.ingest.planning.outcome import ObjectOutcome

CONTENT_KINDS = frozenset({"created", "removed", "restored"})
"""Kinds of events after which something else may lie under the key."""

VANISHED = "vanished"
"""Why an object counts as removed that a listing did not show."""

CLEANED = "cleaned"
TAGGED = "tagged"
CLEANED_REASONS = frozenset({CLEANED, TAGGED})
"""Why an object whose rows stay need not lie in the bucket any more: `clean_source` may take it away."""

MAX_DETAIL_CHARS = 300

CLOCK_MARGIN = timedelta(minutes=5)
"""How far the store's clock and ours may be apart; as long may a batch take from reads to commit."""

_UNREAD = frozenset({"empty_object", "folder_marker"})

_NOTHING_NEW = frozenset({"removal_ignored", "already_removed"})

# Nobody has seen what lies there, so the rows of the version before stay until somebody can.
_UNREADABLE_FOR_NOW = frozenset({"unavailable", "forbidden", "missing"})


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """One object as one table has applied it.

    `order_key` and `event_id` are those of the newest event that was decided, `event_time` is the newest of
    all, listings that did not show the object included; `version` is the version id or etag of the content
    that counts, and `rows` what it put into the table. `looked` says that content was found by looking under
    the key, and no event has named it yet. At `looked_at` or later this or something older was seen there.
    `instant` is the commit in which the object was last decided, empty while there is none.
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
    status: str = "pending"
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
        """Compares with `sort_key` of an event of the same object."""
        time = self.event_time.isoformat() if self.event_time else ""
        return (self.order_key, time, self.event_id)


def names_content_of(stored: StoredEvent, state: LedgerEntry) -> bool:
    """Whether the event names the content that counts. A listing knows no versions, but etags."""
    event = stored.event
    if is_from_listing(stored) and not event.version_id:
        return bool(event.etag) and event.etag == state.etag
    return bool(event.version) and event.version == state.version


def is_content_of(state: LedgerEntry, version: str) -> bool:
    """Whether the version put the rows into the table that count."""
    return state.status == "ingested" and state.version == version


def is_found(outcome: ObjectOutcome) -> bool:
    """Whether the content was seen under the key, and no event has named it."""
    is_own = bool(outcome.version) and outcome.version == outcome.stored.event.version
    return outcome.looked and (is_from_listing(outcome.stored) or not is_own)


def is_repair(event: ObjectEvent) -> bool:
    """True if the event asks to read the object again and to replace the rows of its content."""
    return event.event_name == REPAIR_EVENT


def is_request(event: ObjectEvent) -> bool:
    """True if the event only asks for a read, and says nothing about what is stored under the key."""
    return event.event_name in REQUESTS


def names_version(event: ObjectEvent) -> bool:
    """True if the event asks for one version of the object, whatever is stored under the key now."""
    return is_request(event) and bool(event.version_id)


def is_drop(event: ObjectEvent) -> bool:
    """Whether the event gives the object up as it is."""
    return event.event_name == DROP_EVENT


def is_retract(event: ObjectEvent) -> bool:
    """Whether the event is for tables that do not take the object any more."""
    return event.event_name == RETRACT_EVENT


def is_cleaned(state: LedgerEntry) -> bool:
    """Whether the content that counts may have left the bucket by `clean_source`."""
    return state.reason in CLEANED_REASONS and state.status in ("ingested", "skipped")


def is_new_content(stored: StoredEvent, state: LedgerEntry) -> bool:
    """Whether the event tells of something put after the content that counts, were it the same bytes.

    What a listing shows is new by its etag only: it does not know when that came to be.
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


def find_seen_after(state: LedgerEntry) -> datetime | None:
    """When the newest event came to be that the table has heard of, where it has seen its content under the
    key: that may have been put since. None for content that only its event told of, that is gone, or that
    `clean_source` may take away."""
    is_seen = state.looked or state.looked_at is not None
    if not is_seen or is_cleaned(state) or state.status in ("pending", "removed"):
        return None
    return state.event_time


def begin_state(event: ObjectEvent) -> LedgerEntry:
    """An object of which nothing has been decided."""
    return LedgerEntry(event.object_id, event.provider, event.bucket, event.key)


def apply_outcome(prior: LedgerEntry | None, outcome: ObjectOutcome, instant: str = "") -> LedgerEntry:
    """The state after one event was decided. To be called once an event, in the order of the events.

    An event that changed nothing (superseded, not of content, an ignored removal, older than what was seen)
    is only counted; one that names what was found by looking confirms it. Anything else is the object's
    newest state, content whose rows are there already included.
    """
    stored, event = outcome.stored, outcome.stored.event
    known = prior or begin_state(event)
    first_seen = known.first_seen
    counted: dict[str, Any] = {"events": known.events + 1}
    if first_seen is None or stored.received_at < first_seen:
        counted["first_seen"] = stored.received_at
    if is_cleaning(event) or outcome.reason == CLEANED:
        return replace(known, **counted, **_mark_cleaned(known, outcome))
    if event.kind not in CONTENT_KINDS:
        # Tags may overtake the object they are put on: nothing of its content has been taken in.
        first = {} if prior else {**_decide(known, outcome, instant), "version": "", "etag": ""}
        return replace(known, **counted, **first)
    is_in = outcome.reason == "already_ingested"
    if _has_seen(outcome, known):
        # Because of the event, so later than that came.
        counted["looked_at"] = max(known.looked_at or stored.received_at, stored.received_at)
    decide = partial(_keep if is_in else _decide, known, outcome, instant)
    if not is_from_listing(stored) and sort_key(stored) < known.sort_key:
        # What lay there when a late event was looked after is newer than all that was known.
        is_newest = outcome.looked and outcome.version
        return replace(known, **counted, **(decide() if is_newest else {}))
    is_other_version = outcome.status == "removed" and outcome.version not in ("", known.version)
    # A removal that the table ignores, or that is of another version, must not make versions late that it has
    # overtaken: they are taken in.
    is_passing = outcome.reason == "removal_ignored" or is_other_version
    changes = {**counted, **({} if is_passing else _advance(known, stored))}
    # Of an object without rows it is not known whether what was found by looking is this, or what was before.
    is_confirmed = outcome.status == "superseded" and is_content_of(known, event.version)
    if is_confirmed and not is_from_listing(stored):
        changes["looked"] = False
    if is_in and is_cleaned(known) and is_new_content(stored, known):
        # The same bytes once more: what is removed from now on is not what was cleaned.
        changes["reason"] = ""
    is_nothing_new = (outcome.status == "superseded" and not is_in) or outcome.reason in _NOTHING_NEW
    is_older = is_other_version or _is_behind_look(outcome, known) or _is_older_version(outcome, known)
    if not is_older and not (is_nothing_new and known.status != "pending"):
        changes |= decide()
    return replace(known, **changes)


def _has_seen(outcome: ObjectOutcome, known: LedgerEntry) -> bool:
    """Whether the content that counts after the outcome, or something older, was seen under the key."""
    stored = outcome.stored
    if is_from_listing(stored) and not is_request(stored.event) and names_content_of(stored, known):
        return True
    if not outcome.looked or keeps_rows(outcome):
        return False
    # Found once more in a batch in which another event has made it count, or not.
    is_again = outcome.reason == "already_ingested" and not outcome.kept
    return not is_again or outcome.version == known.version


def _is_behind_look(outcome: ObjectOutcome, known: LedgerEntry) -> bool:
    """Whether what the event tells of was so before that was there which was found by looking.

    That has no place in the order of the events, so the times have to tell. Without versions only what lies
    there can be read at all; empty objects are not read.
    """
    event = outcome.stored.event
    if known.looked_at is None or outcome.looked or event.event_time > known.looked_at:
        return False
    if known.status == "removed" or (is_from_listing(outcome.stored) and not names_version(event)):
        return False
    is_unread = outcome.status == "skipped" and outcome.reason in _UNREAD
    return event.kind == "removed" or (
        event.version != known.version and (bool(event.version_id) or is_unread)
    )


def _is_older_version(outcome: ObjectOutcome, known: LedgerEntry) -> bool:
    """Whether the event asked for a version, and was answered with it, that something newer has followed."""
    event, newest = outcome.stored.event, known.event_time
    return names_version(event) and not outcome.looked and newest is not None and event.event_time < newest


def _keep(state: LedgerEntry, outcome: ObjectOutcome, instant: str) -> dict[str, Any]:
    """The content is that of rows which the table had before; a version that is back from the archive need
    not be what lies on top."""
    is_restored = outcome.stored.event.kind == "restored"
    if not outcome.kept or is_restored or is_content_of(state, outcome.version):
        return {}
    return _decide(state, replace(outcome, status="ingested", reason="", rows=outcome.kept), instant)


def _mark_cleaned(known: LedgerEntry, outcome: ObjectOutcome) -> dict[str, Any]:
    """What was taken in stays as it is, and in its place in the order: a removal that `clean_source` made
    must not be newer than what is put later and heard of earlier."""
    if not is_cleaning(outcome.stored.event) or outcome.reason not in CLEANED_REASONS:
        return {}
    if not names_content_of(outcome.stored, known):
        # An earlier event of the same batch found newer content.
        return {}
    if known.reason in CLEANED_REASONS:
        return {"reason": outcome.reason}
    return {"reason": outcome.reason, "detail": known.reason or known.detail}


def _advance(state: LedgerEntry, stored: StoredEvent) -> dict[str, Any]:
    event, known_time = stored.event, state.event_time
    time = event.event_time if known_time is None else max(known_time, event.event_time)
    if is_from_listing(stored) and known_time is not None:
        # A listing knows what lies there, not when it came to be: the next real event must still win. That
        # something does not lie there any more it knows for all that was before.
        return {"event_time": time} if event.kind == "removed" else {}
    return {"order_key": event.order_key or "", "event_time": time, "event_id": stored.event_id}


def keeps_rows(outcome: ObjectOutcome) -> bool:
    """Whether the rows of the version before stay: what lies there now could not be seen, or nobody cares."""
    if outcome.reason in ("dropped", *CLEANED_REASONS):
        return True
    return outcome.status in ("quarantined", "unavailable") and outcome.reason in _UNREADABLE_FOR_NOW


def _decide(state: LedgerEntry, outcome: ObjectOutcome, instant: str) -> dict[str, Any]:
    status = "quarantined" if outcome.status in ("unavailable", "missing") else outcome.status
    # The event of what was found by looking may still come, unless something newer has been taken in since:
    # without versions that is whatever could be read.
    is_removal = status == "removed" and not outcome.version
    is_newer = is_removal or (status == "ingested" and not outcome.stored.event.version_id)
    is_unnamed = state.looked and not is_newer and not is_content_of(state, outcome.version)
    return {
        "version": outcome.version,
        "etag": outcome.etag,
        "status": status,
        "reason": outcome.reason,
        "detail": outcome.detail[:MAX_DETAIL_CHARS],
        "rows": state.rows if keeps_rows(outcome) else outcome.rows,
        "bad_rows": outcome.bad_rows,
        "bytes": outcome.bytes,
        "looked": is_found(outcome) or is_unnamed,
        "instant": instant,
    }
