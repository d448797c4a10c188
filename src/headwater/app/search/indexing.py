"""Indexing as a part of a run: a thread that follows the commits of one data table."""

import threading

import structlog

from headwater.app.application import App, read_clock
from headwater.app.background import BackgroundLoop
from headwater.app.search.wiring import build_rules
from headwater.errors import HeadwaterError
from headwater.lake.layout import chunks_path, table_path
from headwater.lake.table import Table
from headwater.observability.metrics import Metrics
from headwater.rag.embedding import build_embedder
from headwater.rag.indexing.chunks_table import ChunksTable
from headwater.rag.indexing.indexer import Indexer, IndexReport

log = structlog.stdlib.get_logger(__name__)

_LOOK_SECONDS = 30.0
"""How often to look for commits that nobody told of: another process's, or what a failure left."""
_RETRY_SECONDS = 5.0
_PURGE_SECONDS = 86_400.0


def build_indexer(app: App) -> Indexer:
    """The indexer of an app's `search:`. Raises `ConfigError` without one."""
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
    """Follows the table, and looks again after a defect, too: the next commit may be past it."""

    def __init__(self, app: App, metrics: Metrics | None = None) -> None:
        super().__init__("index", app.is_session_alive, stop_seconds=None)
        self._app = app
        self._metrics = metrics
        self._indexer: Indexer | None = None
        self._wake = threading.Event()
        self.failure: HeadwaterError | None = None

    def wake(self) -> None:
        """The table has a new commit."""
        self._wake.set()

    def stop(self) -> None:
        """End, when the look in hand is done. What failed last is in `failure` or `defect`."""
        self._stop.set()
        self._wake.set()
        super().stop()

    def catch_up(self) -> None:
        """Look once more, in the calling thread, when the loop has stopped."""
        self._try()

    def work(self, stop: threading.Event) -> None:
        """Look at each commit, and now and then."""
        since_purge = 0.0
        self._app.use_pool("index")
        while not stop.is_set():
            self._wake.clear()
            is_done = self._try()
            if is_done and since_purge <= 0:
                self._try(purge=True)
                since_purge = _PURGE_SECONDS
            seconds = _LOOK_SECONDS if is_done else _RETRY_SECONDS
            since_purge -= seconds
            # After trouble another commit is no reason to try sooner.
            (self._wake if is_done else stop).wait(seconds)

    def _try(self, *, purge: bool = False) -> bool:
        try:
            self._indexer = self._indexer or build_indexer(self._app)
            if purge:
                self._indexer.purge()
            elif report := self._indexer.run():
                self._note(report)
        except HeadwaterError as error:
            self.failure = error
            self._count_failure(error)
            return False
        except Exception as error:
            self.note_defect(error)
            return False
        self.failure = self.defect = None
        return True

    def _count_failure(self, error: HeadwaterError) -> None:
        if self._metrics:
            self._metrics.count("indexing_failed")
        if self._app.is_session_alive():
            log.warning("indexing failed, ingestion goes on", error=error.message, hint=error.hint)

    def _note(self, report: IndexReport) -> None:
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
