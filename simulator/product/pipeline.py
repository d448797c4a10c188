"""One data table: the real `TablePipeline` on simulated ports, with checks and optional bugs."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from headwater.capture.position import Position
from headwater.capture.quarantine_item import QuarantineItem, Resolved
from headwater.capture.stored_event import EventPage, StoredEvent
from headwater.config.table import TableConfig
from headwater.ingest.ledger.local_states import LocalStates
from headwater.ingest.ledger.table_ledger import TableLedger
from headwater.ingest.pipeline import PipelineRules, TablePipeline
from headwater.ingest.planning.decision import Decision
from headwater.ingest.planning.fold import fold
from headwater.ingest.planning.ledger_entry import LedgerEntry, apply_outcome
from headwater.ingest.planning.observation import is_cleaning
from headwater.ingest.planning.outcome import BatchResult, ObjectOutcome
from headwater.ingest.planning.outdated import Outdated
from headwater.ingest.planning.plan import BatchPlan, Limits, Scope
from headwater.ingest.ports import Ports
from headwater.sources.object_event import ObjectEvent
from simulator.bugs import Bugs
from simulator.outside.bucket import BucketStore
from simulator.outside.clock import SimulatedClock
from simulator.outside.crash import Crashes
from simulator.outside.hudi import HudiTable, Write
from simulator.product.data_rows import RULES, DataRow, SimulatedRows, TableKind
from simulator.product.events_table import SimulatedEventsTable
from simulator.product.ledger import SimulatedLedger, build_table_ledger
from simulator.product.reading import ReadBatch, SimulatedObjects

ON_BAD_OBJECT = TableConfig(path=("**",), format="text").on_bad_object.model_dump(by_alias=True)


class Watcher(Protocol):
    """Receives events that only the process knows."""

    def note_begun(self, kind: TableKind) -> None:
        """Notes the start of a batch: earlier checks belong to the previous one."""

    def note_decided(self, kind: TableKind, plan: BatchPlan, outcomes: Sequence[ObjectOutcome]) -> None:
        """Notes that a batch is decided and read, and about to be written."""

    def note_forgotten(self, kind: TableKind) -> None:
        """Notes that the table restarts from its last commit."""

    def note_due(self, key: str) -> None:
        """Notes the decision that the object under the key may be cleaned."""

    def note_clean(self, key: str) -> None:
        """Notes that the object under the key is about to be cleaned."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """State shared by all pipelines of a process."""

    store: BucketStore
    events: SimulatedEventsTable
    quarantine: HudiTable[QuarantineItem]
    ledger: SimulatedLedger
    clock: SimulatedClock
    crashes: Crashes
    bugs: Bugs
    watch: Watcher
    disk: Mapping[TableKind, LocalStates]


class SimulatedRejects:
    """The quarantine of one table; see `headwater.ingest.ports.Rejects`. Single records are not stored."""

    def __init__(self, kind: TableKind, shared: Surroundings) -> None:
        self._kind = kind
        self._table = shared.quarantine
        self._crashes = shared.crashes
        self._is_late = "rejects_after_commit" in shared.bugs
        self._held: Sequence[QuarantineItem] = ()

    def write(self, items: Sequence[QuarantineItem], _read: ReadBatch | None) -> None:
        if self._is_late:
            self._held = items
        else:
            self._write(items)

    def write_held(self) -> None:
        """Writes what a bug has held back."""
        self._write(self._held)
        self._held = ()

    def _write(self, items: Sequence[QuarantineItem]) -> None:
        if items:
            self._crashes.at("rejects to be written")
            self._table.write(Write([(item.quarantine_id, item) for item in items]))
            self._crashes.at("rejects written")

    def resolve(self, objects: Collection[Resolved], but: Collection[str]) -> None:
        found = [
            item.quarantine_id
            for item in (self._table.peek() if objects else ())
            if item.table == self._kind
            and item.event_id not in but
            and {(item.bucket, item.key, None), (item.bucket, item.key, item.version)} & set(objects)
        ]
        if found:
            self._crashes.at("rejects to be resolved")
            self._table.write(Write(deletes=found))


class SimulatedPipeline(TablePipeline[ReadBatch]):
    """State of one table's thread."""

    def __init__(
        self, kind: TableKind, table: HudiTable[DataRow], scope: Scope, limits: Limits, shared: Surroundings
    ) -> None:
        self.kind = kind
        self._shared = shared
        self._bugs = shared.bugs
        self._rejects = SimulatedRejects(kind, shared)
        rules = PipelineRules(scope, limits.max_bytes, RULES[kind], ON_BAD_OBJECT)
        super().__init__(kind, rules, self._build_ports(table, limits.max_files))

    def _build_ports(self, table: HudiTable[DataRow], max_files: int) -> Ports[ReadBatch]:
        shared, kind = self._shared, self.kind

        def build_ledger() -> TableLedger:
            return build_table_ledger(
                kind,
                shared.ledger,
                table,
                shared.events,
                shared.disk[kind],
                shared.clock.monotonic,
                shared.bugs,
            )

        rows = SimulatedRows(
            kind, table, shared.events, shared.crashes, shared.bugs, lambda: shared.watch.note_forgotten(kind)
        )
        return Ports(
            events=shared.events,
            objects=SimulatedObjects(shared.store, max_files, shared.crashes, shared.bugs),
            rows=rows,
            rejects=self._rejects,
            build_ledger=build_ledger,
            now=shared.clock.now,
            reach=shared.crashes.at,
        )

    @property
    def ledger(self) -> TableLedger:
        return self._ledger

    def load_checkpoint(self) -> Position:
        return self._ports.rows.load_checkpoint()

    def restore(self, position: Position) -> None:
        """Resumes at another pipeline's offset regardless of the table; only for a bug."""
        self.load_checkpoint()
        self._position = position

    def run_batch(self) -> BatchResult | None:
        self._shared.watch.note_begun(self.kind)
        return super().run_batch()

    def _plan(self, page: EventPage) -> BatchPlan:
        plan = super()._plan(page)
        if "checkpoint_is_last" in self._bugs and plan.decisions:
            plan = _end_at(plan, plan.decisions[-1].stored.position)
        if "checkpoint_of_whole_commit" in self._bugs:
            plan = _end_at(plan, Position(plan.batch.end.completed))
        if "position_kept_after_crash" in self._bugs:
            self._position = plan.batch.end
        return plan

    def _decide(self, events: Sequence[StoredEvent], states: Mapping[str, LedgerEntry]) -> Sequence[Decision]:
        if not self._bugs:
            return super()._decide(events, states)
        spoilt = [replace(stored, event=self._spoil(stored)) for stored in events]
        known = {} if "late_event_applied" in self._bugs else states
        if "cleaning_unknown" in self._bugs:
            spoilt = [stored for stored in spoilt if not is_cleaning(stored.event)]
            known = {name: replace(state, reason="") for name, state in known.items()}
        by_id = {stored.event_id: stored for stored in events}
        decisions = fold(spoilt, known, RULES[self.kind])
        unread = by_id.keys() - {stored.event_id for stored in spoilt}
        decisions += [Decision(by_id[event_id], "skip", "superseded") for event_id in unread]
        # Only the decision is wrong: the stored event is the true one.
        return [replace(decision, stored=by_id[decision.stored.event_id]) for decision in decisions]

    def _spoil(self, stored: StoredEvent) -> ObjectEvent:
        """Returns the event as a wrong decision would see it."""
        event = stored.event
        if "order_of_arrival" in self._bugs:
            at = stored.position
            event = replace(event, order_key=f"{at.completed}{at.batch_index:012d}")
        return event

    def _settle(self, outcome: ObjectOutcome, cleaned: set[str]) -> ObjectOutcome:
        if "looked_not_noted" in self._bugs:
            outcome = replace(outcome, looked=False)
        if "kept_rows_not_noted" in self._bugs:
            outcome = replace(outcome, kept=0)
        if "looked_not_confirmed" in self._bugs and outcome.reason == "already_ingested":
            outcome = replace(outcome, status="skipped")
        settled = super()._settle(outcome, cleaned)
        if settled.status == "removed" and "missing_not_retracted" in self._bugs:
            return replace(outcome, status="superseded")
        return settled

    def _find_outdated(self, plan: BatchPlan, outcomes: Sequence[ObjectOutcome]) -> list[Outdated]:
        return [found for found in super()._find_outdated(plan, outcomes) if not self._is_left(found.outcome)]

    def _is_left(self, outcome: ObjectOutcome) -> bool:
        if "shrunk_object_keeps_rows" in self._bugs and outcome.status == "ingested":
            return True
        return "empty_object_keeps_rows" in self._bugs and outcome.reason == "empty_object"

    def _write(self, read: ReadBatch | None, plan: BatchPlan, outcomes: Sequence[ObjectOutcome]) -> bool:
        self._shared.watch.note_decided(self.kind, plan, outcomes)
        if "ledger_before_commit" in self._bugs:
            self._write_ledger_now(plan.states, outcomes)
        committed = super()._write(read, plan, outcomes)
        self._rejects.write_held()
        return committed

    def _write_ledger_now(self, states: Mapping[str, LedgerEntry], outcomes: Sequence[ObjectOutcome]) -> None:
        applied = dict(states)
        for outcome in outcomes:
            object_id = outcome.stored.event.object_id
            applied[object_id] = apply_outcome(applied.get(object_id), outcome)
        shared = self._shared.ledger
        shared.write(self.kind, applied.values(), replace(shared.find_watermark(self.kind), commit="0"))

    def _forget(self) -> None:
        if "state_kept_after_failure" not in self._bugs:
            super()._forget()


def _end_at(plan: BatchPlan, end: Position) -> BatchPlan:
    return replace(plan, batch=replace(plan.batch, end=end))
