"""The object under a key according to its events. Pure.

The newest event by order key decides, or a newer listing's observation. So an overwrite whose notification
was lost is known from the listing that found it, and is not reported again every day. Objects that a table
observed after all their events are also compared, because their removal may have been lost. So are objects of
which a table read another content than the listed one: it may have been deleted since, with every event lost.

`known_states` computes the same for whole events tables, in Spark; a test compares the two.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from operator import itemgetter

from headwater.capture.control_events import (
    CLEANED_EVENT,
    DROP_EVENT,
    REQUESTS,
    RETRACT_EVENT,
    TAGGED_EVENT,
)
from headwater.capture.stored_event import StoredEvent
from headwater.sources.listing_diff import KnownState
from headwater.sources.object_event import ObjectEvent, is_same_etag

ALL_REQUESTS = (*REQUESTS, DROP_EVENT, RETRACT_EVENT)
"""Requests, which do not describe the object under the key."""
CLEANINGS = (CLEANED_EVENT, TAGGED_EVENT)
"""Events which announce that headwater itself removes the object."""


@dataclass(frozen=True, slots=True)
class TableObservation:
    """What one data table found under a key, which no event may have named.

    `after` is the time of the newest event that the table had processed. `etag` is that of the content, empty
    if the table could not read it any more. `read_after` is a time before the read; None if it is unknown, or
    if the table has given the object up or excluded it since.
    """

    after: datetime
    etag: str = ""
    read_after: datetime | None = None

    @property
    def is_absence(self) -> bool:
        """True if a read found nothing under the key."""
        return not self.etag and self.read_after is not None


def fold_known(
    events: Iterable[StoredEvent], bucket: str, seen: Mapping[str, Sequence[TableObservation]]
) -> list[KnownState]:
    """Return the objects of a bucket that exist according to the events, in the order of their keys.

    `seen` maps a key to what tables found there.
    """
    by_key: dict[str, list[StoredEvent]] = {key: [] for key in seen}
    for stored in events:
        if stored.event.bucket == bucket and _describes_state(stored.event):
            by_key.setdefault(stored.event.key, []).append(stored)
    states = []
    for key, found in sorted(by_key.items(), key=itemgetter(0)):
        state, reported_at = _find_newest(found)
        if state is not None:
            is_unheard = _is_contradicted(state, found, seen.get(key, ()))
            states.append(replace(_to_known(state, _find_cleaning(found)), is_unheard=is_unheard))
        elif any(
            not one.is_absence and (reported_at is None or one.after >= reported_at)
            for one in seen.get(key, ())
        ):
            # Without any event, a request had the table read the object.
            states.append(KnownState(key, None, is_unheard=True))
    return states


def _is_contradicted(
    state: ObjectEvent, events: Sequence[StoredEvent], seen: Sequence[TableObservation]
) -> bool:
    """True if a table read the object after this state was known, and found another content."""
    if not state.etag:
        return False
    listed = next((stored for stored in events if stored.event is state and _is_observation(stored)), None)

    def is_later(one: TableObservation) -> bool:
        if one.read_after is None:
            return False
        # The notification of a state precedes the reads of tables that have processed it. A listing does not.
        return one.after >= state.event_time if listed is None else one.read_after >= listed.received_at

    return any(is_later(one) and not is_same_etag(one.etag, state.etag) for one in seen)


CERTAIN_REMOVALS = ("DeleteMarkerCreated", "OBJECT_DELETE", "OBJECT_ARCHIVE")
"""Ends of names of events after which no older version is the current one. Versions of Cloud Storage are in
order, and an older one never becomes the current one again."""


def is_certain_removal(event: ObjectEvent) -> bool:
    """True if nothing is stored under the key after the event.

    In a bucket with versions, deleting one version by its id may make an older one the current one.
    """
    if event.kind != "removed":
        return False
    return event.version_id in (None, "", "null") or event.event_name.endswith(CERTAIN_REMOVALS)


def _describes_state(event: ObjectEvent) -> bool:
    if event.event_name in ALL_REQUESTS:
        return False
    return event.kind in ("created", "restored", "removed") or event.event_name in CLEANINGS


def _find_newest(events: Sequence[StoredEvent]) -> tuple[ObjectEvent | None, datetime | None]:
    """Return the current object, or None, and the time of the object's last event."""
    about_content = [stored for stored in events if stored.event.event_name not in CLEANINGS]
    listings = [stored for stored in about_content if _is_observation(stored)]
    sent = [stored.event for stored in about_content if stored not in listings]
    created = max((event for event in sent if event.kind != "removed"), key=_order, default=None)
    removals = [event for event in sent if event.kind == "removed"]
    removed = max(filter(is_certain_removal, removals), key=_order, default=None)
    of_versions = [event for event in removals if not is_certain_removal(event)]
    of_version = max(of_versions, key=_order, default=None)
    exists = created is not None and not any(
        [
            removed is not None and _order(removed) >= _order(created),
            # Removing a version other than the newest changes nothing, before or after that one.
            any(
                event.version_id == created.version_id and _order(event) > _order(created)
                for event in of_versions
            ),
        ]
    )
    times = [event.event_time for event in (removed, of_version, created) if event is not None]
    reported_at = created.event_time if exists and created is not None else max(times, default=None)
    listed = max(listings, key=lambda s: (s.received_at, s.event.event_time), default=None)
    if listed is None:
        return (created if exists else None), reported_at
    if reported_at is not None and listed.received_at <= reported_at:
        return (created if exists else None), reported_at
    return (None if listed.event.kind == "removed" else listed.event), listed.received_at


def _is_observation(stored: StoredEvent) -> bool:
    return stored.source == "listing" and stored.event.order_key is None


def _order(event: ObjectEvent) -> tuple[str, datetime]:
    return (event.order_key or "", event.event_time)


def _find_cleaning(events: Sequence[StoredEvent]) -> ObjectEvent | None:
    cleanings = [stored for stored in events if stored.event.event_name in CLEANINGS]
    newest = max(cleanings, key=lambda s: (s.received_at, s.event.event_time), default=None)
    return None if newest is None else newest.event


def _to_known(state: ObjectEvent, cleaned: ObjectEvent | None) -> KnownState:
    # A newer put has another etag or a later time.
    may_be_deleted = (
        cleaned is not None and cleaned.etag == state.etag and cleaned.event_time >= state.event_time
    )
    return KnownState(
        state.key, state.etag, state.version_id, state.size, state.event_time, may_be_deleted=may_be_deleted
    )
