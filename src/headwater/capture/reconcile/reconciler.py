"""`Reconciler`: compares a listing with the events table in one resumable pass."""

import threading
import uuid
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol

import structlog

from headwater.capture.captured_event import CapturedEvent
from headwater.capture.reconcile.decision import (
    Bounds,
    Decision,
    EventOrigin,
    build_event,
    choose_settled_before,
    decide,
)
from headwater.capture.reconcile.passes import (
    LISTING,
    START,
    ReconcilePass,
    find_first,
    find_unfinished,
)
from headwater.errors import SourceError
from headwater.observability.clock import SystemClock, WallClock
from headwater.observability.crash_points import crash_point
from headwater.sources.lister import Lister
from headwater.sources.listing_diff import Comparison, KnownState, compare_listing

log = structlog.stdlib.get_logger(__name__)


class AppendedEvents(Protocol):
    """The result of a commit to an events table."""

    @property
    def events(self) -> int:
        """Return the number of events that were new to the table."""
        ...


class ReconcileEventLog(Protocol):
    """The part of the events table that a reconcile needs."""

    def iter_known(self, bucket: str, prefix: str, start_after: str) -> Iterator[KnownState]:
        """Yield objects that exist according to the events, in the order of keys. Raises `LakeError`."""
        ...

    def append(self, batch: Sequence[CapturedEvent]) -> AppendedEvents:
        """Commit the batch, all or nothing. Raises `LakeError`."""
        ...


class PassLog(Protocol):
    """Stores passes."""

    def save(self, done: ReconcilePass) -> None:
        """Write a pass, or its newest state. Raises `LakeError`."""
        ...

    def list_passes(self, bucket: str, prefix: str) -> list[ReconcilePass]:
        """List all saved passes. Raises `LakeError`."""
        ...


@dataclass(frozen=True, slots=True)
class Listing:
    """The listing to compare. `name` is `listing` or an inventory's address; `as_of` is the time of an
    inventory, None for now. `is_absent` is called before an object counts as absent: an inventory may cover a
    part of the bucket, and is hours old.
    """

    lister: Lister
    bucket: str
    prefix: str
    provider: str = "s3"
    name: str = LISTING
    as_of: datetime | None = None
    is_absent: Callable[[str], bool] = lambda _key: True


@dataclass(frozen=True, slots=True)
class ReconcileOptions:
    """`settle` None: every object counts as settled. `include_existing` False excludes objects that existed
    before the first pass. `checkpoint_objects`: maximum number of keys between two saves of the cursor.
    `captured_until`: notifications sent later may still wait in the queue; None: none waits. `restored_at`:
    earlier passes are not resumed.
    """

    settle: timedelta | None = timedelta(seconds=60)
    include_existing: bool = True
    checkpoint_objects: int = 100_000
    max_batch_events: int = 5_000
    dry_run: bool = False
    captured_until: datetime | None = None
    restored_at: datetime | None = None


OnDifference = Callable[[Decision, Comparison], None]


