"""Indexing as a part of a run: a thread that follows the commits of one data table."""

import math
import threading
import time

import structlog

from headwater.app.application import App, read_clock
from headwater.app.components import BackgroundLoop, BatchNote
from headwater.app.search.wiring import build_rules, find_search
from headwater.config.settings import Settings
from headwater.errors import HeadwaterError
from headwater.lake.layout import chunks_path, table_path
from headwater.lake.table import Table
from headwater.observability.metrics import Metrics
from headwater.observability.tracing.traces import Traces, annotate, link_commits, note_error
from headwater.rag.embedding import build_embedder
from headwater.rag.indexing.chunks_table import ChunksTable
from headwater.rag.indexing.indexer import Indexer, IndexReport

log = structlog.stdlib.get_logger(__name__)

_POLL_SECONDS = 30.0
"""How often to check for commits without a wake-up: another process's, or those left after a failure."""
_POLL_SECONDS_ALONE = 1.0
_RETRY_SECONDS = 5.0
_PURGE_SECONDS = 86_400.0
_CHUNKS_SECONDS = 10.0
"""Between two commits of chunks, if servers read newer rows from the data table."""


def build_indexer(app: App) -> Indexer:
    """Build the indexer of an app's `search:`. Raises `ConfigError` without one."""
    settings = app.settings
    rules = build_rules(settings)
    embedder = build_embedder(rules.search.embedder)
    fingerprint = rules.build_fingerprint(embedder.name)
    return Indexer(
        app.spark,
        rules,
        embedder,
        Table(app.spark, table_path(settings.lake, rules.search.table)),
        ChunksTable(app.spark, chunks_path(settings.lake), fingerprint, rules.search.keep_commits),
        read_clock,
    )


class IndexLoop(BackgroundLoop):
    """Follows the table, and retries after a defect, too: the next commit may resolve it.

    `failure` says why the chunks of the index lag behind the table.
    """

    def __init__(
        self,
        app: App,
        table: str,
        metrics: Metrics | None = None,
        traces: Traces | None = None,
        *,
        alone: bool = False,
    ) -> None:
        """`alone`: another process writes the table, and no batch of this one is noted."""
        super().__init__("index", app.is_session_alive, stop_seconds=None)
        self._app = app
        self._table = table
        self._metrics = metrics
        self._traces = traces or Traces()
        self._poll_seconds = _POLL_SECONDS_ALONE if alone else _POLL_SECONDS
        self._pause_seconds = _find_pause(app.settings)
        self._committed = -math.inf
        self._indexer: Indexer | None = None
        self._wake = threading.Event()

    def on_batch(self, batch: BatchNote) -> None:
        """Index a commit of the table soon."""
        if batch.is_committed and batch.table == self._table:
            self._wake.set()

    def stop(self) -> None:
        """End after the current pass. `failure` or `defect` holds the last error."""
        self._stop.set()
        self._wake.set()
        super().stop()

    def catch_up(self, stop: threading.Event) -> None:
        """Run one pass in the calling thread."""
        if not stop.is_set():
            self._try()

    def work(self, stop: threading.Event) -> None:
        """Index each commit, and check at intervals."""
        since_purge = 0.0
        self._app.use_pool("index")
        while not stop.is_set():
            self._wake.clear()
            is_done = self._try()
            if is_done and since_purge <= 0:
                self._try(purge=True)
                since_purge = _PURGE_SECONDS
            seconds = self._poll_seconds if is_done else _RETRY_SECONDS
            since_purge -= seconds
            # After a failure, another commit is no reason to retry sooner.
            (self._wake if is_done else stop).wait(seconds)
            stop.wait(self._committed + self._pause_seconds - time.monotonic())

    def _try(self, *, purge: bool = False) -> bool:
        with self._traces.begin("index", table=self._table):
            return self._try_traced(purge=purge)

    def _try_traced(self, *, purge: bool) -> bool:
        try:
            self._indexer = self._indexer or build_indexer(self._app)
            if purge:
                self._indexer.purge()
            elif report := self._indexer.run():
                self._note(report)
        except HeadwaterError as error:
            note_error(error)
            self.failure = error
            self.part.retry(error.message)
            self._count_failure(error)
            return False
        except Exception as error:
            note_error(error)
            self.note_defect(error)
            return False
        self.failure = self.defect = None
        self.part.note("running")
        return True

    def _count_failure(self, error: HeadwaterError) -> None:
        if self._metrics:
            self._metrics.count("indexing_failed")
        if self._app.is_session_alive():
            log.warning("indexing failed; retrying", error=error.message, hint=error.hint)

    def _note(self, report: IndexReport) -> None:
        self._committed = time.monotonic()
        annotate(end=report.as_of, embedded=report.embedded, reused=report.reused, deleted=report.deleted)
        link_commits(self._table, [report.as_of])
        log.info(
            "indexed",
            embedded=report.embedded,
            reused=report.reused,
            deleted=report.deleted,
            empty=report.empty,
            seconds=round(report.seconds, 2),
            **({"all_rows_because": report.looked_at_all} if report.looked_at_all else {}),
        )
        if self._metrics:
            self._metrics.count("chunks_embedded", report.embedded)
            self._metrics.count("chunks_reused", report.reused)
            self._metrics.count("chunks_deleted", report.deleted)
            self._metrics.observe("indexing_seconds", report.seconds)


def _find_pause(settings: Settings) -> float:
    search = find_search(settings)
    if search.chunks_interval is not None:
        return search.chunks_interval
    # Only Spark evaluates a condition, so servers wait for the chunks.
    return 0.0 if search.where else _CHUNKS_SECONDS
