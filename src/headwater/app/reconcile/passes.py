"""Reconcile a bucket or folder: one pass on demand, or passes concurrent with the live flow."""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

import structlog

from headwater.app.application import App
from headwater.app.listing import list_in_parallel
from headwater.app.reconcile.schedule import CapturedUntil, PassSchedule, choose_first_due
from headwater.app.restore_state import find_restore
from headwater.app.scope import label_source
from headwater.capture.reconcile import (
    Listing,
    ReconcileOptions,
    ReconcilePass,
    Reconciler,
    ensure_first_pass,
)
from headwater.capture.reconcile.decision import Decision
from headwater.capture.reconcile.known_states import KnownStates
from headwater.capture.reconcile.pass_table import PassTable
from headwater.capture.reconcile.passes import UnrecordedPasses, find_last_finished, select_since
from headwater.capture.reconcile.stored_groups import LEAST_EVENTS
from headwater.config.source import S3SourceConfig, SourceConfig
from headwater.errors import ConfigError, HeadwaterError, SourceError, UsageError
from headwater.ingest.ledger.reading import LedgerReader
from headwater.lake.layout import reconciles_path, table_path
from headwater.lake.table import Table
from headwater.observability.clock import Clock, SystemClock
from headwater.observability.metrics import Metrics
from headwater.sources.listing_diff import Comparison
from headwater.sources.local.lister import LocalLister
from headwater.sources.memory.lister import MemoryLister
from headwater.sources.pacing import Pacer
from headwater.sources.registry import build_queue, build_source

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

log = structlog.stdlib.get_logger(__name__)

POOL = "reconcile"
# An inventory may lack objects that were young when it was written.
INVENTORY_SETTLE = timedelta(days=1)
_EXAMPLES = 100


@dataclass(frozen=True, slots=True)
class ReconcileDifference:
    """One key on which listing and events disagree."""

    kind: Decision
    key: str
    listed_etag: str | None
    known_etag: str | None

    @classmethod
    def of(cls, kind: Decision, compared: Comparison) -> "ReconcileDifference":
        """Return the reportable difference of a comparison."""
        listed, known = compared.listed, compared.known
        return cls(kind, compared.key, listed.etag if listed else None, known.etag if known else None)


@dataclass(frozen=True, slots=True)
class ReconcileReport:
    """A pass, and the first hundred differences that it found.

    About `waiting` notifications were in the queue at its start: their objects count as differences. None
    when unknown, or when capture runs concurrently.
    """

    done: ReconcilePass
    examples: list[ReconcileDifference] = field(default_factory=list)
    waiting: int | None = None


