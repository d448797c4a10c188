"""Folds the events of a batch into decisions for a table. Pure; defines order and exactness.

Any permutation of the same events, with any of them repeated, gives the same decisions.

A mirror is level-triggered: an event is a reason to read the object, and the read finds its state. An event
whose order is covered by the state needs no read. The other tables are a grow-only set of contents: each
content that an event names is read once.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby

from headwater.capture.control_events import TAGGED_EVENT
from headwater.capture.position import parse_instant
from headwater.capture.stored_event import StoredEvent
from headwater.ingest.planning.decision import Action, Decision, Reason, is_folder_marker
from headwater.ingest.planning.ledger_entry import (
    CLOCK_MARGIN,
    LedgerEntry,
    is_cleaned,
    is_new_content,
    names_content_of,
)
from headwater.ingest.planning.observation import (
    CONTENT_KINDS,
    is_cleaning,
    is_drop,
    is_from_listing,
    is_request,
    is_retract,
    is_sent,
    order_events,
    sort_key,
)
from headwater.ingest.planning.window import EVERYTHING, Window
from headwater.sources.object_event import ObjectEvent


@dataclass(frozen=True, slots=True)
class FoldRules:
    """How a table follows its objects: it `mirrors` them, or it ingests each content once.

    `merges`: rows follow their record key, so that ingesting a content twice changes nothing. Content outside
    the `window` is not ingested; if the event leaves that open, the read decides.
    """

    mirrors: bool = False
    merges: bool = False
    window: Window = EVERYTHING


APPENDS = FoldRules()


def fold(
    events: Iterable[StoredEvent],
    states: Mapping[str, LedgerEntry] | None = None,
    rules: FoldRules = APPENDS,
) -> list[Decision]:
    """Decide for the events of one batch, in the order of object and event.

    `states` are the states that the table has applied so far, by object id.
    """
    known = states or {}
    unique = {stored.event_id: stored for stored in events}
    ordered = sorted(unique.values(), key=lambda stored: stored.event.object_id)
    decisions: list[Decision] = []
    for object_id, group in groupby(ordered, key=lambda stored: stored.event.object_id):
        found, state = order_events(group, lambda stored: stored), known.get(object_id)
        if any(is_retract(stored.event) for stored in found):
            decisions += [_decide_excluded(stored, state) for stored in found]
            continue
        cleanings = [_decide_cleaning(stored, state) for stored in found if is_cleaning(stored.event)]
        if state is not None and any(cleaning.reason in ("cleaned", "tagged") for cleaning in cleanings):
            state = replace(state, reason="cleaned")
        rest = [stored for stored in found if not is_cleaning(stored.event)]
        decisions += cleanings
        if rules.mirrors:
            decisions += _decide_mirror(rest, state, rules.window)
        else:
            decisions += _decide_log(rest, state, rules)
    return decisions


def _decide_excluded(stored: StoredEvent, state: LedgerEntry | None) -> Decision:
    is_known = state is not None and state.reason != "filtered"
    return Decision(stored, "retract" if is_known else "skip", "filtered")


def _decide_cleaning(stored: StoredEvent, state: LedgerEntry | None) -> Decision:
    """Decide for the announcement that the object may leave the bucket: it concerns the content it names."""
    is_meant = (
        state is not None and state.status in ("ingested", "skipped") and names_content_of(stored, state)
    )
    if not is_meant:
        return Decision(stored, "skip", "superseded")
    return Decision(stored, "skip", "tagged" if stored.event.event_name == TAGGED_EVENT else "cleaned")


def _decide_drop(state: LedgerEntry | None) -> Reason:
    """Return `dropped` for an object that could not be ingested, else `superseded`."""
    return "dropped" if state is None or state.status == "quarantined" else "superseded"


def _exclude(stored: StoredEvent, window: Window) -> Reason | None:
    return "outside_window" if window.rules_out(stored) else None


# --- mirrors ---


def _decide_mirror(
    events: Sequence[StoredEvent], state: LedgerEntry | None, window: Window
) -> list[Decision]:
    """Read the object at most once, for the newest event that the state does not cover."""
    cover = partial(_find_cover, state=state, is_replaced=_is_replaced(events, state))
    # Rows of an earlier content have to be retracted, which needs a read.
    window = EVERYTHING if state is not None and state.rows else window
    reasons = {stored.event_id: cover(stored) or _exclude(stored, window) for stored in events}
    uncovered = [stored for stored in events if reasons[stored.event_id] is None]
    # The store's event advances the order of the state; an event of a listing does not.
    newest = max(filter(is_sent, uncovered), key=sort_key, default=next(reversed(uncovered), None))
    return [
        Decision(stored, "look")
        if stored is newest
        else Decision(stored, "skip", reasons[stored.event_id] or "superseded")
        for stored in events
    ]


def _is_replaced(events: Sequence[StoredEvent], state: LedgerEntry | None) -> Callable[[StoredEvent], bool]:
    """Return a predicate: true if a removal may concern content put after the cleaned content."""
    if state is None or not is_cleaned(state):
        return lambda _: True
    put = [stored for stored in events if is_new_content(stored, state)]
    return lambda removal: not all(_is_before(removal, other) for other in put)


def _is_before(removal: StoredEvent, put: StoredEvent) -> bool:
    if is_from_listing(removal) or is_from_listing(put):
        return removal.event.event_time < put.event.event_time
    return sort_key(removal) < sort_key(put)


def _find_cover(
    stored: StoredEvent, state: LedgerEntry | None, is_replaced: Callable[[StoredEvent], bool]
) -> Reason | None:
    """Return why the state already includes the event; None if only a read can determine that."""
    event = stored.event
    if event.kind not in CONTENT_KINDS:
        return "not_content"
    if is_drop(event):
        return _decide_drop(state)
    if is_request(event):
        return None
    if state is None:
        return "already_removed" if event.kind == "removed" and is_from_listing(stored) else None
    if is_sent(stored) and sort_key(stored) <= state.sort_key:
        return "superseded"
    if event.kind == "removed":
        if is_cleaned(state) and not is_replaced(stored):
            return "cleaned"
        is_absent = state.status == "removed" and is_from_listing(stored)
        return "already_removed" if is_absent else None
    is_applied = state.status in ("ingested", "skipped") and names_content_of(stored, state)
    # The same bytes put again after a cleaning: their removal is not the cleaning.
    is_again = is_cleaned(state) and is_new_content(stored, state)
    return "already_ingested" if is_applied and not is_again else None


# --- append and merge ---


def _decide_log(events: Sequence[StoredEvent], state: LedgerEntry | None, rules: FoldRules) -> list[Decision]:
    """Read every content that an event names and that is still readable."""
    reasons = {
        stored.event_id: _find_log_reason(stored, state, rules) or _exclude(stored, rules.window)
        for stored in events
    }
    # An event that is older than the state does not name the current content.
    sent = [stored for stored in events if is_sent(stored) and reasons[stored.event_id] != "superseded"]
    last = max(sent, key=sort_key, default=None)
    decisions = []
    for stored in events:
        reason = reasons[stored.event_id]
        if reason == "already_ingested" and _is_put_again(stored, last):
            reason = None
        if reason is None and _is_covered_by_last(stored, last):
            reason = "superseded"
        if reason is not None:
            kept = state.rows if state and reason == "already_ingested" and is_sent(stored) else 0
            decisions.append(Decision(stored, "skip", reason, kept=kept))
        else:
            action: Action = "read" if stored.event.version else "look"
            decisions.append(Decision(stored, action, may_exist=_may_exist(stored, state, rules)))
    return decisions


def _is_put_again(stored: StoredEvent, last: StoredEvent | None) -> bool:
    """True if a listing names the content of the state, and the batch reads a newer version with another one.

    The listed object is then a further version with the same bytes, whose notification may be lost.
    """
    if last is None or not is_from_listing(stored):
        return False
    is_put = last.event.kind == "created" and bool(last.event.version_id)
    return is_put and last.event.etag != stored.event.etag


def _is_covered_by_last(stored: StoredEvent, last: StoredEvent | None) -> bool:
    """True if the last event of the batch names the content, or shows that it is no longer readable."""
    event = stored.event
    if is_from_listing(stored):
        return last is not None and not is_request(event) and _names_same(event, last.event)
    return not event.version_id and stored is not last


def _names_same(listed: ObjectEvent, last: ObjectEvent) -> bool:
    """True if both name one content. Several versions may have the same bytes, and one etag."""
    if last.version_id:
        return listed.version_id == last.version_id
    return bool(listed.etag) and listed.etag == last.etag


def _find_log_reason(stored: StoredEvent, state: LedgerEntry | None, rules: FoldRules) -> Reason | None:
    """Return why an append or a merge needs no read; None if it needs one."""
    event = stored.event
    if event.kind not in CONTENT_KINDS:
        return "not_content"
    if is_drop(event):
        return _decide_drop(state)
    if event.kind == "removed":
        return "removal_ignored"
    if is_request(event):
        return None
    if is_folder_marker(event):
        return "folder_marker"
    if state is None:
        return None
    if is_sent(stored) and not event.version_id and sort_key(stored) <= state.sort_key:
        # Without versions only the newest content can be read.
        return "superseded"
    return "already_ingested" if _is_ingested(stored, state, rules) else None


def _is_ingested(stored: StoredEvent, state: LedgerEntry, rules: FoldRules) -> bool:
    if state.status not in ("ingested", "skipped") or not names_content_of(stored, state):
        return False
    if is_cleaned(state) and not is_from_listing(stored):
        return not is_new_content(stored, state)
    if is_from_listing(stored):
        return not rules.merges or _has_time(stored, state)
    return state.looked and state.status == "ingested" and not rules.merges


def _has_time(stored: StoredEvent, state: LedgerEntry) -> bool:
    """True if rows of the content have the time of the event, or a later one: a merge orders rows by it."""
    known = state.event_time
    return not state.looked and known is not None and stored.event.event_time <= known


def _may_exist(stored: StoredEvent, state: LedgerEntry | None, rules: FoldRules) -> bool:
    if rules.merges:
        return False
    if stored.event.kind == "restored":
        return True
    if state is None or not is_sent(stored):
        return False
    return state.looked or (state.looked_at is not None and _is_before_decision(stored, state))


def _is_before_decision(stored: StoredEvent, state: LedgerEntry) -> bool:
    """True if the event's content may have been there when the object was last read, or before.

    `looked_at` does not limit that: the read came after it, and by any time. The commit came after the read.
    """
    if not state.instant:
        return True
    return stored.event.event_time <= parse_instant(state.instant) + CLOCK_MARGIN
