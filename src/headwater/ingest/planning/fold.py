"""Fold: what the events of a batch mean for a table. Pure; the heart of order and exactness.

Any permutation of the same events, with any of them repeated, gives the same decisions.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Literal

from headwater.capture.stored_event import StoredEvent
from headwater.ingest.planning.cleaned import look_instead, set_aside_cleaning
from headwater.ingest.planning.decision import Decision, find_rowless_reason, is_certain_removal
from headwater.ingest.planning.ledger_entry import (
    CONTENT_KINDS,
    VANISHED,
    LedgerEntry,
    is_drop,
    is_repair,
    is_request,
    is_retract,
    names_content_of,
    names_version,
)
from headwater.ingest.planning.mirror import decide_mirrored
from headwater.ingest.planning.order import is_from_listing, order_events, sort_key


@dataclass(frozen=True, slots=True)
class FoldRules:
    """How a table follows its objects: `mirrors` them, or takes their content in and, when an object is
    removed, ignores that, retracts its rows or marks them with a tombstone. `merges`: rows follow their
    record key, so that content may be taken in again."""

    mirrors: bool = False
    on_object_removed: Literal["ignore", "retract", "tombstone"] = "ignore"
    merges: bool = False

    @property
    def needs_states(self) -> bool:
        """Whether what was applied before must be known for every object, not only after a listing."""
        return self.mirrors or self.on_object_removed != "ignore"


IGNORE_REMOVALS = FoldRules()


def fold(
    events: Iterable[StoredEvent],
    states: Mapping[str, LedgerEntry] | None = None,
    rules: FoldRules = IGNORE_REMOVALS,
) -> list[Decision]:
    """Decide for the events of one batch, in the order of object and event.

    `states` are what the table has applied so far, by object id. Outside of mirrors, versions of a
    versioned object are all read: each is a state of its own that can still be had. Without versions
    only the last state exists, so the events before it are superseded.
    """
    known = states or {}
    unique = {stored.event_id: stored for stored in events}
    ordered = sorted(unique.values(), key=lambda stored: stored.event.object_id)
    decisions: list[Decision] = []
    for object_id, group in groupby(ordered, key=lambda stored: stored.event.object_id):
        found, prior = order_events(group, lambda stored: stored), known.get(object_id)
        if any(is_retract(stored.event) for stored in found):
            decisions += [_let_go(stored, prior) for stored in found]
            continue
        aside = set_aside_cleaning(found, prior)
        decisions += aside.decisions
        if not rules.mirrors:
            decided = _take_in(aside.rest, prior, rules)
        else:
            decided = decide_mirrored(aside.rest, prior)
        if aside.is_replaced and rules.needs_states:
            decided = [look_instead(decision, mirrors=rules.mirrors) for decision in decided]
        decisions += decided
    return decisions


def _take_in(events: Sequence[StoredEvent], prior: LedgerEntry | None, rules: FoldRules) -> list[Decision]:
    # What the newest event tells anyway, a listing need not.
    told = {at for at in range(len(events)) if _is_told(events, at)}
    last_change = max((at for at, one in enumerate(events) if _is_change(one) and at not in told), default=-1)
    last_removal = -1
    vanished = None
    if rules.on_object_removed != "ignore":
        removals = [at for at, stored in enumerate(events) if is_certain_removal(stored.event)]
        last_removal = max(removals, default=-1)
        vanished = max(
            (events[at] for at in removals if is_from_listing(events[at])), key=_time, default=None
        )
    decisions = []
    for at, stored in enumerate(events):
        # Versions stay readable after a write, not after a removal that the table is to follow.
        is_over = at in told or at < last_removal or (at < last_change and _is_replaced(events, at))
        is_over = is_over or (vanished is not None and _last_seen(stored) <= _time(vanished))
        is_over = is_over or _is_stale(events, at, prior)
        if last_removal > -1 and names_version(stored.event):
            is_over = is_over or _time(stored) <= _time(events[last_removal])
        is_removed = -1 < last_removal < at
        if is_removed and stored.event.kind == "removed":
            decisions.append(_decide_back(stored, prior))
        elif at < last_removal and stored.event.kind == "removed" and not is_certain_removal(stored.event):
            decisions.append(Decision(stored, "skip", "superseded"))
        else:
            # What was taken in before goes with the removal; nor has a listing shown that after an event.
            is_passed = is_from_listing(stored) and any(map(_is_sent, events[:at]))
            left = None if is_removed or is_passed else prior
            decisions.append(_decide(stored, prior, left, rules, is_over=is_over))
    return decisions


def _let_go(stored: StoredEvent, prior: LedgerEntry | None) -> Decision:
    if prior is None or prior.reason == "filtered":
        return Decision(stored, "skip", "filtered")
    return Decision(stored, "retract", "filtered")


def _is_told(events: Sequence[StoredEvent], at: int) -> bool:
    """Whether a listing has shown what the store tells of itself, in this batch."""
    listed = events[at]
    if not is_from_listing(listed) or is_request(listed.event) or is_drop(listed.event):
        return False
    before = [stored for stored in events[:at] if _is_sent(stored)][-1:]
    after = [stored for stored in events[at + 1 :] if _is_sent(stored)]
    states = [stored.event for stored in (*before, *after) if stored.event.kind != "removed"]
    return listed.event.kind != "removed" and any(event.etag == listed.event.etag for event in states)


def _is_sent(stored: StoredEvent) -> bool:
    return _changes_content(stored) and not is_from_listing(stored)


def _is_replaced(events: Sequence[StoredEvent], at: int) -> bool:
    """Whether what the event speaks of cannot be had any more after the last change of the batch.

    A listing may have seen something newer than all versions that are told of, and than another listing.
    """
    if not is_from_listing(events[at]):
        return not events[at].event.version_id
    return any(_is_sent(stored) and not stored.event.version_id for stored in events[at + 1 :])


def _is_stale(events: Sequence[StoredEvent], at: int, prior: LedgerEntry | None) -> bool:
    """Whether the empty object that a listing has shown, which nobody reads, was written over since."""
    listed = events[at]
    if not is_from_listing(listed) or find_rowless_reason(listed.event) is None:
        return False
    known_at = prior.event_time if prior is not None and prior.order_key else None
    is_known = known_at is not None and known_at > listed.received_at
    return is_known or any(_is_sent(later) or _shows_other(later, listed) for later in events[at + 1 :])


def _shows_other(later: StoredEvent, listed: StoredEvent) -> bool:
    """Whether a later listing has seen something else under the key."""
    event = later.event
    is_shown = is_from_listing(later) and event.kind == "created" and not is_drop(event)
    return is_shown and event.etag != listed.event.etag


def _last_seen(stored: StoredEvent) -> datetime:
    """When what the event tells of is known to have been so."""
    is_shown = is_from_listing(stored) and stored.event.kind != "removed"
    return stored.received_at if is_shown else _time(stored)


def _time(stored: StoredEvent) -> datetime:
    return stored.event.event_time


def _is_change(stored: StoredEvent) -> bool:
    """Whether the event tells of content: a request is answered by a read, and supersedes nothing."""
    return _changes_content(stored) and not is_request(stored.event)


def _changes_content(stored: StoredEvent) -> bool:
    return stored.event.kind in CONTENT_KINDS


def _decide(
    stored: StoredEvent,
    prior: LedgerEntry | None,
    left: LedgerEntry | None,
    rules: FoldRules,
    *,
    is_over: bool,
) -> Decision:
    event = stored.event
    if event.kind not in CONTENT_KINDS:
        return Decision(stored, "skip", "not_content")
    if is_drop(event):
        return Decision(stored, "skip", "superseded" if is_over else "dropped")
    if event.kind == "removed":
        return _decide_removal(stored, prior, rules)
    reason = find_rowless_reason(event)
    if reason == "folder_marker":
        return Decision(stored, "skip", reason)
    if is_over or _is_late(stored, prior, rules):
        return Decision(stored, "skip", "superseded")
    if _is_taken_in(stored, left, rules):
        if is_repair(event):
            return Decision(stored, "read")
        return Decision(stored, "skip", "already_ingested", kept=left.rows if left else 0)
    return Decision(stored, "skip", reason) if reason else Decision(stored, "read")


def _is_taken_in(stored: StoredEvent, prior: LedgerEntry | None, rules: FoldRules) -> bool:
    """Whether the content was taken in before its own event came, or before a listing showed it."""
    if prior is None or not names_content_of(stored, prior):
        return False
    if prior.looked and rules.merges:
        # It came in with the time of an older event, and so lost against rows that are older than itself.
        return False
    if is_from_listing(stored):
        return prior.status in ("ingested", "skipped")
    return prior.looked and prior.status == "ingested"


def _decide_removal(stored: StoredEvent, prior: LedgerEntry | None, rules: FoldRules) -> Decision:
    if rules.on_object_removed == "ignore":
        return Decision(stored, "skip", "removal_ignored")
    if prior and _is_behind(stored, prior):
        return Decision(stored, "skip", "superseded")
    if is_certain_removal(stored.event):
        return Decision(stored, "retract")
    if prior and prior.status == "removed":
        return _decide_back(stored, prior)
    return Decision(stored, "retract", version=stored.event.version)


def _decide_back(stored: StoredEvent, prior: LedgerEntry | None) -> Decision:
    """A version of a removed object is gone for good: if that was its delete marker, an older one is back."""
    if prior and _is_behind(stored, prior):
        return Decision(stored, "skip", "superseded")
    return Decision(stored, "look")


def _is_behind(removal: StoredEvent, prior: LedgerEntry) -> bool:
    """Whether the table has taken in something newer than the removal."""
    if prior.looked_at is not None and _time(removal) <= prior.looked_at:
        return True
    if not is_from_listing(removal):
        return sort_key(removal) <= prior.sort_key
    # What a listing did not show may have come since.
    return prior.event_time is not None and prior.event_time > _time(removal)


def _is_late(stored: StoredEvent, prior: LedgerEntry | None, rules: FoldRules) -> bool:
    """Whether the object was removed after this event, as far as the table follows removals."""
    if rules.on_object_removed == "ignore" or prior is None or prior.status != "removed":
        return False
    if names_version(stored.event):
        return prior.event_time is not None and _time(stored) <= prior.event_time
    if is_from_listing(stored):
        return False
    if prior.reason == VANISHED and prior.event_time is not None and _time(stored) <= prior.event_time:
        return True
    return sort_key(stored) <= prior.sort_key