class Reconcile:
    """Passes over a source of one `App`. Use from one thread; passes over several sources take turns.

    A folder's watcher lists it at every start and each minute. So a pass over a folder is only due at
    intervals, and finds objects that only a table has seen.
    """

    def __init__(
        self,
        app: App,
        source: SourceConfig,
        *,
        metrics: Metrics | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._app = app
        self._source = source
        self._bucket = source.known_location
        self._prefix = source.prefix
        self._config = app.settings.reconcile
        self._metrics = metrics
        self._clock = clock or SystemClock()

    def check(self, inventory: str | None = None) -> None:
        """Raise errors that would fail a pass; asks the bucket or reads the manifest, and starts no Spark."""
        if not self._source.is_listed:
            raise UsageError(
                f"a source of type {self._source.type!r} has no listing to compare with the events",
                hint="a run compares offsets at its start; `headwater verify` shows what is not captured yet",
            )
        if inventory is None and not self._source.lists_ranges:
            # The first object may come after the last page.
            for check in build_source(self._source).list_preflight_checks(captures=False):
                check()
            return
        with self._open_listing(lambda: None, inventory) as listing:
            if inventory is None:
                next(listing.lister.iter_objects(listing.prefix), None)

    def count_waiting(self) -> int | None:
        """Return the approximate number of queued notifications. None for a folder, or when unknown."""
        if self._source.is_watched:
            return None
        try:
            with closing(build_queue(self._source)) as queue:
                depth = queue.depth()
        except (ConfigError, SourceError):
            return None
        return None if depth is None else depth.visible + depth.in_flight

    @contextmanager
    def _open_listing(self, pace: Callable[[], None], inventory: str | None) -> Iterator[Listing]:
        source = self._source
        if inventory is None:
            with build_source(source).open_lister(pace) as lister:
                listing = Listing(lister, self._bucket, self._prefix, provider=source.type)
                if isinstance(lister, LocalLister):
                    hides = lister.hides
                    listing = replace(listing, is_absent=lambda key: not hides(key))
                yield listing
            return
        if source.type != "s3":
            raise UsageError(
                f"a source of type {source.type!r} has no inventory", hint="omit --inventory for this source"
            )
        from headwater.sources.s3.lister import build_listing_client

        with closing(build_listing_client(source)) as client:
            yield open_inventory(source, client, pace, inventory)

    def run_pass(
        self,
        stop: threading.Event,
        *,
        inventory: str | None = None,
        dry_run: bool = False,
        captured_until: datetime | None = None,
    ) -> ReconcileReport:
        """Run one pass, or resume an interrupted one.

        Notifications sent after `captured_until` may still wait in the queue; None: none waits, and no run
        captures. The very first pass then includes every object, however young: notifications may have
        been set up after it was created. So does the first one after a restore: a lost lake may have consumed
        them.

        Raises `SourceError`, `LakeError`, and `UsageError` for an invalid inventory.
        """
        with self._app.reconcile_turn:
            return self._run_pass(stop, inventory=inventory, dry_run=dry_run, captured_until=captured_until)

    def _run_pass(
        self,
        stop: threading.Event,
        *,
        inventory: str | None,
        dry_run: bool,
        captured_until: datetime | None,
    ) -> ReconcileReport:
        self._app.use_pool(POOL)
        groups = self._app.event_groups
        known = KnownStates(self._app.events, self._open_ledgers(), groups)
        pace = Pacer(self._config.max_requests_per_second, self._clock, stop)
        with self._open_listing(pace, inventory) as opened:
            ranges = opened.lister if inventory else list_in_parallel(self._app, self._source, opened.lister)
            listing = replace(opened, lister=ranges)
            examples: list[ReconcileDifference] = []

            def note(kind: Decision, compared: Comparison) -> None:
                if len(examples) < _EXAMPLES and kind != "unsettled":
                    examples.append(ReconcileDifference.of(kind, compared))

            reconciler = Reconciler(
                listing,
                known,
                self._passes,
                self._build_options(inventory, captured_until, dry_run=dry_run),
                clock=self._clock,
                on_difference=note,
            )
            done = reconciler.run(stop)
        if known.grouped >= LEAST_EVENTS and not dry_run and not stop.is_set():
            groups.refresh(self._clock.now())
        self._log_differences(done, dry_run=dry_run)
        return ReconcileReport(done, examples)

    def settle_folder(self, folder: str) -> None:
        """Compare the objects below a folder with the events, and append the differences.

        For events that name only the folder: its objects were renamed or removed together. Every object
        counts, however young or old, and the pass is not recorded: `backfill_interval` concerns the source.
        A stopping run waits for it, as for any commit.

        Raises `SourceError` and `LakeError`.
        """
        prefix = f"{folder.rstrip('/')}/"
        if self._prefix.startswith(prefix):
            prefix = self._prefix
        elif not prefix.startswith(self._prefix):
            return
        known = KnownStates(self._app.events, self._open_ledgers(), self._app.event_groups)
        never = threading.Event()
        pace = Pacer(self._config.max_requests_per_second, self._clock, never)
        with self._open_listing(pace, None) as opened:
            listing = replace(opened, prefix=prefix)
            options = ReconcileOptions(settle=None)
            done = Reconciler(listing, known, UnrecordedPasses(), options, clock=self._clock).run(never)
        log.info("folder listed", folder=folder, listed=done.listed, emitted=done.emitted)

    def _open_ledgers(self) -> list[LedgerReader]:
        app, stores = self._app, self._app.stores
        tables = {name: table_path(app.settings.lake, name) for name in app.settings.object_tables}
        return [
            LedgerReader(name, stores.ledger, Table(app.spark, path), stores.events)
            for name, path in tables.items()
        ]

    def _build_options(
        self, inventory: str | None, captured_until: datetime | None, *, dry_run: bool
    ) -> ReconcileOptions:
        config = self._config
        age = INVENTORY_SETTLE if inventory else timedelta(seconds=config.settle_seconds)
        # In a run, a second pass follows the first one instead.
        settles = inventory or captured_until or find_last_finished(self._select_current(self.list_passes()))
        return ReconcileOptions(
            settle=age if settles else None,
            # The watcher announces all files of a folder.
            include_existing=config.include_existing_files or self._is_watched,
            checkpoint_objects=config.checkpoint_objects,
            dry_run=dry_run,
            restored_at=self._restored_at,
            captured_until=captured_until,
        )

    def run_once(self, stop: threading.Event) -> ReconcileReport | None:
        """Run the pass of a run that ends by itself, with its queue empty. Returns None when none is due.

        Raises as `run_pass` does.
        """
        self._note_start()
        passes = self._select_current(self.list_passes())
        due = choose_first_due(passes, self._config, self._clock.now(), is_watched=self._is_watched)
        if due is None or due > self._clock.now():
            return None
        return self.run_pass(stop)

    def run(
        self,
        stop: threading.Event,
        captured_until: CapturedUntil,
        on_pass: Callable[[HeadwaterError | None], None] = lambda _error: None,
    ) -> None:
        """Run passes until `stop` is set, see `PassSchedule`. `on_pass` receives the error of each pass, or
        None. Raises `LakeError` before the first one only."""
        self._note_start()

        def run_pass(stop: threading.Event, until: datetime) -> ReconcilePass:
            done = self.run_pass(stop, captured_until=until).done
            on_pass(None)
            return done

        def note_failure(error: HeadwaterError) -> None:
            self.count_failure()
            on_pass(error)

        schedule = PassSchedule(
            run_pass,
            lambda: self._select_current(self.list_passes()),
            self._config,
            self._clock,
            on_failure=note_failure,
            is_watched=self._is_watched,
        )
        schedule.run(stop, captured_until)

    def count_failure(self) -> None:
        """Count an aborted pass in the metrics."""
        if self._metrics:
            self._metrics.count("reconcile_failed")

    def list_passes(self) -> list[ReconcilePass]:
        """Return all passes over this bucket and prefix. Raises `LakeError`."""
        return self._passes.list_passes(self._bucket, self._prefix)

    def _select_current(self, passes: list[ReconcilePass]) -> list[ReconcilePass]:
        """Omit passes before a restore of the lake, so that a bucket is due again. Watchers list anyway."""
        return passes if self._is_watched else select_since(passes, self._restored_at)

    @cached_property
    def _restored_at(self) -> datetime | None:
        found = find_restore(self._app.settings)
        return found.finished_at if found else None

    @property
    def _is_watched(self) -> bool:
        return self._source.is_watched

    @property
    def _log_fields(self) -> dict[str, str]:
        label = label_source(self._app.settings, self._source)
        return {"source": label} if label else {}

    @cached_property
    def _passes(self) -> PassTable:
        return PassTable(self._app.spark, reconciles_path(self._app.settings.lake))

    def _note_start(self) -> None:
        """If existing objects are excluded, record the time since which objects count."""
        if self._config.include_existing_files or not self._config.backfill_interval or self._is_watched:
            return
        listing = Listing(MemoryLister(), self._bucket, self._prefix)
        with self._app.reconcile_turn:
            ensure_first_pass(listing, self._passes, self._clock.now())

    def _log_differences(self, done: ReconcilePass, *, dry_run: bool) -> None:
        if done.differences:
            log.warning(
                "bucket differs from its notifications",
                **self._log_fields,
                missing=done.missing,
                changed=done.changed,
                vanished=done.vanished,
                emitted=done.emitted,
            )
        if self._metrics and not dry_run:
            self._metrics.count("reconcile_objects_listed", done.listed)
            for kind in ("missing", "changed", "vanished"):
                self._metrics.count("reconcile_differences", getattr(done, kind), kind=kind)


def open_inventory(
    source: S3SourceConfig, client: "S3Client", pace: Callable[[], None], inventory: str
) -> Listing:
    """Return the listing of an inventory report. Raises `UsageError` for a bad report."""
    from headwater.sources.s3.inventory.lister import LocalFiles, S3InventoryLister
    from headwater.sources.s3.lister import S3Files, S3Lister

    files = S3Files(client) if inventory.startswith("s3://") else LocalFiles()
    report = S3InventoryLister(inventory, source.bucket, files)
    one = S3Lister(client, source.bucket, pace=pace, page_size=1)

    def is_absent(key: str) -> bool:
        found = next(one.iter_objects(key), None)
        return found is None or found.key != key

    return Listing(
        report,
        source.known_location,
        source.prefix,
        name=inventory,
        as_of=report.manifest.created_at,
        is_absent=is_absent,
    )
