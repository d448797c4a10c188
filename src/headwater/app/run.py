"""One run: capture fills the events table while every data table follows it."""

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import timedelta
from functools import partial

import structlog

from headwater.app.application import App, read_clock
from headwater.app.capture import CaptureParts
from headwater.app.captures import Captures
from headwater.app.catalogs import CatalogLoop, CatalogSync
from headwater.app.cleaning import CleanLoop, CleanSource
from headwater.app.components import BatchNote, Component, Elected, RunReport, TableTotals
from headwater.app.garbage import exempt_existing_objects
from headwater.app.iceberg import IcebergLoop, IcebergViews
from headwater.app.lake_identity import check_usable_lake
from headwater.app.lineage.loop import LineageLoop
from headwater.app.metrics import GaugeLoop, record_batch, record_part
from headwater.app.objects.redrive import RetryLoop
from headwater.app.reconcile import Reconcile, ReconcileLoop
from headwater.app.reconcile.after_restore import ensure_reconciled
from headwater.app.reconcile.folders import FolderEvents
from headwater.app.roles import Roles, choose_roles
from headwater.app.scope import label_source, rename_moved
from headwater.app.services.events_clustering import EventsClustering
from headwater.app.services.intact_tables import with_integrity_check
from headwater.app.services.loop import ServicesLoop
from headwater.app.services.writer_lease import hold_for_creation, hold_for_reconcile
from headwater.app.stop_when import StopWhen
from headwater.app.tracing import build_tracing, name_batch, with_trace
from headwater.app.webhooks import build_webhooks
from headwater.capture.captured_event import CapturedEvent
from headwater.capture.consumer import CaptureStats, CommitReport
from headwater.capture.events_table import AppendResult
from headwater.capture.quarantine_item import QuarantineItem
from headwater.config.settings import Settings
from headwater.errors import DefectError, HeadwaterError, LakeError, PlatformError
from headwater.ingest.planning.outcome import BatchResult
from headwater.ingest.runner import Pipeline, Runner, Schedule
from headwater.observability.metrics import Metrics
from headwater.observability.part_board import PartBoard, describe_error
from headwater.observability.part_state import SESSION, TABLE_PREFIX
from headwater.observability.tracing.traces import Traces

log = structlog.stdlib.get_logger(__name__)

_STOP_SECONDS = 60.0
_EXTERNAL_SECONDS = 0.5
"""How often to look for commits to the events table if another process captures."""
_ALIVE_SECONDS = 2.0
"""How often to check that the JVM runs: its death fails nothing as long as no events arrive."""


@dataclass(frozen=True, slots=True)
class RunObserver:
    """Notified of commits as they happen, from several threads; must not block."""

    on_capture: Callable[[CommitReport], None] = lambda _: None
    on_batch: Callable[[BatchResult], None] = lambda _: None
    on_failure: Callable[[str, HeadwaterError], None] = lambda *_: None


