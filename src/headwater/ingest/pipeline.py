"""One data table: plan a batch, read its objects, write rows, retractions and checkpoint in one commit.

Runs without Spark: the ports provide access to all external systems.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic

from headwater.capture.position import Position
from headwater.capture.stored_event import EventPage, StoredEvent
from headwater.errors import IngestError, LakeError, TransformError
from headwater.ingest.accounting import (
    QUARANTINED,
    apply_policy,
    build_counts,
    find_cleaned,
    find_resolved,
    quarantine_items,
    settle_outcome,
    to_skip,
)
from headwater.ingest.planning.decision import Decision
from headwater.ingest.planning.fold import FoldRules, fold
from headwater.ingest.planning.ledger_entry import LedgerEntry
from headwater.ingest.planning.observation import is_from_listing
from headwater.ingest.planning.outcome import (
    BatchResult,
    ContentState,
    ObjectOutcome,
    count_outcomes,
    order_outcomes,
)
from headwater.ingest.planning.outdated import Outdated, find_applied, find_outdated
from headwater.ingest.planning.plan import BatchPlan, Limits, Scope, take_batch
from headwater.ingest.ports import Ports, ReadT
from headwater.observability.tracing.traces import span
from headwater.sources.object_store import ObjectRef

_UNAVAILABLE_ATTEMPTS = 3


@dataclass(frozen=True, slots=True)
class PipelineRules:
    """Which objects belong to the table, how it follows them, and the handling of bad ones, by reason."""

    scope: Scope
    max_bytes: int
    fold: FoldRules
    on_bad_object: Mapping[str, object]


class TablePipeline(Generic[ReadT]):
    """Keeps one data table up to date with the events table. Used by one thread."""

    def __init__(self, name: str, rules: PipelineRules, ports: Ports[ReadT]) -> None:
        self.name = name
        self._rules = rules
        self._ports = ports
        self._ledger = ports.build_ledger()
        self._position: Position | None = None
        self._unavailable_attempts = 0
        self._commit_seconds = 0.0

    @property
    def position(self) -> Position:
        """The offset of events read; may be ahead of the checkpoint by irrelevant events."""
        if self._position is None:
            self._position = self._ports.rows.load_checkpoint()
        return self._position

    def run_batch(self) -> BatchResult | None:
        """Write one batch from the events table to the data table; return None if there are no new events.

        If it fails because of its data, the bad parts are quarantined and the rest is committed. Raises
        `LakeError`, `SourceError` or `IngestError` for any other failure; then the checkpoint is unchanged
        and the same batch is planned again.
        """
        while True:
            try:
                result = self._run_batch()
                break
            except (LakeError, TransformError) as error:
                if not self._ports.objects.isolate(error):
                    raise
        self._ports.objects.note_committed()
        return result

    def _run_batch(self) -> BatchResult | None:
        started = time.monotonic()
        page = self._ports.events.read_after(self.position, self._ports.objects.most_objects)
        is_idle = page.end == self.position and not page.events
        if is_idle and not self._is_due():
            self._save_due()
            return None
        self._ports.rows.check_backlog()
        with span("plan", events=len(page.events)):
            plan = self._plan(page)
        if is_idle and not plan.decisions:
            return None
        outcomes, committed = self._apply(plan)
        self._position = plan.batch.end
        self._save_due()
        more = plan.batch.more or page.more or self._is_due()
        return self._build_result(plan, outcomes, committed, time.monotonic() - started, more)

    def _is_due(self) -> bool:
        """True if there is work without another event."""
        return False

    def _plan(self, page: EventPage) -> BatchPlan:
        limits = Limits(self._ports.objects.most_objects, self._rules.max_bytes)
        batch = take_batch(page, self._rules.scope, limits)
        states = self._find_states(batch.events)
        return BatchPlan(batch, tuple(self._decide(batch.events, states)), states)

    def _find_states(self, events: Sequence[StoredEvent]) -> dict[str, LedgerEntry]:
        """Return the states for the decision: most tables ingest objects regardless of their state."""
        mirrors = self._rules.fold.mirrors
        is_needed = mirrors or self._ledger.has_unconfirmed or any(map(is_from_listing, events))
        return self._ledger.find_states({stored.event.object_id for stored in events}) if is_needed else {}

    def _decide(self, events: Sequence[StoredEvent], states: Mapping[str, LedgerEntry]) -> Sequence[Decision]:
        return fold(events, states, self._rules.fold)

    def _save_due(self) -> None:
        if self._ledger.is_commit_due:
            self._save_checkpoint()
        self._ledger.write_due()

    def save_checkpoint(self) -> bool:
        """Commit the offset if it is ahead by events without rows; write the ledger, and close its copy."""
        saved = self._save_checkpoint()
        self._ledger.write()
        self._ledger.close()
        return saved

    def _save_checkpoint(self) -> bool:
        try:
            saved = self._ports.rows.write_checkpoint(self.position, self._build_metadata)
        except LakeError:
            self._forget()
            raise
        if saved:
            self._ledger.note_commit(self.position)
        return saved

    def _build_metadata(self, outcomes: Sequence[ObjectOutcome] = ()) -> dict[str, str]:
        return self._ledger.build_metadata(outcomes)

    def _forget(self) -> None:
        """Restart from the table's state, because a failed commit may be complete."""
        self._ports.rows.forget()
        self._position = None
        self._ledger = self._ports.build_ledger()

    def _apply(self, plan: BatchPlan) -> tuple[list[ObjectOutcome], bool]:
        read: ReadT | None = None
        try:
            read = self._read(plan)
            decided = [
                apply_policy(to_skip(decision), self._rules.on_bad_object)
                for decision in plan.choose("skip", "retract")
            ]
            kept, found = self._accept(read)
            outcomes = [*decided, *found]
            self._check_available(outcomes)
            self._write_rejects(kept, outcomes)
            # No error may occur between the commit and the new offset, or the batch would be repeated and
            # counted twice. A repeated batch decides about its objects again.
            self._resolve_quarantine(outcomes, plan.states)
            # Ordered by each object's events, as the ledger counts them.
            outcomes = order_outcomes(outcomes)
            self._ports.reach("before_data_commit")
            started = time.monotonic()
            committed = self._write(kept, plan, outcomes)
            self._commit_seconds = time.monotonic() - started
            self._ports.reach("after_data_commit")
        finally:
            if read:
                read.release()
        return outcomes, committed

    def _read(self, plan: BatchPlan) -> ReadT | None:
        to_read = plan.choose("read", "look")
        if not to_read:
            return None
        cleaned = find_cleaned(plan.decisions, plan.states)
        settle = partial(self._settle, cleaned=cleaned)
        return self._ports.objects.read(to_read, partial(self._find_ingested, plan), settle)

    def _accept(self, read: ReadT | None) -> tuple[ReadT | None, Sequence[ObjectOutcome]]:
        """Return what is written of the objects read, and their outcomes."""
        return read, [outcome for _, outcome in read.outcomes] if read else []

    def _find_ingested(self, plan: BatchPlan, refs: Sequence[ObjectRef]) -> Mapping[ContentState, int]:
        if self._rules.fold.mirrors:
            return find_applied(((ref.bucket, ref.key) for ref in refs), plan.states)
        if self._rules.fold.merges:
            # It may ingest content again: the same rows get the same keys, and the newest wins.
            return {}
        return self._ports.rows.find_ingested(refs)

    def _settle(self, outcome: ObjectOutcome, cleaned: set[str]) -> ObjectOutcome:
        outcome = settle_outcome(outcome, cleaned, mirrors=self._rules.fold.mirrors)
        if outcome.status == "removed":
            return outcome
        return apply_policy(outcome, self._rules.on_bad_object)

    def _check_available(self, outcomes: Sequence[ObjectOutcome]) -> None:
        """Raise an error if the store is down; single objects that stay unavailable are quarantined."""
        unavailable = [outcome for outcome in outcomes if outcome.status == "unavailable"]
        readable = any(outcome.status == "ingested" for outcome in outcomes)
        # An attempt during an outage of the whole store says nothing about single objects.
        self._unavailable_attempts += bool(unavailable and readable)
        if unavailable and self._unavailable_attempts < _UNAVAILABLE_ATTEMPTS:
            first = unavailable[0]
            raise IngestError(
                f"table {self.name}: {len(unavailable)} objects of the batch are unavailable, "
                f"first {first.stored.event.key!r}: {first.detail}",
                hint="the batch is retried; nothing is lost",
            )
        self._unavailable_attempts = 0

    def _write_rejects(self, read: ReadT | None, outcomes: Sequence[ObjectOutcome]) -> None:
        items = quarantine_items(self.name, outcomes, self._ports.now())
        self._ports.rejects.write(items, read)

    def _resolve_quarantine(
        self, outcomes: Sequence[ObjectOutcome], states: Mapping[str, LedgerEntry]
    ) -> None:
        resolved = {
            find_resolved(outcome, states.get(outcome.stored.event.object_id), mirrors=self._needs_newest)
            for outcome in outcomes
        }
        # The items of this batch stay, even if it made a request obsolete.
        written = {
            outcome.stored.event_id
            for outcome in outcomes
            if outcome.bad_rows or outcome.status in QUARANTINED
        }
        self._ports.rejects.resolve({found for found in resolved if found}, written)

    @property
    def _needs_newest(self) -> bool:
        """True if the table needs only the newest content of an object."""
        return self._rules.fold.mirrors

    def _find_outdated(self, plan: BatchPlan, outcomes: Sequence[ObjectOutcome]) -> list[Outdated]:
        return find_outdated(plan, outcomes, self._rules.fold)

    def _write(self, read: ReadT | None, plan: BatchPlan, outcomes: Sequence[ObjectOutcome]) -> bool:
        metadata = {**self._build_metadata(outcomes), **build_counts(outcomes)}
        try:
            committed = self._commit(read, plan, outcomes, metadata)
        except LakeError:
            self._forget()
            raise
        self._ledger.record(outcomes)
        if committed:
            self._ledger.note_commit(plan.batch.end)
        return committed

    def _commit(
        self,
        read: ReadT | None,
        plan: BatchPlan,
        outcomes: Sequence[ObjectOutcome],
        metadata: Mapping[str, str],
    ) -> bool:
        """Commit what the batch changes; return False, without a commit, if it changes nothing."""
        ids = {outcome.stored.event.object_id for outcome in outcomes}
        is_new = not any(plan.states[object_id].rows for object_id in ids & plan.states.keys())
        outdated = self._find_outdated(plan, outcomes)
        return self._ports.rows.write(read, outdated, plan.batch.end, metadata, is_new=is_new)

    def _build_result(
        self, plan: BatchPlan, outcomes: Sequence[ObjectOutcome], committed: bool, seconds: float, more: bool
    ) -> BatchResult:
        by_status, by_reason = count_outcomes(outcomes)
        now = self._ports.now()
        return BatchResult(
            table=self.name,
            end=plan.batch.end.to_text(),
            objects=by_status,
            skipped=by_reason,
            rows=sum(outcome.rows for outcome in outcomes),
            bad_rows=sum(outcome.bad_rows for outcome in outcomes),
            bytes=sum(outcome.bytes for outcome in outcomes),
            filtered=plan.batch.filtered,
            foreign=plan.batch.foreign,
            seconds=seconds,
            commit_seconds=self._commit_seconds,
            committed=committed,
            more=more,
            warnings=self._ports.objects.take_warnings(),
            freshness=tuple(
                (now - o.stored.event.event_time).total_seconds() for o in outcomes if o.status == "ingested"
            ),
        )
