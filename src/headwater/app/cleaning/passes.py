"""One pass over the source: which objects are in all of their tables, and what `clean_source` does to them.

The events come first: that an object may go is committed to the events table before anything is done to it,
so that no table takes our own removal for somebody's.
"""

import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import datetime, timedelta

import structlog

from headwater.app.application import App, read_clock
from headwater.app.objects.streams import open_lister, open_streams
from headwater.capture.captured_event import CapturedEvent
from headwater.capture.listers.pacing import Pacer
from headwater.capture.own_events import CLEANED_EVENT, TAGGED_EVENT, build_own_event, with_content
from headwater.errors import ObjectError, UsageError
from headwater.ingest.cleaners import SourceCleaner, build_cleaner
from headwater.ingest.cleaning.decision import CleanDecision, CleanPolicy, iter_clean_decisions
from headwater.observability.clock import SystemClock
from headwater.observability.crash_points import crash_point
from headwater.observability.metrics import Metrics

log = structlog.stdlib.get_logger(__name__)

POOL = "clean-source"
_OBJECTS_A_COMMIT = 500
_REQUESTS_AN_OBJECT = 3
_EXAMPLES_A_REASON = 20


@dataclass(slots=True)
class CleanReport:
    """`objects` in the bucket by what was decided, the due ones included; `results` of the due ones by what
    became of them: cleaned, changed, gone, failed. `examples` are keys by reason, some of each."""

    action: str
    dry_run: bool
    started_at: datetime
    finished_at: datetime | None = None
    objects: Counter[str] = field(default_factory=Counter)
    results: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)

    def note(self, reason: str, key: str) -> None:
        """Keep some keys of each reason."""
        examples = self.examples.setdefault(reason, [])
        if len(examples) < _EXAMPLES_A_REASON:
            examples.append(key)


class CleanSource:
    """Passes over the source of one `App`; each from one thread, one at a time.

    Raises `UsageError` when `source.clean_source` is off.
    """

    def __init__(
        self,
        app: App,
        *,
        metrics: Metrics | None = None,
        now: Callable[[], datetime] = read_clock,
        build: Callable[[], SourceCleaner] | None = None,
    ) -> None:
        source = app.settings.source
        if source.clean_source == "off":
            raise UsageError(
                "source.clean_source is off: nothing is taken out of the source",
                hint="set it to tag, move or delete; --dry-run then shows what that would do",
            )
        self._app = app
        self._policy = CleanPolicy(source.clean_source, timedelta(seconds=source.clean_source_delay))
        self._metrics = metrics
        self._now = now
        self._build = build or (lambda: build_cleaner(source))

    def run_pass(self, stop: threading.Event, *, dry_run: bool = False) -> CleanReport:
        """All of the source once; `finished_at` is None when `stop` came first.

        Nothing is remembered between passes but what bucket and tables say. Raises `SourceError` when the
        bucket refuses, `LakeError`, and writes nothing when `dry_run`.
        """
        self._app.use_pool(POOL)
        app, now = self._app, self._now()
        report = CleanReport(self._policy.action, dry_run, now)
        pace, list_pace = self._build_paces(stop)
        prefix = app.settings.source.prefix if app.settings.source.type == "s3" else ""
        streams = [open_streams(app, name) for name in app.settings.object_tables]
        due: list[CleanDecision] = []
        with open_lister(app.settings, list_pace) as lister, closing(self._build()) as cleaner:
            acting = _Acting(self, cleaner, pace, report, stop)
            for decision in iter_clean_decisions(lister.iter_objects(prefix), streams, self._policy, now):
                if stop.is_set():
                    return self._tell(report)
                report.objects[decision.reason] += 1
                if decision.reason != "due":
                    report.note(decision.reason, decision.listed.key)
                elif dry_run:
                    report.note("due", decision.listed.key)
                else:
                    due.append(decision)
                if len(due) >= _OBJECTS_A_COMMIT:
                    acting.act(due)
                    due = []
            acting.act(due)
        if not stop.is_set():
            report.finished_at = self._now()
        return self._tell(report)

    def _build_paces(self, stop: threading.Event) -> tuple[Callable[[], None], Callable[[], None]]:
        """What is called before an object is acted on, and before a page is listed."""
        settings = self._app.settings
        if settings.source.type == "local":
            return (lambda: None), (lambda: None)
        rate = settings.reconcile.max_requests_per_second
        return Pacer(rate / _REQUESTS_AN_OBJECT, SystemClock(), stop), Pacer(rate, SystemClock(), stop)

    def count_failure(self) -> None:
        """Tell the metrics that a pass broke off."""
        if self._metrics:
            self._metrics.count("clean_source_failed")

    def announce(self, decisions: Sequence[CleanDecision], name: str) -> None:
        """Commit one own event an object: what was decided on may leave the bucket, or is tagged."""
        now = self._now()
        self._app.events.append([event for d in decisions for event in _build_events(d, name, now)])

    def _tell(self, report: CleanReport) -> CleanReport:
        if report.dry_run:
            return report
        if report.results:
            log.info("source cleaned", action=report.action, **report.results)
        if self._metrics:
            for result, count in report.results.items():
                self._metrics.count("clean_source_objects", count, result=result)
        return report


class _Acting:
    """Announces, then acts, a batch at a time."""

    def __init__(
        self,
        clean: CleanSource,
        cleaner: SourceCleaner,
        pace: Callable[[], None],
        report: CleanReport,
        stop: threading.Event,
    ) -> None:
        self._clean = clean
        self._cleaner = cleaner
        self._pace = pace
        self._report = report
        self._stop = stop

    def act(self, due: Sequence[CleanDecision]) -> None:
        """A crash anywhere in here leaves objects of which is known that they may go; they go later."""
        self._clean.announce([decision for decision in due if not decision.is_announced], CLEANED_EVENT)
        crash_point("after_clean_commit")
        cleaned = []
        try:
            for decision in due:
                self._pace()
                if self._stop.is_set():
                    break
                if self._clean_one(decision) == "cleaned":
                    cleaned.append(decision)
                crash_point("mid_clean")
        finally:
            if self._report.action == "tag" and cleaned:
                self._clean.announce(cleaned, TAGGED_EVENT)

    def _clean_one(self, decision: CleanDecision) -> str:
        key = decision.listed.key
        result: str
        try:
            result = self._cleaner.clean(decision.listed)
        except ObjectError as error:
            result = "failed"
            log.warning("an object could not be cleaned", key=key, error=error.message, hint=error.hint)
        self._report.results[result] += 1
        self._report.note(result, key)
        return result


def _build_events(decision: CleanDecision, name: str, now: datetime) -> list[CapturedEvent]:
    listed = decision.listed
    objects = {entry.object_id: entry for entry in decision.entries}.values()
    return [
        with_content(
            build_own_event(name, entry.provider, entry.bucket, listed.key, now),
            "other",
            # The same content; only the ledger's etag may have the suffix that no listing shows.
            entry.etag or listed.etag,
            listed.size,
        )
        for entry in objects
    ]
