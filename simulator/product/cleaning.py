"""`clean_source`: the real `CleaningPass` on simulated ports, one announcement or object at a time."""

import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import NamedTuple

from headwater.capture.captured_event import CapturedEvent
from headwater.capture.quarantine_item import QuarantineItem
from headwater.ingest.cleaning.cleaning_pass import CleaningPass, CleaningPorts, CleanReport
from headwater.ingest.cleaning.decision import CleanDecision, SourceCleanPolicy, iter_clean_decisions
from headwater.ingest.planning.verification import TableStreams
from headwater.sources.cleaner import CleanResult
from headwater.sources.lister import ListedObject
from simulator.bugs import Bugs
from simulator.outside.bucket import Bucket, Record
from simulator.outside.clock import SimulatedClock
from simulator.outside.crash import Crashes
from simulator.outside.hudi import HudiTable
from simulator.product.data_rows import DataRow, TableKind, build_rules, count_rows
from simulator.product.events_table import SimulatedEventsTable
from simulator.product.pipeline import SimulatedPipeline, Watcher

_POLICY = SourceCleanPolicy("delete", timedelta())


class CleanContext(NamedTuple):
    """The sources a pass reads and the tables it reports to."""

    bucket: Bucket
    events: SimulatedEventsTable
    quarantine: HudiTable[QuarantineItem]
    data: dict[TableKind, HudiTable[DataRow]]
    clock: SimulatedClock
    crashes: Crashes
    bugs: Bugs
    notify: Callable[[Record], None]


class SimulatedCleaner:
    """Deletes the object under a key if it is still the listed one."""

    def __init__(self, context: CleanContext, watch: Watcher) -> None:
        self._context = context
        self._watch = watch

    def clean(self, listed: ListedObject) -> CleanResult:
        bucket = self._context.bucket
        live = bucket.find_live(listed.key)
        if live is None:
            return "gone"
        is_same = live.etag == listed.etag and live.at.replace(microsecond=0) == listed.last_modified
        if not is_same and "changed_object_cleaned" not in self._context.bugs:
            return "changed"
        self._watch.note_clean(listed.key)
        self._context.notify(bucket.remove(listed.key))
        self._context.crashes.at("object cleaned")
        return "cleaned"


class SimulatedCleaning:
    """State of one pass; a crash restarts it."""

    def __init__(self, context: CleanContext, pipelines: Sequence[SimulatedPipeline], watch: Watcher) -> None:
        self._context = context
        self._pipelines = pipelines
        self._watch = watch
        self._report = CleanReport(_POLICY.action, False, context.clock.now())
        self._progress: Iterator[None] | None = None

    @property
    def is_idle(self) -> bool:
        return self._progress is None

    def step(self, is_settled: Callable[[str], bool]) -> str:
        """Decides, announces, then acts on one object; returns a description.

        `is_settled`: whether every event of the key was received. In production the delay ensures this.
        """
        if self._progress is None:
            for pipeline in self._pipelines:
                # Between two passes there is enough time for a checkpoint.
                pipeline.save_checkpoint()
            clock = self._context.clock
            self._report = CleanReport(_POLICY.action, False, clock.next_moment())
            ports = CleaningPorts(
                SimulatedCleaner(self._context, self._watch), self._append, clock.next_moment
            )
            clean = CleaningPass(ports, self._report, threading.Event())
            self._progress = clean.iter_progress(list(self._iter_decisions(is_settled)))
        # A failed commit ends the pass.
        progress, self._progress = self._progress, None
        if next(progress, self) is not self:
            self._progress = progress
        return f"{dict(self._report.objects)} {dict(self._report.results)}"

    def _append(self, events: Sequence[CapturedEvent]) -> None:
        if "cleaned_before_announced" not in self._context.bugs:
            self._context.events.append(events)
        self._context.crashes.at("cleaning announced")

    def _iter_decisions(self, is_settled: Callable[[str], bool]) -> Iterator[CleanDecision]:
        listed = sorted(self._context.bucket.list_objects(), key=lambda one: one.key)
        streams = [self._build_streams(pipeline) for pipeline in self._pipelines]
        if "one_table_is_enough" in self._context.bugs:
            streams = streams[:1]
        now = self._context.clock.next_moment()
        for decision in iter_clean_decisions(listed, streams, _POLICY, now):
            if decision.reason != "due" or not is_settled(decision.listed.key):
                yield replace(decision, reason="too_young" if decision.reason == "due" else decision.reason)
            else:
                self._watch.note_due(decision.listed.key)
                yield decision

    def _build_streams(self, pipeline: SimulatedPipeline) -> TableStreams:
        kind, checkpoint = pipeline.kind, pipeline.load_checkpoint()
        stored = self._context.events.iter_all()
        states = pipeline.ledger.find_states({one.event.object_id for one in stored})
        known = {state.key for state in states.values()}
        return TableStreams(
            includes_listed=lambda _listed: True,
            entries=sorted(states.values(), key=lambda state: state.key),
            rows=sorted(count_rows(self._context.data[kind].peek()).items()),
            pending=sorted({one.event.key for one in stored if one.position > checkpoint}),
            # An object quarantined earlier may have been put again since: the entry decides.
            quarantined={
                item.key: item.reason
                for item in self._context.quarantine.peek()
                if item.table == kind and item.key is not None and item.key not in known
            },
            rules=build_rules(kind),
        )
