"""A listing against what the events tell; differences become events with the source `listing`.

The comparison itself is `Compare`, a seam of one function, so that another one can be put in its place.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from headwater.capture.captured_event import CapturedEvent
from headwater.capture.listers.protocol import ListedObject
from headwater.capture.listing_diff import ListingChanges, diff_listing
from headwater.capture.object_event import ObjectEvent
from headwater.capture.stored_event import StoredEvent
from headwater.ingest.planning.decision import is_certain_removal
from headwater.ingest.planning.object_state import is_from_listing
from simulator.bugs import Bugs
from simulator.outside.bucket import BUCKET, Bucket
from simulator.outside.clock import SimulatedClock
from simulator.outside.crash import Crashes
from simulator.product.events_table import SimulatedEventsTable

Compare = Callable[[Iterable[ListedObject], Mapping[str, str]], ListingChanges]
"""Listed objects and known etags by key, to what differs."""

SETTLE = timedelta(seconds=60)
"""What is younger is left to its notification."""


class _Listing(NamedTuple):
    started_at: datetime
    settle: timedelta
    objects: Sequence[ListedObject]


class SimulatedReconcile:
    """The memory of one pass: a crash begins it anew."""

    def __init__(
        self,
        bucket: Bucket,
        events: SimulatedEventsTable,
        clock: SimulatedClock,
        crashes: Crashes,
        bugs: Bugs,
        compare: Compare = diff_listing,
    ) -> None:
        self._bucket = bucket
        self._events = events
        self._clock = clock
        self._crashes = crashes
        self._bugs = bugs
        self._compare = compare
        self._listing: _Listing | None = None
        self._batch: list[CapturedEvent] | None = None

    @property
    def is_under_way(self) -> bool:
        return self._listing is not None

    def step(self, *, settle: bool = True) -> int | None:
        """List, then compare, then write; the pass is over when it gives the number of events written."""
        if self._listing is None:
            objects = self._bucket.list_objects()
            wait = SETTLE if settle else timedelta()
            self._listing = _Listing(self._clock.next_moment(), wait, objects)
            self._crashes.at("listed")
            return None
        if self._batch is None:
            self._batch = self._find_differences(self._listing)
            self._crashes.at("compared")
            return None
        batch, self._batch, self._listing = self._batch, None, None
        written = self._events.append(batch) if batch else 0
        self._crashes.at("differences written")
        return written

    def _find_differences(self, listing: _Listing) -> list[CapturedEvent]:
        known = find_known(self._events.iter_all())
        listed = {found.key: found for found in listing.objects}
        changes = self._compare(listing.objects, {key: event.etag or "" for key, event in known.items()})
        changed = [found for found in changes.changed if "listing_of_known" not in self._bugs]
        if "listing_of_known" in self._bugs:
            changed = [o for o in listing.objects if o.key not in known or known[o.key].size != o.size]
        removed = () if "vanished_not_told" in self._bugs else changes.removed
        horizon = listing.started_at - listing.settle
        told = [build_listed(found) for found in changed if self._is_settled(found, known, horizon)]
        told += [
            build_vanished(key, listing.started_at)
            for key in removed
            if key not in listed and known[key].event_time <= horizon
        ]
        if "listing_wins" in self._bugs:
            told = [replace(event, order_key="f" * 64) for event in told]
        return [CapturedEvent(event, listing.started_at, "", "listing") for event in told]

    def _is_settled(self, found: ListedObject, known: Mapping[str, ObjectEvent], horizon: datetime) -> bool:
        event = known.get(found.key)
        return found.last_modified <= horizon and (event is None or event.event_time <= horizon)


def build_listed(found: ListedObject) -> ObjectEvent:
    return ObjectEvent(
        provider="s3",
        bucket=BUCKET,
        key=found.key,
        version_id=found.version_id,
        sequencer=None,
        order_key=None,
        kind="created",
        event_name="headwater:ListedObject",
        event_time=found.last_modified,
        size=found.size,
        etag=found.etag,
    )


def build_vanished(key: str, listed_at: datetime) -> ObjectEvent:
    return ObjectEvent(
        provider="s3",
        bucket=BUCKET,
        key=key,
        version_id=None,
        sequencer=None,
        order_key=None,
        kind="removed",
        event_name="headwater:VanishedObject",
        event_time=listed_at,
        size=None,
        etag=None,
    )


def find_known(events: Iterable[StoredEvent]) -> dict[str, ObjectEvent]:
    """What the events say lies in the bucket: by order key, and by a listing that is newer than that."""
    by_key: dict[str, list[StoredEvent]] = {}
    for stored in events:
        if stored.event.kind in ("created", "restored", "removed") and stored.event.bucket == BUCKET:
            by_key.setdefault(stored.event.key, []).append(stored)
    found = ((key, _find_state(group)) for key, group in by_key.items())
    return {key: event for key, event in found if event is not None and event.kind != "removed"}


def _find_state(events: Sequence[StoredEvent]) -> ObjectEvent | None:
    real = [s.event for s in events if not is_from_listing(s)]
    listings = [s for s in events if is_from_listing(s)]
    created = max((e for e in real if e.kind != "removed"), key=_order, default=None)
    removals = [e for e in real if e.kind == "removed"]
    of_version = max((e for e in removals if not is_certain_removal(e)), key=_order, default=None)
    removed = max((e for e in removals if is_certain_removal(e)), key=_order, default=None)
    is_version_gone = (
        created is not None
        and of_version is not None
        and of_version.version_id == created.version_id
        and _order(of_version) > _order(created)
    )
    exists = created is not None and not is_version_gone
    exists = exists and (removed is None or _order(removed) < _order(created))
    times = [e.event_time for e in (removed, of_version, created) if e is not None]
    told_at = created.event_time if exists and created else max(times, default=None)
    listed = max(listings, key=lambda s: (s.received_at, s.event.event_time), default=None)
    if listed is not None and (told_at is None or listed.received_at > told_at):
        return listed.event
    return created if exists else None


def _order(event: ObjectEvent | None) -> tuple[str, datetime]:
    assert event is not None
    return (event.order_key or "", event.event_time)
