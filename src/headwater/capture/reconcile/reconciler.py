"""`Reconciler`: one pass of a listing against what the events table knows, in pieces that can be resumed."""

import threading
import uuid
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Protocol

import structlog

from headwater.capture.captured_event import CapturedEvent
from headwater.capture.listers.listing_diff import Comparison, KnownState, compare_listing
from headwater.capture.listers.protocol import Lister
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

log = structlog.stdlib.get_logger(__name__)


class AppendedEvents(Protocol):
    """What an events table says of a commit."""

    @property
    def events(self) -> int:
        """Events that were not in the table before."""
        ...


class ReconcileEventLog(Protocol):
    """The events table, as far as it is needed here."""

    def iter_known(self, bucket: str, prefix: str, start_after: str) -> Iterator[KnownState]:
        """Objects that exist as far as the events tell, in the order of keys. Raises `LakeError`."""
        ...

    def append(self, batch: Sequence[CapturedEvent]) -> AppendedEvents:
        """Commit. Raises `LakeError`; then nothing of the batch is there."""
        ...


class PassLog(Protocol):
    """Where passes are kept."""

    def save(self, done: ReconcilePass) -> None:
        """Write a pass, or its newest state. Raises `LakeError`."""
        ...

    def list_passes(self, bucket: str, prefix: str) -> list[ReconcilePass]:
        """All that were ever saved. Raises `LakeError`."""
        ...


@dataclass(frozen=True, slots=True)
class Listing:
    """What is compared. `name` is `listing` or an inventory's address; `as_of` the moment an inventory
    speaks of, None for now. `is_gone` is asked before an object counts as vanished: an inventory may be of
    a part of the bucket, and is hours old."""

    lister: Lister
    bucket: str
    prefix: str
    provider: str = "s3"
    name: str = LISTING
    as_of: datetime | None = None
    is_gone: Callable[[str], bool] = lambda _key: True


@dataclass(frozen=True, slots=True)
class ReconcileOptions:
    """`settle` None: every object counts as settled. `include_existing` False leaves out what was there
    before the first pass. `checkpoint_objects`: keys between two saves of the cursor, at most.
    `captured_until`: notifications sent later may still wait in the queue; None: none waits."""

    settle: timedelta | None = timedelta(seconds=60)
    include_existing: bool = True
    checkpoint_objects: int = 100_000
    max_batch_events: int = 5_000
    dry_run: bool = False
    captured_until: datetime | None = None


OnDifference = Callable[[Decision, Comparison], None]


class Reconciler:
    """Compares, appends what differs, remembers how far it came. One object for one pass."""

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
        """Go on with an unfinished pass, else begin one; `finished_at` is None when `stop` came first.

        Raises `SourceError` when the bucket cannot be listed and `LakeError` when a table cannot be used.
        What was emitted by then stays, and the next run goes on behind it.
        """
        done = None
        for done in self.iter_progress(stop):  # noqa: B007 - the last one is the result
            pass
        assert done is not None  # noqa: S101 - there is one at least
        return done

    def iter_progress(self, stop: threading.Event) -> Iterator[ReconcilePass]:
        """The same, with a pause before the first key, after each key and after each commit."""
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
        unfinished = None if self._options.dry_run else find_unfinished(past, listing.name, now)
        if unfinished:
            log.info("an unfinished reconcile is gone on with", after=unfinished.cursor)
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
            # The listing broke off; what it showed before that is decided, and need not be shown again.
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
        """Count one key, and put its event into the batch when there is a difference."""
        if compared.listed is not None:
            self._counts["listed"] += 1
        decision = decide(compared, bounds)
        if decision == "vanished" and not self._listing.is_gone(compared.key):
            decision = "unsettled"
        if decision in ("same", "excluded"):
            return
        self._counts[decision] += 1
        self._on_difference(decision, compared)
        if decision != "unsettled":
            self._batch.append(build_event(compared, origin))

    def _commit(self, done: ReconcilePass, cursor: str) -> ReconcilePass:
        """The pass with all that was taken since the last commit; its events are in the table."""
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
    """A pass that has not begun yet."""
    return ReconcilePass(uuid.uuid4().hex, listing.bucket, listing.prefix, listing.name, listing.as_of or now)


def ensure_first_pass(listing: Listing, passes: PassLog, now: datetime) -> None:
    """Note when headwater came to a bucket, so that what was there before can be told apart later."""
    if not passes.list_passes(listing.bucket, listing.prefix):
        started = replace(begin_pass(listing, now), listing=START, finished_at=now)
        passes.save(started)
