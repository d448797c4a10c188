"""One data table, as `headwater.ingest.pipeline` runs it: the real decisions, every step a place to die."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from headwater.capture.object_event import ObjectEvent
from headwater.capture.position import BEGINNING, Position
from headwater.capture.quarantine_item import QuarantineItem
from headwater.capture.stored_event import StoredEvent
from headwater.errors import IngestError, LakeError
from headwater.ingest.accounting import find_cleaned, quarantine_items, settle_outcome, to_skip
from headwater.ingest.object_stores.protocol import ObjectRef
from headwater.ingest.planning.decision import Decision
from headwater.ingest.planning.fold import fold
from headwater.ingest.planning.ledger_entry import LedgerEntry, apply_outcome
from headwater.ingest.planning.observation import is_cleaning, is_from_listing
from headwater.ingest.planning.outcome import ContentState, ObjectOutcome, order_outcomes
from headwater.ingest.planning.outdated import (
    Outdated,
    choose_replaced,
    find_applied,
    find_outdated,
)
from headwater.ingest.planning.plan import BatchPlan, Limits, Scope, plan_batch
from simulator.bugs import Bugs
from simulator.outside.bucket import BUCKET, BucketStore
from simulator.outside.clock import SimulatedClock
from simulator.outside.crash import Crashes
from simulator.outside.hudi import HudiTable, Write
from simulator.product.data_rows import (
    RULES,
    DataRow,
    Gone,
    TableKind,
    build_rows,
    count_rows,
    list_writes,
    plan_write,
)
from simulator.product.events_table import SimulatedEventsTable
from simulator.product.ledger import SimulatedLedger, build_table_ledger
from simulator.product.reading import ObjectReading, ReadObject


class Watcher(Protocol):
    """Who is told what only the process knows."""

    def note_begun(self, kind: TableKind) -> None:
        """A batch begins: what was looked at before belongs to the one before."""

    def note_decided(self, kind: TableKind, plan: BatchPlan, outcomes: Sequence[ObjectOutcome]) -> None:
        """A batch is decided and read, and about to be written."""

    def note_forgotten(self, kind: TableKind) -> None:
        """The table begins again at its last commit."""

    def note_due(self, key: str) -> None:
        """It was decided that what lies under the key may be cleaned."""

    def note_clean(self, key: str) -> None:
        """What lies under the key is about to be cleaned."""


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What all pipelines of a process share."""

    store: BucketStore
    events: SimulatedEventsTable
    quarantine: HudiTable[QuarantineItem]
    ledger: SimulatedLedger
    clock: SimulatedClock
    crashes: Crashes
    bugs: Bugs
    watch: Watcher


