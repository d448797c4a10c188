"""Fold: what the events of a batch mean for a table. Pure; the heart of order and exactness.

Any permutation of the same events, with any of them repeated, gives the same decisions.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from headwater.capture.stored_event import StoredEvent

Action = Literal["read", "skip"]

SkipReason = Literal[
    "duplicate",
    "superseded",
    "already_ingested",
    "removal_ignored",
    "not_content",
    "folder_marker",
    "empty_object",
]


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do for one event, and why if it is not read."""

    stored: StoredEvent
    action: Action
    reason: SkipReason | None = None


def sort_key(stored: StoredEvent) -> tuple[str, str, str]:
    """Order of the events of one object: order key first, event time where there is none."""
    event = stored.event
    return (event.order_key or "", event.event_time.isoformat(), stored.event_id)


def state_id(stored: StoredEvent) -> tuple[str, str]:
    """The object state that an event names: object, and version id or etag."""
    event = stored.event
    return (event.object_id, event.version_id or event.etag or "")


def fold(events: Iterable[StoredEvent], observed: frozenset[tuple[str, str]] = frozenset()) -> list[Decision]:
    """Decide for the events of one batch, in the order of object and event.

    `observed` are states ingested before their own event came (see `plan.py`): that event is
    skipped. Versions of a versioned object are all read: each is a state of its own that can still
    be had. Without versions only the last state exists, so the events before it are superseded.
    """
    unique = {stored.event_id: stored for stored in events}
    ordered = sorted(unique.values(), key=lambda stored: (stored.event.object_id, sort_key(stored)))
    decisions: list[Decision] = []
    for _, group in groupby(ordered, key=lambda stored: stored.event.object_id):
        decisions += _fold_object(list(group), observed)
    return decisions


def _fold_object(events: list[StoredEvent], observed: frozenset[tuple[str, str]]) -> list[Decision]:
    last_change = max(
        (at for at, stored in enumerate(events) if _changes_content(stored)),
        default=-1,
    )
    return [_decide(stored, is_last=at >= last_change, observed=observed) for at, stored in enumerate(events)]


def _changes_content(stored: StoredEvent) -> bool:
    return stored.event.kind in ("created", "removed", "restored")


def _decide(stored: StoredEvent, *, is_last: bool, observed: frozenset[tuple[str, str]]) -> Decision:
    event = stored.event
    if event.kind == "removed":
        return Decision(stored, "skip", "removal_ignored")
    if event.kind not in ("created", "restored"):
        return Decision(stored, "skip", "not_content")
    if event.key.endswith("/") and not event.size:
        return Decision(stored, "skip", "folder_marker")
    if not is_last and not event.version_id:
        return Decision(stored, "skip", "superseded")
    if state_id(stored) in observed:
        return Decision(stored, "skip", "already_ingested")
    if event.size == 0:
        return Decision(stored, "skip", "empty_object")
    return Decision(stored, "read")
