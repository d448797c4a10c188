"""One run: capture fills the events table while every data table follows it."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING

import structlog

from headwater.app.application import App, read_clock
from headwater.app.background import BackgroundLoop
from headwater.app.capture import Capture
from headwater.app.catalogs import CatalogLoop, CatalogSync
from headwater.app.cleaning import CleanLoop, CleanReport, CleanSource
from headwater.app.lineage.batch_note import BatchNote
from headwater.app.lineage.loop import LineageLoop
from headwater.app.metrics import GaugeLoop, record_batch
from headwater.app.objects.redrive import RetryLoop
from headwater.app.reconcile import Reconcile, ReconcileLoop, ReconcileReport
from headwater.app.scope import rename_moved
from headwater.app.services.whole_tables import with_whole_tables
from headwater.app.source_memory import check_captured_source
from headwater.capture.captured_event import CapturedEvent
from headwater.capture.consumer import CaptureStats, CommitReport
from headwater.capture.events_table import AppendResult
from headwater.capture.quarantine_item import QuarantineItem
from headwater.errors import DefectError, HeadwaterError, LakeError
from headwater.ingest.planning.outcome import BatchResult
from headwater.ingest.runner import Pipeline, Runner
from headwater.observability.metrics import Metrics

if TYPE_CHECKING:
    from headwater.app.search import IndexLoop

log = structlog.stdlib.get_logger(__name__)

_STOP_SECONDS = 60.0
_ALIVE_SECONDS = 2.0
"""How often to check that the JVM runs: its death fails nothing as long as no events arrive."""


@dataclass(slots=True)
class TableTotals:
    """The totals of one run for one table."""

    batches: int = 0
    commits: int = 0
    rows: int = 0
    deleted: int = 0
    bad_rows: int = 0
    bytes: int = 0
    filtered: int = 0
    foreign: Counter[str] = field(default_factory=Counter)
    objects: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, result: BatchResult) -> None:
        """Add one batch."""
        self.batches += 1
        self.commits += result.committed
        self.rows += result.rows
        self.deleted += result.deleted
        self.bad_rows += result.bad_rows
        self.bytes += result.bytes
        self.filtered += result.filtered
        self.foreign += result.foreign
        self.objects += result.objects
        self.reasons += result.skipped


@dataclass(frozen=True, slots=True)
class RunReport:
    """The result of a run. `failures` holds the last error of tables that could not be brought up to date.

    `reconcile` and `clean` are the passes of a run that ends by itself, `reconcile_failure` and
    `clean_failure` their errors. `index_failure` says why the chunks of the index lag behind the table.
    """

    capture: CaptureStats
    tables: dict[str, TableTotals]
    failures: dict[str, HeadwaterError]
    reconcile: ReconcileReport | None = None
    reconcile_failure: HeadwaterError | None = None
    clean: CleanReport | None = None
    clean_failure: HeadwaterError | None = None
    index_failure: HeadwaterError | None = None


@dataclass(frozen=True, slots=True)
class RunObserver:
    """Notified of commits as they happen, from several threads; must not block."""

    on_capture: Callable[[CommitReport], None] = lambda _: None
    on_batch: Callable[[BatchResult], None] = lambda _: None
    on_failure: Callable[[str, HeadwaterError], None] = lambda *_: None


class Run:
    """Wires capture and ingest of one `App`. Use one object for one run.

    `on_session` is called in the calling thread when the Spark session is up.
    """

    def __init__(
        self,
        app: App,
        *,
        only: Sequence[str] = (),
        observer: RunObserver | None = None,
        metrics: Metrics | None = None,
        on_session: Callable[[], None] = lambda: None,
    ) -> None:
        self._app = app
        self._on_session = on_session
        self._only = only
        self._observer = observer or RunObserver()
        self._metrics = metrics
        self._totals = {name: TableTotals() for name in only or app.settings.tables}
        self._session: Future[None] = Future()
        self._reconcile = Reconcile(app, metrics=metrics)
        is_cleaned = app.settings.source.clean_source != "off"
        self._clean = CleanSource(app, metrics=metrics) if is_cleaned else None
        self._cleaned: CleanReport | None = None
        self._clean_failure: HeadwaterError | None = None
        self._index = self._build_index_loop(metrics)
        self._catalogs = self._build_catalogs() if app.settings.catalogs else None
        self._lineage = self._build_lineage()
        self._runner: Runner | None = None
        self._stop = threading.Event()
        self._reconciled: ReconcileReport | None = None
        self._reconcile_failure: HeadwaterError | None = None
        self._capture = Capture(
            app, self._append_events, self._append_quarantine, self._note_capture, metrics
        )

    def _build_index_loop(self, metrics: Metrics | None) -> "IndexLoop | None":
        search = self._app.settings.search
        if search is None or search.table not in self._totals:
            return None
        # Search libraries are an extra, and a run without `search` must not need them.
        from headwater.app.search import IndexLoop

        return IndexLoop(self._app, metrics)

    def _build_catalogs(self) -> CatalogLoop:
        app = self._app
        return CatalogLoop(
            app.settings,
            CatalogSync(app.settings, read_clock, self._metrics),
            app.is_session_alive,
            self._only,
        )

    def _build_lineage(self) -> LineageLoop | None:
        app, config = self._app, self._app.settings.lineage
        if config is None:
            return None
        return LineageLoop(app.settings, config, app.environ, read_clock, self._metrics)

    def once(self, stop: threading.Event) -> RunReport:
        """Ingest everything available now, then return; earlier when `stop` is set.

        Raises `HeadwaterError` when the source or the lake cannot be used.
        """
        with self._telling_lineage():
            return self._run(stop, once=True)

    def until(self, stop: threading.Event) -> RunReport:
        """Run until `stop` is set, then finish open work. Raises `HeadwaterError` as `once` does."""
        with self._telling_lineage():
            return self._run(stop, once=False)

    @contextmanager
    def _telling_lineage(self) -> Iterator[None]:
        """Enclose everything else, so that the last batch is reported, too."""
        if self._lineage is None:
            yield
            return
        self._lineage.start()
        try:
            yield
        finally:
            self._lineage.stop()
        if self._lineage.defect:
            raise self._lineage.defect

    def _run(self, stop: threading.Event, *, once: bool) -> RunReport:
        # Receiving starts while the JVM starts, so the first commit waits for the slower of the two only.
        ended = threading.Event()
        self._stop = stop
        self._capture.start(stop, ended, once=once)
        runner: Runner | None = None
        beside = self._build_loops()
        gauges = GaugeLoop(self._app, self._capture, self._metrics, self._only)
        gauges.start()
        try:
            runner = self._start_runner()
            self._session.set_result(None)
            if not once:
                self._start_loops(beside)
            while not ended.wait(_ALIVE_SECONDS):
                self._app.check_session()
            if once and not stop.is_set() and self._capture.failure is None:
                self._reconcile_once(stop)
        except BaseException as error:
            if not self._session.done():
                lost = LakeError("the Spark session did not start")
                self._session.set_exception(error if isinstance(error, HeadwaterError) else lost)
            stop.set()
            raise
        finally:
            for loop in (gauges, *beside):
                loop.stop()
            self._capture.join(_STOP_SECONDS)
            if runner is not None:
                is_broken = stop.is_set() or self._capture.failure is not None
                self._end(runner, abandon=is_broken, catch_up=once and not is_broken)
        if self._capture.failure:
            # The death of the JVM is the cause to report, not the broken connection.
            self._app.check_session()
            raise self._capture.failure
        for loop in (*beside, *([self._index] if self._index else ())):
            if loop.defect:
                raise loop.defect
        if once and not stop.is_set() and not runner.failures:
            self._clean_once(stop)
        self._tell_catalogs(stop, once=once)
        return self._build_report(runner)

    def _build_report(self, runner: Runner) -> RunReport:
        return RunReport(
            self._capture.stats,
            self._totals,
            runner.failures,
            self._reconciled,
            self._reconcile_failure,
            self._cleaned,
            self._clean_failure,
            self._index.failure if self._index else None,
        )

    def _start_loops(self, beside: Sequence[BackgroundLoop]) -> None:
        for loop in beside:
            loop.start()
        if self._index:
            self._index.start()

    def _clean_once(self, stop: threading.Event) -> None:
        """Clean the source when the tables have caught up. A failure is reported at the end."""
        if self._clean is None:
            return
        try:
            self._cleaned = self._clean.run_pass(stop)
        except HeadwaterError as error:
            self._app.check_session()
            self._clean.count_failure()
            self._clean_failure = error

    def _tell_catalogs(self, stop: threading.Event, *, once: bool) -> None:
        """Sync to catalogs when the tables have caught up. A failing catalog is a warning, and synced next
        time."""
        if self._catalogs and once:
            self._catalogs.run_pass(stop)

    def _build_loops(self) -> list[BackgroundLoop]:
        """Build the background loops of a run that does not end by itself."""
        app = self._app
        loops: list[BackgroundLoop] = [RetryLoop(app)]
        captured_until = self._capture.find_captured_until
        loops.append(ReconcileLoop(self._reconcile, captured_until, app.is_session_alive))
        if self._clean is not None:
            delay = app.settings.source.clean_source_delay
            loops.append(CleanLoop(self._clean, delay, self._capture.is_drained, app.is_session_alive))
        if self._catalogs is not None:
            loops.append(self._catalogs)
        return loops

    def _reconcile_once(self, stop: threading.Event) -> None:
        """Backfill objects with lost notifications before the tables catch up. Failures are reported at the
        end."""
        try:
            self._reconciled = self._reconcile.run_once(stop)
        except HeadwaterError as error:
            self._app.check_session()
            self._reconcile.count_failure()
            self._reconcile_failure = error

    def _end(self, runner: Runner, *, abandon: bool, catch_up: bool) -> None:
        try:
            (runner.stop if abandon else runner.finish)()
        except Exception:
            self._app.check_session()
            raise
        finally:
            if self._index:
                self._index.stop()
                if catch_up:
                    self._index.catch_up()

    def _start_runner(self) -> Runner:
        app = self._app
        spark = app.spark
        check_captured_source(app.settings, app.events)
        self._on_session()
        runner = Runner(
            spark,
            app.events,
            self._build_pipelines(),
            self._note_batch,
            self._note_failure,
            on_busy=self._capture.note_busy,
            follows={name: table.from_ for name, table in app.settings.tables.items() if table.from_},
        )
        self._runner = runner
        self._capture.feed(app.events)
        runner.start()
        return runner

    def _build_pipelines(self) -> list[Pipeline]:
        settings = self._app.settings
        derived = settings.derived_tables
        built: list[Pipeline] = [
            *(self._app.build_pipeline(name) for name in self._totals if name not in derived),
            *(self._app.build_derived_pipeline(name) for name in derived if name in self._totals),
        ]
        return [with_whole_tables(pipeline, settings) for pipeline in built]

    def _append_events(self, batch: Sequence[CapturedEvent]) -> AppendResult:
        self._session.result()
        self._app.use_pool("capture")
        return self._app.events.append(rename_moved(self._app.settings, batch))

    def _append_quarantine(self, items: Sequence[QuarantineItem]) -> None:
        self._session.result()
        self._app.use_pool("capture")
        self._app.stores.quarantine.append(items)

    def _note_capture(self, report: CommitReport) -> None:
        log.debug("events committed", events=report.events, seconds=round(report.seconds, 2))
        self._observer.on_capture(report)

    def _note_batch(self, result: BatchResult) -> None:
        totals = self._totals[result.table]
        if result.foreign and not totals.foreign:
            log.warning(
                "events of other buckets are not read",
                table=result.table,
                buckets=sorted(result.foreign),
                hint="if one of them is meant, correct source.bucket",
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
        search = self._app.settings.search
        if self._index and search and result.committed and result.table == search.table:
            self._index.wake()
        if self._catalogs and result.committed:
            self._catalogs.wake()
        if result.committed:
            self._tell_lineage(result.table, result.seconds, result)
        self._observer.on_batch(result)

    def _note_failure(self, table: str, error: HeadwaterError) -> None:
        if self._metrics:
            self._metrics.count("batches_failed", table=table)
        log.warning("batch failed", table=table, error=error.message, hint=error.hint)
        self._observer.on_failure(table, error)
        if isinstance(error, DefectError) and self._runner and table in self._runner.failures:
            log.error("table given up; the run ends", table=table)
            self._stop.set()
        seconds = self._runner.measure_batch(table) if self._runner else 0.0
        self._tell_lineage(table, seconds, error=str(error))

    def _tell_lineage(
        self, table: str, seconds: float, result: BatchResult | None = None, error: str = ""
    ) -> None:
        if self._lineage:
            ended = read_clock()
            began = ended - timedelta(seconds=seconds)
            self._lineage.note(BatchNote(table, began, ended, result, error))