class Reconciler:
    """Compares, appends differences and saves its progress. One object per pass."""

    def __init__(
        self,
        listing: Listing,
        events: ReconcileEventLog,
        passes: PassLog,
        options: ReconcileOptions,
        *,
        clock: WallClock | None = None,
        on_difference: OnDifference = lambda _decision, _compared: None,
    ) -> None:
        self._listing = listing
        self._events = events
        self._passes = passes
        self._options = options
        self._clock = clock or SystemClock()
        self._on_difference = on_difference
        self._batch: list[CapturedEvent] = []
        self._counts: Counter[str] = Counter()

    def run(self, stop: threading.Event) -> ReconcilePass:
        """Resume an unfinished pass or begin one; `finished_at` is None if `stop` was set first.

        Raises `SourceError` if the bucket cannot be listed and `LakeError` if a table cannot be used. Events
        emitted before are kept, and the next run resumes after them.
        """
        return deque(self.iter_progress(stop), maxlen=1).pop()

    def iter_progress(self, stop: threading.Event) -> Iterator[ReconcilePass]:
        """Run like `run`, and yield before the first key, after each key and after each commit."""
        past = self._passes.list_passes(self._listing.bucket, self._listing.prefix)
        done = self._begin(past)
        yield done
        done = yield from self._compare(done, past, stop)
        if not stop.is_set():
            done = replace(done, finished_at=self._clock.now())
        self._save(done)
        yield done

    def _begin(self, past: list[ReconcilePass]) -> ReconcilePass:
        listing, now = self._listing, self._clock.now()
        since = self._options.restored_at
        unfinished = None if self._options.dry_run else find_unfinished(past, listing.name, now, since)
        if unfinished:
            log.info("resuming interrupted reconcile", after=unfinished.cursor)
            return unfinished
        return begin_pass(listing, now)

    def _compare(
        self, done: ReconcilePass, past: list[ReconcilePass], stop: threading.Event
    ) -> Generator[ReconcilePass, None, ReconcilePass]:
        bounds = self._choose_bounds(done, past)
        origin = EventOrigin(self._listing.provider, self._listing.bucket, done.started_at)
        cursor, since_save = done.cursor, 0
        try:
            for compared in self._iter_compared(done.cursor):
                self._take(compared, bounds, origin)
                cursor = compared.key
                since_save += 1
                yield done
                if stop.is_set():
                    break
                if since_save >= self._options.checkpoint_objects:
                    done = self._commit(done, cursor)
                    yield done
                    since_save = 0
                    self._save(done)
                elif len(self._batch) >= self._options.max_batch_events:
                    done = self._commit(done, cursor)
        except SourceError:
            # The listing was interrupted; the keys before that are decided and need not be listed again.
            self._save(self._commit(done, cursor))
            raise
        done = self._commit(done, cursor)
        yield done
        return done

    def _iter_compared(self, start_after: str) -> Iterator[Comparison]:
        bucket, prefix = self._listing.bucket, self._listing.prefix
        return compare_listing(
            self._listing.lister.iter_objects(prefix, start_after),
            self._events.iter_known(bucket, prefix, start_after),
            listing=f"the {self._listing.name} of {bucket}",
        )

    def _choose_bounds(self, done: ReconcilePass, past: list[ReconcilePass]) -> Bounds:
        settle = self._options.settle
        first = find_first([*past, done])
        return Bounds(
            settled_before=None
            if settle is None
            else choose_settled_before(done.started_at, settle, self._options.captured_until),
            existing_before=None if self._options.include_existing or not first else first.started_at,
        )

    def _take(self, compared: Comparison, bounds: Bounds, origin: EventOrigin) -> None:
        """Count one key, and add its event to the batch if there is a difference."""
        if compared.listed is not None:
            self._counts["listed"] += 1
        decision = decide(compared, bounds)
        if decision == "vanished" and not self._listing.is_absent(compared.key):
            decision = "unsettled"
        if decision in ("same", "excluded"):
            return
        self._counts[decision] += 1
        self._on_difference(decision, compared)
        if decision != "unsettled":
            self._batch.append(build_event(compared, origin))

    def _commit(self, done: ReconcilePass, cursor: str) -> ReconcilePass:
        """Commit the events since the last commit; return the updated pass."""
        if self._batch and not self._options.dry_run:
            self._counts["emitted"] += self._events.append(self._batch).events
            crash_point("after_reconcile_commit")
        self._batch = []
        done = replace(done.add(**self._counts), cursor=cursor)
        self._counts.clear()
        return done

    def _save(self, done: ReconcilePass) -> None:
        if not self._options.dry_run:
            self._passes.save(done)
            crash_point("after_reconcile_cursor")


def begin_pass(listing: Listing, now: datetime) -> ReconcilePass:
    """Create a pass that has not started yet."""
    return ReconcilePass(uuid.uuid4().hex, listing.bucket, listing.prefix, listing.name, listing.as_of or now)


def ensure_first_pass(listing: Listing, passes: PassLog, now: datetime) -> None:
    """Record when headwater first used a bucket, to recognise older objects later."""
    if not passes.list_passes(listing.bucket, listing.prefix):
        started = replace(begin_pass(listing, now), listing=START, finished_at=now)
        passes.save(started)
