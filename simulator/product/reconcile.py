"""Compares a listing with the events: the real `Reconciler` on simulated ports, a few keys at a time."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from headwater.capture.captured_event import CapturedEvent
from headwater.capture.reconcile import Listing, ReconcileOptions, ReconcilePass, Reconciler
from headwater.capture.reconcile.newest_state import TableObservation, fold_known
from headwater.sources.lister import ListedObject
from headwater.sources.listing_diff import KnownState
from simulator.bugs import Bugs
from simulator.outside.bucket import BUCKET, Bucket
from simulator.outside.clock import SimulatedClock
from simulator.outside.crash import Crashes
from simulator.outside.hudi import HudiTable, Write
from simulator.product.events_table import SimulatedEventsTable

_PAGE = 2
_CHECKPOINT_OBJECTS = 3


class PagedLister:
    """Lists the bucket page by page; objects may change between two pages."""

    def __init__(self, bucket: Bucket, crashes: Crashes) -> None:
        self._bucket = bucket
        self._crashes = crashes

    def iter_objects(self, prefix: str = "", start_after: str = "") -> Iterator[ListedObject]:
        while True:
            found = [
                listed
                for listed in self._bucket.list_objects()
                if listed.key.startswith(prefix) and listed.key > start_after
            ]
            page = sorted(found, key=lambda listed: listed.key)[:_PAGE]
            self._crashes.at("listed")
            yield from page
            if len(found) <= _PAGE:
                return
            start_after = page[-1].key


@dataclass(frozen=True, slots=True)
class Appended:
    events: int


class SimulatedEventLog:
    """The events table as a reconcile uses it, and what the tables ingested.

    `during_commit` runs while a commit is open, like a concurrent writer.
    """

    def __init__(
        self,
        events: SimulatedEventsTable,
        crashes: Crashes,
        bugs: Bugs,
        find_seen: Callable[[], Mapping[str, Sequence[TableObservation]]],
    ) -> None:
        self._events = events
        self._crashes = crashes
        self._bugs = bugs
        self._find_seen = find_seen
        self.during_commit: Callable[[], None] | None = None

    def iter_known(self, bucket: str, prefix: str, start_after: str) -> Iterator[KnownState]:
        seen = {} if "seen_not_asked" in self._bugs else self._find_seen()
        known = fold_known(self._events.iter_all(), bucket, seen)
        if "listing_of_known" in self._bugs:
            known = [replace(state, etag=None, event_time=None) for state in known]
        return (state for state in known if state.key.startswith(prefix) and state.key > start_after)

    def append(self, batch: Sequence[CapturedEvent]) -> Appended:
        self._crashes.at("compared")
        if "vanished_not_told" in self._bugs:
            batch = [captured for captured in batch if captured.event.kind != "removed"]
        if "listing_wins" in self._bugs:
            batch = [replace(c, event=replace(c.event, order_key="f" * 64)) for c in batch]
        if self.during_commit is None:
            written = self._events.append(batch)
        else:
            opened = self._events.open_append(batch)
            self._crashes.at("differences requested")
            self.during_commit()
            written = self._events.finish_append(opened)
        self._crashes.at("differences written")
        return Appended(written)


class SimulatedPasses:
    """Stores passes; survives the process."""

    def __init__(self, table: HudiTable[ReconcilePass]) -> None:
        self._table = table

    def save(self, done: ReconcilePass) -> None:
        self._table.write(Write([(done.pass_id, done)]))

    def list_passes(self, bucket: str, prefix: str) -> list[ReconcilePass]:
        return [done for done in self._table.peek() if (done.bucket, done.prefix) == (bucket, prefix)]


class SimulatedReconcile:
    """State of one pass; a later one resumes from its saved progress."""

    def __init__(
        self,
        bucket: Bucket,
        log: SimulatedEventLog,
        passes: HudiTable[ReconcilePass],
        clock: SimulatedClock,
        crashes: Crashes,
    ) -> None:
        self._listing = Listing(PagedLister(bucket, crashes), BUCKET, "")
        self._log = log
        self._passes = SimulatedPasses(passes)
        self._clock = clock
        self._progress: Iterator[ReconcilePass] | None = None

    @property
    def is_under_way(self) -> bool:
        return self._progress is not None

    def step(
        self, pauses: int = 1, *, settles: bool = True, during_commit: Callable[[], None] | None = None
    ) -> ReconcilePass | None:
        """Resumes or starts a pass up to one of its pauses; returns the pass when it is complete.

        Failures end the pass. `settles`: young objects are left to their notifications. `during_commit` runs
        while events are committed, if this step commits any.
        """
        if self._progress is None:
            self._clock.next_moment()
            options = ReconcileOptions(checkpoint_objects=_CHECKPOINT_OBJECTS)
            options = options if settles else replace(options, settle=None)
            reconciler = Reconciler(self._listing, self._log, self._passes, options, clock=self._clock)
            self._progress = reconciler.iter_progress(threading.Event())
        progress, self._progress = self._progress, None
        self._log.during_commit = during_commit
        done = None
        for _ in range(pauses):
            done = next(progress)
            if done.finished_at is not None:
                return done
        self._progress = progress
        return None
