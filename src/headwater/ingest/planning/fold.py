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
    is_from_listing,
    is_repair,
    is_retract,
    names_content_of,
    sort_key,
)
from headwater.ingest.planning.mirror import decide_mirrored


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
    ordered = sorted(unique.values(), key=lambda stored: (stored.event.object_id, sort_key(stored)))
    decisions: list[Decision] = []
    for object_id, group in groupby(ordered, key=lambda stored: stored.event.object_id):
        found, prior = list(group), known.get(object_id)
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
    last_change = max((at for at, stored in enumerate(events) if _changes_content(stored)), default=-1)
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
        is_over = at < last_removal or (at < last_change and _is_replaced(stored, events))
        is_over = is_over or (vanished is not None and _time(stored) <= _time(vanished))
        is_removed = -1 < last_removal < at
        if is_removed and stored.event.kind == "removed":
            decisions.append(_decide_back(stored, prior))
        elif at < last_removal and stored.event.kind == "removed" and not is_certain_removal(stored.event):
            decisions.append(Decision(stored, "skip", "superseded"))
        else:
            # What was taken in before goes with the removal.
            decisions.append(_decide(stored, prior, None if is_removed else prior, rules, is_over=is_over))
    return decisions


def _let_go(stored: StoredEvent, prior: LedgerEntry | None) -> Decision:
    if prior is None or prior.reason == "filtered":
        return Decision(stored, "skip", "filtered")
    return Decision(stored, "retract", "filtered")


def _is_replaced(stored: StoredEvent, events: Sequence[StoredEvent]) -> bool:
    """Whether what the event speaks of cannot be had any more after the last change of the batch.

    A listing may have seen something newer than all versions that are told of, and than another listing.
    """
    if stored.event.version_id or not is_from_listing(stored):
        return not stored.event.version_id
    told = [other.event for other in events if not is_from_listing(other)]
    return any(not event.version_id or event.etag == stored.event.etag for event in told)


def _time(stored: StoredEvent) -> datetime:
    return stored.event.event_time


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
        return Decision(stored, "read") if is_repair(event) else Decision(stored, "skip", "already_ingested")
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
    if not is_from_listing(removal):
        return sort_key(removal) <= prior.sort_key
    # What a listing did not show may have come since.
    return prior.event_time is not None and prior.event_time > removal.event.event_time


def _is_late(stored: StoredEvent, prior: LedgerEntry | None, rules: FoldRules) -> bool:
    """Whether the object was removed after this event, as far as the table follows removals."""
    if rules.on_object_removed == "ignore" or prior is None or prior.status != "removed":
        return False
    if is_from_listing(stored):
        return False
    if prior.reason == VANISHED and prior.event_time is not None and _time(stored) <= prior.event_time:
        return True
    return sort_key(stored) <= prior.sort_key
