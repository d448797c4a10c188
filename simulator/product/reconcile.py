"""A listing against what the events tell, with the real decisions of `headwater.capture.reconcile`."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from headwater.capture.captured_event import CapturedEvent
from headwater.capture.listers.listing_diff import Comparison, KnownState, compare_listing
from headwater.capture.listers.protocol import ListedObject
from headwater.capture.object_event import ObjectEvent
from headwater.capture.own_events import DROP_EVENT, REQUESTS
from headwater.capture.reconcile.decision import Bounds, EventOrigin, build_event, decide
from headwater.capture.stored_event import StoredEvent
from headwater.ingest.planning.observation import is_from_listing
from simulator.bugs import Bugs
from simulator.outside.bucket import BUCKET, Bucket
from simulator.outside.clock import SimulatedClock
from simulator.outside.crash import Crashes
from simulator.product.events_table import OpenAppend, SimulatedEventsTable

Compare = Callable[[Iterable[ListedObject], Iterable[KnownState]], Iterator[Comparison]]
"""Listed objects and known states, both in the order of keys, to every key once."""

SETTLE = timedelta(seconds=60)
"""What is younger is left to its notification."""

_WISHES = REQUESTS | {DROP_EVENT}


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
        compare: Compare = compare_listing,
        find_seen: Callable[[], Mapping[str, datetime]] = dict,
    ) -> None:
        self._bucket = bucket
        self._events = events
        self._clock = clock
        self._crashes = crashes
        self._bugs = bugs
        self._compare = compare
        self._find_seen = find_seen
        self._listing: _Listing | None = None
        self._batch: list[CapturedEvent] | None = None
        self._opened: OpenAppend | None = None

    @property
    def is_under_way(self) -> bool:
        return self._listing is not None

    def step(self, *, settle: bool = True, beside: bool = False) -> int | None:
        """List, then compare, then write; the pass is over when it gives the number of events written.

        `beside`: it writes as a second writer does, whose commit others overtake.
        """
        if self._opened is not None:
            opened, self._opened, self._batch, self._listing = self._opened, None, None, None
            return self._events.finish_append(opened)
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
        if beside:
            self._opened = self._events.open_append(self._batch)
            self._crashes.at("differences requested")
            return None
        batch, self._batch, self._listing = self._batch, None, None
        written = self._events.append(batch) if batch else 0
        self._crashes.at("differences written")
        return written

    def _find_differences(self, listing: _Listing) -> list[CapturedEvent]:
        bounds = Bounds(settled_before=listing.started_at - listing.settle)
        origin = EventOrigin("s3", BUCKET, listing.started_at)
        told = []
        for compared in self._compare(listing.objects, self._list_known()):
            decision = decide(compared, bounds)
            if decision in ("same", "unsettled", "excluded"):
                continue
            if decision == "vanished" and "vanished_not_told" in self._bugs:
                continue
            told.append(build_event(compared, origin))
        if "listing_wins" in self._bugs:
            return [replace(c, event=replace(c.event, order_key="f" * 64)) for c in told]
        return told

    def _list_known(self) -> list[KnownState]:
        seen = {} if "seen_not_asked" in self._bugs else self._find_seen()
        known = find_known(self._events.iter_all(), seen)
        if "listing_of_known" in self._bugs:
            return [replace(state, etag=None) for state in known]
        return known


def find_known(events: Iterable[StoredEvent], seen: Mapping[str, datetime]) -> list[KnownState]:
    """What the events say lies in the bucket: by order key, and by a listing that is newer than that; and
    what tables have seen since it was gone."""
    states = []
    for key, group in sorted(_group_by_key(events).items()):
        event, told_at = _find_state(group)
        if event is not None:
            states.append(KnownState(key, event.etag, event.version_id, event.size, event.event_time))
        elif key in seen and seen[key] >= told_at:
            states.append(KnownState(key, None, is_unheard=True))
    return states


def _group_by_key(events: Iterable[StoredEvent]) -> dict[str, list[StoredEvent]]:
    by_key: dict[str, list[StoredEvent]] = {}
    for stored in events:
        event = stored.event
        is_content = event.kind in ("created", "restored", "removed") and event.event_name not in _WISHES
        if is_content and event.bucket == BUCKET:
            by_key.setdefault(stored.event.key, []).append(stored)
    return by_key


def _find_state(events: Sequence[StoredEvent]) -> tuple[ObjectEvent | None, datetime]:
    """What lies there, None for nothing, and when somebody told of the object last."""
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
        return (None if listed.event.kind == "removed" else listed.event), listed.received_at
    assert told_at is not None
    return (created if exists else None), told_at


def _order(event: ObjectEvent | None) -> tuple[str, datetime]:
    assert event is not None
    return (event.order_key or "", event.event_time)


def is_certain_removal(event: ObjectEvent) -> bool:
    """True if nothing is stored under the key after the event.

    In a bucket with versions, deleting one version by its id may make an older one the current one.
    """
    if event.kind != "removed":
        return False
    return event.version_id in (None, "", "null") or event.event_name.endswith("DeleteMarkerCreated")