class Run:
    """Wires capture, ingest and the components of one `App`. Use one object for one run.

    `on_session` is called in the calling thread when the Spark session is up. Every part of the run reports
    its state to the `board`.
    """

    def __init__(
        self,
        app: App,
        *,
        roles: Roles | None = None,
        observer: RunObserver | None = None,
        metrics: Metrics | None = None,
        on_session: Callable[[], None] = lambda: None,
        board: PartBoard | None = None,
    ) -> None:
        self._app = app
        self._roles = roles = roles or choose_roles(app.settings)
        self._on_session = on_session
        self._observer = observer or RunObserver()
        self._metrics = metrics
        self._totals = {name: TableTotals() for name in roles.fed}
        self._session: Future[None] = Future()
        self._board = board or PartBoard()
        if metrics is not None:
            self._board.subscribe(partial(record_part, metrics))
        self._session_part = self._board.add(SESSION)
        self._runner: Runner | None = None
        self._stop = threading.Event()
        tracing = build_tracing(app.settings, metrics)
        self._traces = tracing.traces if tracing else Traces()
        self._folder_events = [
            FolderEvents(source.known_location, Reconcile(app, source).settle_folder)
            for source in app.settings.listed_sources
        ]
        self._capture = self._build_captures() if roles.has("capture") else None
        for name in self._totals:
            self._board.add(f"{TABLE_PREFIX}{name}")
        # First, so that it ends last: the others may still add to a trace.
        self._components: list[Component] = [tracing] if tracing else []
        self._components += build_components(app, self._capture, metrics, roles, self._traces)
        if app.settings.stop_when.is_set:
            # A process that neither captures nor feeds a table cannot know that there is nothing to do.
            is_waiting = self._capture.is_waiting if self._capture else lambda: bool(self._totals)
            self._components.append(StopWhen(app.settings.stop_when, self._end, is_waiting))
        for component in self._components:
            component.report_to(self._board)

    def _build_captures(self) -> Captures:
        parts = CaptureParts(
            self._append_events,
            self._append_quarantine,
            self._note_capture,
            self._metrics,
            self._board,
            self._traces,
        )
        return Captures(self._app, parts)

    def once(self, stop: threading.Event) -> RunReport:
        """Ingest everything available now, then return; earlier when `stop` is set.

        Raises `HeadwaterError` when the source or the lake cannot be used.
        """
        return self._run(stop, once=True)

    def until(self, stop: threading.Event) -> RunReport:
        """Run until `stop` is set, by `stop_when` too, then finish open work.

        Raises `HeadwaterError` as `once` does.
        """
        return self._run(stop, once=False)

    def _end(self) -> None:
        # Each run has an event of its own, which its caller owns.
        self._stop.set()

    def list_unended(self) -> list[str]:
        """Return the parts that still work after the end of the run: they did not end in time."""
        names = [component.name for component in self._components if not component.has_ended]
        return names if self._capture is None or self._capture.has_ended else ["capture", *names]

    def _run(self, stop: threading.Event, *, once: bool) -> RunReport:
        self._stop = stop
        try:
            runner = self._follow_source(stop, once=once)
            if once:
                if runner.failures:
                    # What the end of the JVM did to its tables and components is not the cause to report.
                    self._check_session()
                for component in self._components:
                    if not (component.needs_all_tables and runner.failures):
                        self._attempt(component, lambda of: of.catch_up(stop))
        finally:
            # Each component outlives those built after it, and the last batch is reported to all of them.
            for component in reversed(self._components):
                component.stop()
            if self._capture:
                self._capture.close()
        report = self._build_report(runner)
        if self._capture and self._capture.incomplete:
            raise self._capture.incomplete
        return report

    def _follow_source(self, stop: threading.Event, *, once: bool) -> Runner:
        """Capture and ingest until the source is drained or `stop` is set."""
        # Receiving starts while the JVM starts, so the first commit waits for the slower of the two only.
        ended = threading.Event()
        capture = self._capture
        if capture:
            capture.start(stop, ended, once=once)
        try:
            self._start_components(early=True)
            runner = self._start_runner()
            self._session.set_result(None)
            if not once:
                self._start_components(early=False)
                exempt_existing_objects()
            self._wait(ended if capture else stop, once=once)
            if once and not stop.is_set() and not self._capture_failure:
                for component in self._components:
                    self._attempt(component, lambda of: of.backfill(stop))
        except BaseException as error:
            if not self._session.done():
                lost = LakeError("the Spark session did not start")
                self._session.set_exception(error if isinstance(error, HeadwaterError) else lost)
                self._session_part.fail(describe_error(error))
            stop.set()
            raise
        finally:
            if capture:
                capture.join(_STOP_SECONDS)
            self._end_runner(abandon=not once or stop.is_set() or self._capture_failure is not None)
        if self._capture_failure:
            # The death of the JVM is the cause to report, not the broken connection.
            self._check_session()
            raise self._capture_failure
        return runner

    def _wait(self, ended: threading.Event, *, once: bool) -> None:
        """Wait for the end of capture or, without it, of a run that continues until it is stopped."""
        if once and not self._capture:
            return
        while not ended.wait(_ALIVE_SECONDS):
            self._check_session()

    @property
    def _capture_failure(self) -> Exception | None:
        return self._capture.failure if self._capture else None

    def _check_session(self) -> None:
        try:
            self._app.check_session()
        except PlatformError as error:
            self._session_part.fail(error.message, "lost")
            raise

    def _start_components(self, *, early: bool) -> None:
        for component in self._components:
            if component.is_early == early:
                component.start()

    def _attempt(self, component: Component, step: Callable[[Component], None]) -> None:
        """Take a step of a component. Its failure is reported at the end of the run."""
        try:
            step(component)
        except Exception as error:
            self._check_session()
            if not isinstance(error, HeadwaterError):
                raise
            component.failure = error
            component.part.fail(error.message)

    def _end_runner(self, *, abandon: bool) -> None:
        if self._runner is None:
            return
        try:
            (self._runner.stop if abandon else self._runner.finish)()
        except Exception:
            self._check_session()
            raise

    def _build_report(self, runner: Runner) -> RunReport:
        captured = self._capture.stats if self._capture else CaptureStats()
        report = RunReport(captured, self._totals, runner.failures)
        for component in self._components:
            if component.defect:
                raise component.defect
            component.add_to(report)
        return report

    def _start_runner(self) -> Runner:
        app, capture = self._app, self._capture
        spark = app.spark
        self._session_part.note("up")
        check_usable_lake(app.settings, app.events)
        app.check_adopted()
        if capture:
            ensure_reconciled(app)
        if self._roles.list_shared(app.settings):
            self._share_tables()
        self._on_session()
        # Before this process captures: the first events it commits are after the start.
        app.settle_starts(name for name in self._totals if name in app.settings.object_tables)
        runner = Runner(
            spark,
            app.events.signal,
            self._build_pipelines(),
            self._note_batch,
            self._note_failure,
            on_busy=capture.note_busy if capture else lambda *_: None,
            schedule=Schedule(
                follows={name: table.sources for name, table in app.settings.derived_tables.items()},
                intervals={name: table.min_sync_interval for name, table in app.settings.tables.items()},
            ),
        )
        self._runner = runner
        runner.report_to(self._board)
        if capture:
            capture.feed(app.events)
        else:
            app.events.signal.external_seconds = _EXTERNAL_SECONDS
        runner.start()
        return runner

    def _share_tables(self) -> None:
        """Prepare the tables that other processes write at the same time: only one may create them."""
        stores = self._app.stores
        with hold_for_creation(self._app.settings):
            for table in (stores.events, stores.quarantine, stores.ledger):
                table.create()
            if any(self._app.settings.tables[name].changes for name in self._totals):
                stores.tombstones.create()
        if self._capture and not self._app.settings.is_watched:
            stores.events.share()

    def _build_pipelines(self) -> list[Pipeline]:
        settings = self._app.settings
        derived = settings.derived_tables
        built: list[Pipeline] = [
            *(self._app.build_pipeline(name) for name in self._totals if name not in derived),
            *(self._app.build_derived_pipeline(name) for name in derived if name in self._totals),
        ]
        checked = [with_integrity_check(pipeline, settings) for pipeline in built]
        return [with_trace(pipeline, self._traces, self._app) for pipeline in checked]

    def _append_events(self, batch: Sequence[CapturedEvent]) -> AppendResult:
        self._session.result()
        self._app.use_pool("capture")
        renamed = rename_moved(self._app.settings, batch)
        appended = self._app.events.append(renamed)
        for folder_events in self._folder_events:
            folder_events.settle(renamed)
        return appended

    def _append_quarantine(self, items: Sequence[QuarantineItem]) -> None:
        self._session.result()
        self._app.use_pool("capture")
        self._app.stores.quarantine.append(items)

    def _note_capture(self, report: CommitReport) -> None:
        log.debug("events committed", events=report.events, seconds=round(report.seconds, 2))
        for component in self._components:
            component.on_capture(report)
        self._observer.on_capture(report)

    def _note_batch(self, result: BatchResult) -> None:
        with self._traces.resume(name_batch(result.table)):
            self._record_batch(result)

    def _record_batch(self, result: BatchResult) -> None:
        totals = self._totals[result.table]
        if result.foreign and not totals.foreign:
            log.warning(
                "events of other buckets ignored",
                table=result.table,
                buckets=sorted(result.foreign),
                hint="if their objects are to be ingested, add the bucket to `source`",
            )
        totals.add(result)
        if result.objects or result.committed:
            log.info(
                "batch",
                table=result.table,
                rows=result.rows,
                **({"deleted": result.deleted} if result.deleted else {}),
                seconds=round(result.seconds, 2),
                **result.objects,
            )
        if self._metrics:
            record_batch(self._metrics, result)
        self._note_ended(result.table, result.seconds, result)
        self._observer.on_batch(result)

    def _note_failure(self, table: str, error: HeadwaterError) -> None:
        with self._traces.resume(name_batch(table)):
            self._record_failure(table, error)

    def _record_failure(self, table: str, error: HeadwaterError) -> None:
        if self._metrics:
            self._metrics.count("batches_failed", table=table)
        log.warning("batch failed", table=table, error=error.message, hint=error.hint)
        self._observer.on_failure(table, error)
        if isinstance(error, DefectError) and self._runner and table in self._runner.failures:
            log.error("table failed permanently; ending the run", table=table)
            self._stop.set()
        seconds = self._runner.measure_batch(table) if self._runner else 0.0
        self._note_ended(table, seconds, error=str(error))

    def _note_ended(
        self, table: str, seconds: float, result: BatchResult | None = None, error: str = ""
    ) -> None:
        ended = read_clock()
        batch = BatchNote(table, ended - timedelta(seconds=seconds), ended, result, error)
        for component in self._components:
            component.on_batch(batch)