class SimulatedPipeline:
    """The memory of one table's thread."""

    def __init__(
        self, kind: TableKind, table: HudiTable[DataRow], scope: Scope, limits: Limits, shared: Surroundings
    ) -> None:
        self.kind = kind
        self._table = table
        self._scope = scope
        self._limits = limits
        self._shared = shared
        self._rules = RULES[kind]
        self._crashes = shared.crashes
        self._bugs = shared.bugs
        self._checkpoint: Position | None = None
        self._position = BEGINNING
        self._begin()

    def _begin(self) -> None:
        shared = self._shared
        self.ledger = build_table_ledger(
            self.kind, shared.ledger, self._table, shared.events, shared.clock.monotonic, shared.bugs
        )

    @property
    def position(self) -> Position:
        return self._position

    def restore(self, position: Position) -> None:
        """Go on where somebody else was, whatever the table says: only for a bug."""
        self.load_checkpoint()
        self._position = position

    def load_checkpoint(self) -> Position:
        if self._checkpoint is None:
            found = self._table.load_timeline().find_metadata("checkpoint")
            self._checkpoint = self._position = Position.parse(found["checkpoint"]) if found else BEGINNING
            self._crashes.at("checkpoint read")
        return self._checkpoint

    def run_batch(self) -> bool:
        """One batch; False when there was nothing new. Raises `LakeError` or `IngestError`."""
        self._shared.watch.note_begun(self.kind)
        self.load_checkpoint()
        page = self._shared.events.read_after(self._position, self._limits.max_files)
        if page.end == self._position and not page.events:
            self.ledger.write_due()
            return False
        self._crashes.at("events read")
        states: dict[str, LedgerEntry] = {}

        def decide(events: Sequence[StoredEvent]) -> list[Decision]:
            states.update(self._find_states(events))
            return self._decide(events, states)

        plan = plan_batch(page.events, page.end, self._scope, self._limits, decide)
        plan = self._spoil_end(plan)
        self._crashes.at("decided")
        if "position_kept_after_crash" in self._bugs:
            self._position = plan.end
        self._apply(plan, states)
        self._position = plan.end
        self.ledger.write_due()
        return True

    def _find_states(self, events: Sequence[StoredEvent]) -> dict[str, LedgerEntry]:
        needed = self._rules.mirrors or self.ledger.has_looked or any(map(is_from_listing, events))
        return self.ledger.find_states({stored.event.object_id for stored in events}) if needed else {}

    def _decide(self, events: Sequence[StoredEvent], states: dict[str, LedgerEntry]) -> list[Decision]:
        if not self._bugs:
            return fold(events, states, self._rules)
        spoilt = [replace(stored, event=self._spoil(stored)) for stored in events]
        known = {} if "late_event_applied" in self._bugs else states
        if "cleaning_unknown" in self._bugs:
            spoilt = [stored for stored in spoilt if not is_cleaning(stored.event)]
            known = {name: replace(state, reason="") for name, state in known.items()}
        by_id = {stored.event_id: stored for stored in events}
        decisions = fold(spoilt, known, self._rules)
        unread = by_id.keys() - {stored.event_id for stored in spoilt}
        decisions += [Decision(by_id[event_id], "skip", "superseded") for event_id in unread]
        # Only the decision is wrong: what is written of the event is true.
        return [replace(decision, stored=by_id[decision.stored.event_id]) for decision in decisions]

    def _spoil(self, stored: StoredEvent) -> ObjectEvent:
        """The event as a wrong decision would take it."""
        event = stored.event
        if "order_of_arrival" in self._bugs:
            at = stored.position
            event = replace(event, order_key=f"{at.completed}{at.batch_index:012d}")
        return event

    def _spoil_end(self, plan: BatchPlan) -> BatchPlan:
        if "checkpoint_is_last" in self._bugs and plan.decisions:
            return replace(plan, end=plan.decisions[-1].stored.position)
        if "checkpoint_of_whole_commit" in self._bugs:
            return replace(plan, end=Position(plan.end.completed))
        return plan

    def save_checkpoint(self) -> None:
        """Commit the position when it is ahead by events that made no rows; write the ledger."""
        if self._position != self.load_checkpoint() and self._table.exists:
            self._commit(Write(), self._position, ())
            self._note_commit(self._position)
        self.ledger.write()

    def _note_commit(self, checkpoint: Position) -> None:
        self._checkpoint = checkpoint
        self.ledger.note_commit(checkpoint)

    def _apply(self, plan: BatchPlan, states: dict[str, LedgerEntry]) -> None:
        objects = self._read(plan, states)
        decided = [to_skip(decision) for decision in plan.choose("skip", "retract")]
        outcomes = [*decided, *(found.outcome for found in objects)]
        self._check_available(outcomes)
        self._crashes.at("objects read")
        if "rejects_after_commit" not in self._bugs:
            self._write_rejects(outcomes)
        outcomes = order_outcomes(outcomes)
        self._shared.watch.note_decided(self.kind, plan, outcomes)
        self._write(plan, states, objects, outcomes)
        self._crashes.at("data written")
        if "rejects_after_commit" in self._bugs:
            self._write_rejects(outcomes)

    def _read(self, plan: BatchPlan, states: dict[str, LedgerEntry]) -> list[ReadObject]:
        to_read = plan.choose("read", "look")
        if not to_read:
            return []

        def find(refs: Sequence[ObjectRef]) -> dict[ContentState, int]:
            if self._rules.mirrors:
                return find_applied(((ref.bucket, ref.key) for ref in refs), states)
            return {} if self._rules.merges else self._find_ingested(refs)

        believed: tuple[Decision, ...] = ()
        if "removal_believed" in self._bugs:
            believed = tuple(d for d in to_read if d.stored.event.kind == "removed")
        reading = ObjectReading(self._shared.store, find, self._crashes, self._bugs)
        found = reading.read([decision for decision in to_read if decision not in believed])
        found += [ReadObject(ObjectOutcome(d.stored, "removed", looked=True)) for d in believed]
        cleaned = find_cleaned(plan.decisions, states)
        return [replace(entry, outcome=self._settle(entry.outcome, cleaned)) for entry in found]

    def _find_ingested(self, refs: Sequence[ObjectRef]) -> dict[ContentState, int]:
        if not refs or not self._table.exists:
            return {}
        counts = count_rows(self._table.read(), {ref.key for ref in refs})
        return {
            (BUCKET, key, version): writes[-1]
            for key, by_version in counts.items()
            for version, writes in by_version.items()
        }

    def _settle(self, outcome: ObjectOutcome, cleaned: Collection[str]) -> ObjectOutcome:
        if "looked_not_noted" in self._bugs:
            outcome = replace(outcome, looked=False)
        if "kept_rows_not_noted" in self._bugs:
            outcome = replace(outcome, kept=0)
        if "looked_not_confirmed" in self._bugs and outcome.reason == "already_ingested":
            outcome = replace(outcome, status="skipped")
        settled = settle_outcome(outcome, cleaned, mirrors=self._rules.mirrors)
        if settled.status == "removed" and "missing_not_retracted" in self._bugs:
            return replace(outcome, status="superseded")
        return settled

    def _check_available(self, outcomes: Sequence[ObjectOutcome]) -> None:
        unavailable = [outcome for outcome in outcomes if outcome.status == "unavailable"]
        if unavailable:
            raise IngestError(f"{len(unavailable)} objects cannot be had now")

    def _write_rejects(self, outcomes: Sequence[ObjectOutcome]) -> None:
        items = quarantine_items(self.kind, outcomes, self._shared.clock.now())
        if items:
            self._crashes.at("rejects to be written")
            self._shared.quarantine.write(Write([(item.quarantine_id, item) for item in items]))
            self._crashes.at("rejects written")

    def _write(
        self,
        plan: BatchPlan,
        states: dict[str, LedgerEntry],
        objects: Sequence[ReadObject],
        outcomes: Sequence[ObjectOutcome],
    ) -> None:
        gone = self._list_gone(plan, outcomes, states)
        known = [states[o.stored.event.object_id] for o in outcomes if _is_known(o, states)]
        is_new = not any(state.rows for state in known)
        write = plan_write(self.kind, self._table, build_rows(objects), gone, is_new=is_new)
        if write is not None:
            if "ledger_before_commit" in self._bugs:
                self._write_ledger_now(states, outcomes)
            self._crashes.at("data to be written")
            self._commit(write, plan.end, outcomes)
        self.ledger.record(outcomes)
        if write is not None:
            self._note_commit(plan.end)

    def _commit(self, write: Write[DataRow], checkpoint: Position, outcomes: Sequence[ObjectOutcome]) -> None:
        carried = self.ledger.build_metadata(outcomes)
        metadata = {"checkpoint": checkpoint.to_text(), **carried}
        if "checkpoint_apart" in self._bugs:
            self._table.write(Write(metadata={"checkpoint": checkpoint.to_text()}))
        if "retraction_apart" in self._bugs and write.deletes and write.rows:
            self._table.write(replace(write, deletes=(), metadata=metadata))
            write = Write(deletes=write.deletes)
            metadata = {}
        try:
            self._table.write(replace(write, metadata=metadata))
        except LakeError:
            if "state_kept_after_failure" not in self._bugs:
                self.forget()
            raise

    def _write_ledger_now(self, states: dict[str, LedgerEntry], outcomes: Sequence[ObjectOutcome]) -> None:
        applied: dict[str, LedgerEntry] = dict(states)
        for outcome in outcomes:
            object_id = outcome.stored.event.object_id
            applied[object_id] = apply_outcome(applied.get(object_id), outcome)
        shared = self._shared.ledger
        shared.write(self.kind, applied.values(), replace(shared.find_mark(self.kind), commit="0"))

    def forget(self) -> None:
        """Whether the commit is there, nobody knows: begin from what the table says."""
        self._checkpoint = None
        self._shared.watch.note_forgotten(self.kind)
        self._begin()

    def _list_gone(
        self, plan: BatchPlan, outcomes: Sequence[ObjectOutcome], states: dict[str, LedgerEntry]
    ) -> list[Gone]:
        found = find_outdated(plan, outcomes, states, self._rules)
        return [self._build_gone(entry) for entry in found if not self._is_left(entry.outcome)]

    def _build_gone(self, entry: Outdated) -> Gone:
        event = entry.outcome.stored.event
        if not entry.is_replaced or self._rules.mirrors:
            return Gone(event)
        rows = self._table.read() if self._table.exists else ()
        announced = self._shared.events.count_puts(event.key)
        return Gone(event, choose_replaced(list_writes(rows, event.key), announced, entry.outcome.version))

    def _is_left(self, outcome: ObjectOutcome) -> bool:
        if "shrunk_object_keeps_rows" in self._bugs and outcome.status == "ingested":
            return True
        return "empty_object_keeps_rows" in self._bugs and outcome.reason == "empty_object"


def _is_known(outcome: ObjectOutcome, states: dict[str, LedgerEntry]) -> bool:
    return outcome.stored.event.object_id in states
