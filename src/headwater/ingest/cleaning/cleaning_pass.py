"""`CleaningPass`: announces which objects may leave the source, then tags, moves or deletes them.

The announcement is committed to the events table before the action. No table can then mistake the removal
for one by another process.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

import structlog

from headwater.capture.captured_event import CapturedEvent
from headwater.capture.control_events import CLEANED_EVENT, TAGGED_EVENT, build_control_event, with_content
from headwater.errors import ObjectError
from headwater.ingest.cleaning.decision import CleanDecision
from headwater.observability.crash_points import crash_point
from headwater.sources.cleaner import CleanResult
from headwater.sources.lister import ListedObject

log = structlog.stdlib.get_logger(__name__)

_OBJECTS_A_COMMIT = 500
_EXAMPLES_A_REASON = 20


@dataclass(slots=True)
class CleanReport:
    """`objects` counts objects in the bucket by decision, due ones included. `results` counts the due ones by
    `CleanResult` and failures. `examples` are some keys of each reason.
    """

    action: str
    dry_run: bool
    started_at: datetime
    finished_at: datetime | None = None
    objects: Counter[str] = field(default_factory=Counter)
    results: Counter[str] = field(default_factory=Counter)
    examples: dict[str, list[str]] = field(default_factory=dict)

    def note(self, reason: str, key: str) -> None:
        """Record the key as an example of the reason, up to a limit."""
        examples = self.examples.setdefault(reason, [])
        if len(examples) < _EXAMPLES_A_REASON:
            examples.append(key)


class Cleaner(Protocol):
    """The part of `SourceCleaner` that a pass needs."""

    def clean(self, listed: ListedObject) -> CleanResult:
        """See `SourceCleaner`."""
        ...


@dataclass(frozen=True, slots=True)
class CleaningPorts:
    """`append` commits events; `pace` is called before the action on each object."""

    cleaner: Cleaner
    append: Callable[[Sequence[CapturedEvent]], object]
    now: Callable[[], datetime]
    pace: Callable[[], None] = lambda: None


class CleaningPass:
    """One pass over all objects; bucket and tables hold the only state between passes."""

    def __init__(self, ports: CleaningPorts, report: CleanReport, stop: threading.Event) -> None:
        self._ports = ports
        self._report = report
        self._stop = stop

    def run(self, decisions: Iterable[CleanDecision]) -> CleanReport:
        """Process the due objects; `finished_at` is None if `stop` was set first.

        Raises the errors of reading the decisions, `LakeError`, and `SourceError` if the source rejects it.
        """
        for _ in self.iter_progress(decisions):
            pass
        return self._report

    def iter_progress(self, decisions: Iterable[CleanDecision]) -> Iterator[None]:
        """Run like `run`, with a pause before and after each announcement, and after each object."""
        report, due = self._report, list[CleanDecision]()
        for decision in decisions:
            if self._stop.is_set():
                return
            report.objects[decision.reason] += 1
            if decision.reason == "due" and not report.dry_run:
                due.append(decision)
            else:
                report.note(decision.reason, decision.listed.key)
            if len(due) >= _OBJECTS_A_COMMIT:
                yield from self._act(due)
                due = []
        yield from self._act(due)
        if not self._stop.is_set():
            report.finished_at = self._ports.now()

    def _act(self, due: Sequence[CleanDecision]) -> Iterator[None]:
        """Announce and clean the objects. After a crash, a later pass cleans the announced ones."""
        yield
        self._announce([decision for decision in due if not decision.is_announced], CLEANED_EVENT)
        crash_point("after_clean_commit")
        yield
        cleaned = []
        try:
            for decision in due:
                self._ports.pace()
                if self._stop.is_set():
                    break
                if self._clean_one(decision) == "cleaned":
                    cleaned.append(decision)
                crash_point("mid_clean")
                yield
        finally:
            if self._report.action == "tag" and cleaned:
                self._announce(cleaned, TAGGED_EVENT)

    def _announce(self, decisions: Sequence[CleanDecision], name: str) -> None:
        """Commit one control event per object: the object may be removed, or was tagged."""
        now = self._ports.now()
        self._ports.append([event for d in decisions for event in _build_events(d, name, now)])

    def _clean_one(self, decision: CleanDecision) -> str:
        key = decision.listed.key
        result: str
        try:
            result = self._ports.cleaner.clean(decision.listed)
        except ObjectError as error:
            result = "failed"
            log.warning("object cleaning failed", key=key, error=error.message, hint=error.hint)
        self._report.results[result] += 1
        self._report.note(result, key)
        return result


def _build_events(decision: CleanDecision, name: str, now: datetime) -> list[CapturedEvent]:
    listed = decision.listed
    objects = {entry.object_id: entry for entry in decision.entries}.values()
    return [
        with_content(
            build_control_event(name, entry.provider, entry.bucket, listed.key, now),
            "other",
            # The content is the same; only the ledger's etag may have the suffix that no listing contains.
            entry.etag or listed.etag,
            listed.size,
        )
        for entry in objects
    ]
