"""`SetPipeline`: one data table that is equal to the newest complete set of files."""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, TypeVar

from headwater.capture.position import Position
from headwater.capture.stored_event import EventPage
from headwater.errors import IngestError
from headwater.ingest.accounting import QUARANTINED
from headwater.ingest.pipeline import PipelineRules, TablePipeline
from headwater.ingest.planning.outcome import ObjectOutcome
from headwater.ingest.planning.plan import BatchPlan, Limits, take_batch
from headwater.ingest.ports import ObjectsRead, Ports
from headwater.ingest.sets.planner import ChosenSet, SetPlan, SetPlanner
from headwater.ingest.sets.progress import SMALL_SET, SetProgress
from headwater.ingest.writing.set_rows import SetVersion
from headwater.sources.object_event import is_same_etag

_log = logging.getLogger(__name__)

ReadT = TypeVar("ReadT", bound=ObjectsRead)
_ReadT_contra = TypeVar("_ReadT_contra", bound=ObjectsRead, contravariant=True)


class SetRows(Protocol[_ReadT_contra]):
    """The rows of a table of sets."""

    def write_set(
        self,
        read: _ReadT_contra | None,
        version: SetVersion,
        checkpoint: Position,
        build_metadata: Callable[[int], Mapping[str, str]],
    ) -> bool:
        """Commit the difference between the table and the rows of a set, and the checkpoint, atomically.

        `build_metadata` is called with the number of different keys in the set. Returns False, without a
        commit, if neither has a row. Raises `LakeError`.
        """
        ...


class SetPipeline(TablePipeline[ReadT]):
    """See `TablePipeline`. All files of a set are read and committed in one batch, whatever its limits."""

    def __init__(
        self,
        name: str,
        rules: PipelineRules,
        ports: Ports[ReadT],
        planner: SetPlanner,
        rows: SetRows[ReadT],
        max_shrink: float,
    ) -> None:
        super().__init__(name, rules, ports)
        self._planner = planner
        self._set_rows = rows
        self._max_shrink = max_shrink
        self._plan_of_sets = SetPlan((), {}, SetProgress())

    def _is_due(self) -> bool:
        return self._planner.is_due()

    def _plan(self, page: EventPage) -> BatchPlan:
        limits = Limits(self._ports.objects.most_objects, self._rules.max_bytes)
        batch = take_batch(page, self._rules.scope, limits)
        known = self._planner.progress.open
        self._plan_of_sets = found = self._planner.plan(batch.events, self._ledger.find_states)
        for name, why in found.progress.open.items():
            if known.get(name) != why:
                _log.info("table %s: set %s is not complete: %s", self.name, name, why)
        if not found.decisions:
            self._planner.note(found.progress)
        return BatchPlan(batch, found.decisions, found.states)

    @property
    def _needs_newest(self) -> bool:
        return True

    def _build_metadata(self, outcomes: Sequence[ObjectOutcome] = ()) -> dict[str, str]:
        return {**super()._build_metadata(outcomes), **self._planner.progress.to_metadata()}

    def _forget(self) -> None:
        super()._forget()
        self._planner.forget()

    def _accept(self, read: ReadT | None) -> tuple[ReadT | None, Sequence[ObjectOutcome]]:
        kept, outcomes = super()._accept(read)
        chosen = self._plan_of_sets.chosen
        if chosen is None:
            return kept, outcomes
        for outcome in outcomes:
            self._check_unchanged(chosen, outcome)
        rows, before = sum(outcome.rows for outcome in outcomes), self._planner.progress.rows
        if chosen.is_accepted or rows >= before * (1 - self._max_shrink):
            return kept, outcomes
        self._hold(chosen, f"it has {rows:,} rows, and the set before {before:,}")
        detail = f"{self._plan_of_sets.progress.open[chosen.name]}: see `max_shrink`"
        return None, [
            replace(found, status="quarantined", reason=SMALL_SET, detail=detail, rows=0, bad_rows=0)
            for found in outcomes
        ]

    def _hold(self, chosen: ChosenSet, why: str) -> None:
        """Leave the table as it is: the set stays open until a user accepts it."""
        held = self._plan_of_sets.progress.hold(chosen.name, why)
        self._planner.note_held(chosen.name)
        _log.warning(
            "table %s: set %s is held back in quarantine: %s; accept it with `headwater quarantine retry`",
            self.name,
            chosen.name,
            why,
        )
        self._plan_of_sets = replace(self._plan_of_sets, chosen=None, progress=held)

    def _check_unchanged(self, chosen: ChosenSet, outcome: ObjectOutcome) -> None:
        event = outcome.stored.event
        is_same = not outcome.etag or is_same_etag(outcome.etag, chosen.etags[event.object_id])
        if outcome.status == "superseded" or outcome.reason == "missing" or not is_same:
            raise IngestError(
                f"table {self.name}: the set changed while it was read: {event.key!r}",
                hint="the batch is retried; nothing is lost",
            )

    def _commit(
        self,
        read: ReadT | None,
        plan: BatchPlan,
        outcomes: Sequence[ObjectOutcome],
        metadata: Mapping[str, str],
    ) -> bool:
        found = self._plan_of_sets
        if found.chosen is None:
            self._planner.note(found.progress)
            return super()._commit(read, plan, outcomes, metadata)
        keeps_missing = any(one.bad_rows or one.status in QUARANTINED for one in outcomes)
        progress = found.progress.apply(found.chosen.name, found.chosen.time, keeps_missing=keeps_missing)

        def build_metadata(keys: int) -> Mapping[str, str]:
            nonlocal progress
            progress = replace(progress, rows=keys)
            return {**metadata, **progress.to_metadata()}

        version = SetVersion(found.chosen.time, keeps_missing)
        committed = self._set_rows.write_set(read, version, plan.batch.end, build_metadata)
        self._planner.note(progress)
        _log.info("table %s: set %s is in the table: %d rows", self.name, progress.applied, progress.rows)
        return committed
