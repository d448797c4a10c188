"""One pass over the source: finds the objects that are in all of their tables, and cleans them."""

import threading
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta

import structlog

from headwater.app.application import App, read_clock
from headwater.app.objects.streams import open_streams
from headwater.app.scope import build_scope, locate
from headwater.config.source import SourceConfig
from headwater.errors import UsageError
from headwater.ingest.cleaning.cleaning_pass import CleaningPass, CleaningPorts, CleanReport
from headwater.ingest.cleaning.decision import SourceCleanPolicy, iter_clean_decisions
from headwater.observability.clock import SystemClock
from headwater.observability.metrics import Metrics
from headwater.sources.cleaner import SourceCleaner
from headwater.sources.pacing import Pacer
from headwater.sources.registry import build_cleaner, build_source

log = structlog.stdlib.get_logger(__name__)

POOL = "clean-source"
_REQUESTS_AN_OBJECT = 3


class CleanSource:
    """Passes over a source of one `App`, from one thread, one at a time.

    Raises `UsageError` when its `clean_source` is off.
    """

    def __init__(
        self,
        app: App,
        source: SourceConfig,
        *,
        metrics: Metrics | None = None,
        now: Callable[[], datetime] = read_clock,
        build: Callable[[], SourceCleaner] | None = None,
    ) -> None:
        if source.clean_source == "off":
            raise UsageError(
                "source.clean_source is off: no object is removed from the source",
                hint="set it to tag, move or delete; preview the effect with --dry-run",
            )
        self._app = app
        self._source = source
        self._policy = SourceCleanPolicy(source.clean_source, timedelta(seconds=source.clean_source_delay))
        self._metrics = metrics
        self._now = now
        self._build = build or (lambda: build_cleaner(source))

    def run_pass(self, stop: threading.Event, *, dry_run: bool = False) -> CleanReport:
        """Clean all of the source once; `finished_at` is None when `stop` came first.

        Keeps no state between passes: it reads bucket and tables each time. Writes nothing when `dry_run`.
        Raises `LakeError`, and `SourceError` when the bucket refuses.
        """
        self._app.use_pool(POOL)
        app, now = self._app, self._now()
        report = CleanReport(self._policy.action, dry_run, now)
        pace, list_pace = self._build_paces(stop)
        location = locate(self._source)
        names = [
            name
            for name in app.settings.object_tables
            if location in build_scope(app.settings, name).locations
        ]
        streams = [open_streams(app, name, location) for name in names]
        with (
            build_source(self._source).open_lister(list_pace) as lister,
            closing(self._build()) as cleaner,
        ):
            ports = CleaningPorts(cleaner, app.events.append, self._now, pace)
            decisions = iter_clean_decisions(lister.iter_objects(location.prefix), streams, self._policy, now)
            return self._report(CleaningPass(ports, report, stop).run(decisions))

    def _build_paces(self, stop: threading.Event) -> tuple[Callable[[], None], Callable[[], None]]:
        """Return the callbacks that run before an object is acted on and before a page is listed."""
        if self._source.is_watched:
            return (lambda: None), (lambda: None)
        rate = self._app.settings.reconcile.max_requests_per_second
        return Pacer(rate / _REQUESTS_AN_OBJECT, SystemClock(), stop), Pacer(rate, SystemClock(), stop)

    def count_failure(self) -> None:
        """Count an aborted pass in the metrics."""
        if self._metrics:
            self._metrics.count("clean_source_failed")

    def _report(self, report: CleanReport) -> CleanReport:
        if report.dry_run:
            return report
        if report.results:
            log.info("source cleaned", action=report.action, **report.results)
        if self._metrics:
            for result, count in report.results.items():
                self._metrics.count("clean_source_objects", count, result=result)
        return report