def build_components(
    app: App, capture: Captures | None, metrics: Metrics | None, roles: Roles, traces: Traces
) -> list[Component]:
    """Build what the configuration asks for and the process has a role for, in the order in which a run that
    ends by itself takes their steps."""
    settings = app.settings
    built: list[Component] = []
    if settings.lineage is not None and roles.has("tables"):
        built.append(LineageLoop(settings, settings.lineage, app.environ, read_clock, metrics))
    built.extend(build_webhooks(settings, app.environ, read_clock, metrics))
    if metrics is not None:
        built.append(GaugeLoop(app, capture, metrics, roles.fed))
    elected = _build_elected(app, capture, metrics) if capture else []
    if elected and not roles.are_all:
        hold = partial(_hold_for_reconcile, settings)
        built.append(Elected(elected, hold))
    else:
        built += elected
    if settings.search is not None and roles.has("index") and settings.search.table in roles.tables:
        # Search libraries are an extra, and a run without `search` must not need them.
        from headwater.app.search import IndexLoop

        alone = not roles.has("tables")
        built.append(IndexLoop(app, settings.search.table, metrics, traces, alone=alone))
    if settings.catalogs and roles.has("tables"):
        sync = CatalogSync(settings, read_clock, metrics)
        built.append(CatalogLoop(settings, sync, app.is_session_alive, roles.tables))
    if roles.has("tables"):
        views = IcebergViews(settings, read_clock, metrics, roles.tables)
        if views.tables:
            built.append(IcebergLoop(views, app.is_session_alive))
    if roles.has("services"):
        built.append(ServicesLoop(app, roles.tables))
    return built


def _build_elected(app: App, capture: Captures, metrics: Metrics | None) -> list[Component]:
    """Build what one process does for all that capture."""
    sources = [(source, label_source(app.settings, source)) for source in app.settings.listed_sources]
    built: list[Component] = [RetryLoop(app)]
    for source, label in sources:
        if source.is_listed:
            reconcile = Reconcile(app, source, metrics=metrics)
            until = partial(capture.find_captured_until, source)
            built.append(ReconcileLoop(reconcile, until, app.is_session_alive, label))
    built.append(EventsClustering(app))
    for source, label in sources:
        if source.clean_source != "off":
            clean = CleanSource(app, source, metrics=metrics)
            is_drained = partial(capture.is_drained, source)
            delay = source.clean_source_delay
            built.append(CleanLoop(clean, delay, is_drained, app.is_session_alive, label=label))
    return built


def _hold_for_reconcile(
    settings: Settings, stop: threading.Event, patience: float
) -> AbstractContextManager[None]:
    return hold_for_reconcile(settings, stop, patience=patience)
