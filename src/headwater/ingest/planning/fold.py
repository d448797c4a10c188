"""Fold: what the events of a batch mean for a table. Pure; the heart of order and exactness.

Any permutation of the same events, with any of them repeated, gives the same decisions.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from headwater.capture.stored_event import StoredEvent
from headwater.ingest.planning.decision import Decision, find_rowless_reason, is_certain_removal
from headwater.ingest.planning.mirror import decide_mirrored
from headwater.ingest.planning.object_state import (
    CONTENT_KINDS,
    ObjectState,
    is_drop,
    is_from_listing,
    is_repair,
    is_retract,
    sort_key,
)


@dataclass(frozen=True, slots=True)
class FoldRules:
    """How a table follows its objects: `mirrors` them, or takes their content in and, when an object is
    removed, ignores that, retracts its rows or marks them with a tombstone."""

    mirrors: bool = False
    on_object_removed: Literal["ignore", "retract", "tombstone"] = "ignore"

    @property
    def needs_states(self) -> bool:
        """Whether what was applied before must be known for every object, not only after a listing."""
        return self.mirrors or self.on_object_removed != "ignore"


IGNORE_REMOVALS = FoldRules()


def fold(
    events: Iterable[StoredEvent],
    states: Mapping[str, ObjectState] | None = None,
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
        decisions += decide_mirrored(found, prior) if rules.mirrors else _take_in(found, prior, rules)
    return decisions


def _take_in(events: Sequence[StoredEvent], prior: ObjectState | None, rules: FoldRules) -> list[Decision]:
    last_change = max((at for at, stored in enumerate(events) if _changes_content(stored)), default=-1)
    last_removal = -1
    if rules.on_object_removed != "ignore":
        removals = (at for at, stored in enumerate(events) if is_certain_removal(stored.event))
        last_removal = max(removals, default=-1)
    decisions = []
    for at, stored in enumerate(events):
        # Versions stay readable after a write, not after a removal that the table is to follow.
        is_over = at < last_removal or (at < last_change and not stored.event.version_id)
        decisions.append(_decide(stored, prior, rules, is_over=is_over))
    return decisions


def _let_go(stored: StoredEvent, prior: ObjectState | None) -> Decision:
    if prior is None or prior.reason == "filtered":
        return Decision(stored, "skip", "filtered")
    return Decision(stored, "retract", "filtered")


def _changes_content(stored: StoredEvent) -> bool:
    return stored.event.kind in CONTENT_KINDS


def _decide(stored: StoredEvent, prior: ObjectState | None, rules: FoldRules, *, is_over: bool) -> Decision:
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
    if prior and (prior.looked or is_from_listing(stored)) and prior.version == event.version:
        return Decision(stored, "read") if is_repair(event) else Decision(stored, "skip", "already_ingested")
    return Decision(stored, "skip", reason) if reason else Decision(stored, "read")


def _decide_removal(stored: StoredEvent, prior: ObjectState | None, rules: FoldRules) -> Decision:
    if rules.on_object_removed == "ignore":
        return Decision(stored, "skip", "removal_ignored")
    if prior and _is_behind(stored, prior):
        return Decision(stored, "skip", "superseded")
    if is_certain_removal(stored.event):
        return Decision(stored, "retract")
    return Decision(stored, "retract", version=stored.event.version)


def _is_behind(removal: StoredEvent, prior: ObjectState) -> bool:
    """Whether the table has taken in something newer than the removal."""
    if not is_from_listing(removal):
        return sort_key(removal) <= prior.sort_key
    # What a listing did not show may have come since.
    return prior.event_time is not None and prior.event_time > removal.event.event_time


def _is_late(stored: StoredEvent, prior: ObjectState | None, rules: FoldRules) -> bool:
    """Whether the object was removed after this event, as far as the table follows removals."""
    if rules.on_object_removed == "ignore" or prior is None or prior.status != "removed":
        return False
    return not is_from_listing(stored) and sort_key(stored) <= prior.sort_key
