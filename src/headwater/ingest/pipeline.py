"""One data table: plan a batch, read its objects, write rows, retractions and checkpoint in one commit."""

import logging
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from headwater.capture.events_table import EventsTable
from headwater.capture.position import Position, build_position
from headwater.capture.quarantine_table import QuarantineTable
from headwater.capture.stored_event import StoredEvent
from headwater.config.table import TableConfig
from headwater.errors import IngestError, LakeError, TransformError
from headwater.ingest.accounting import (
    apply_policy,
    build_counts,
    find_cleaned,
    find_resolved,
    is_decided,
    quarantine_items,
    reject_columnless,
    settle_outcome,
    to_skip,
)
from headwater.ingest.isolation.bad_parts import MAX_OBJECTS, ProcessedRecords
from headwater.ingest.isolation.data_failure import is_data_failure
from headwater.ingest.ledger.ledger import Ledger
from headwater.ingest.ledger.table_ledger import TableLedger
from headwater.ingest.planning.decision import Decision
from headwater.ingest.planning.fold import FoldRules, fold
from headwater.ingest.planning.ledger_entry import LedgerEntry
from headwater.ingest.planning.observation import is_from_listing
from headwater.ingest.planning.outcome import (
    BatchResult,
    ObjectOutcome,
    count_outcomes,
    order_outcomes,
)
from headwater.ingest.planning.outdated import find_applied
from headwater.ingest.planning.plan import BatchPlan, Limits, Scope, plan_batch
from headwater.ingest.reading.bad_records import quarantine_frame
from headwater.ingest.reading.batch_read import BatchRead, read_batch
from headwater.ingest.reading.failures import explained_read
from headwater.ingest.stored_contents import StoredContents
from headwater.ingest.table_state import (
    TableState,
    load_metadata,
    name_version,
    resume_state,
    with_columns,
)
from headwater.ingest.table_writer import TableWriter
from headwater.lake.table import Table
from headwater.observability.crash_points import crash_point

_log = logging.getLogger(__name__)

_UNAVAILABLE_ATTEMPTS = 3
_SCHEMA_ROUNDS = 5
"""A batch is read at most so often for the columns its objects bring; mostly that is once."""
# So many outcomes without a row get a commit of their own: they are kept in memory until then.
_MANY_UNCOMMITTED = 10_000


@dataclass(frozen=True, slots=True)
class Stores:
    """The tables that all pipelines of a run share."""

    events: EventsTable
    quarantine: QuarantineTable
    ledger: Ledger


class TablePipeline:
    """Keeps one data table up with the events table. Used by one thread."""

    def __init__(
        self,
        name: str,
        config: TableConfig,
        *,
        scope: Scope,
        table: Table,
        records: ProcessedRecords,
        stores: Stores,
        now: Callable[[], datetime],
    ) -> None:
        self.name = name
        self._config = config
        self._scope = scope
        self._table = table
        self._records = records.source
        self._stores = stores
        self._processor = records.processor
        self._bad_parts = records.bad_parts
        self._failing: tuple[BatchRead, bool] | None = None
        self._most_files = config.max_files_per_trigger
        self._now = now
        self._writer = TableWriter(name, config, table)
        self._ledger = self._build_ledger()
        self._rules = FoldRules(
            mirrors=config.effective_mode == "mirror", merges=config.effective_mode == "merge"
        )
        self._contents = StoredContents(table, stores.events, self._rules)
        self._policy = config.on_bad_object.model_dump(by_alias=True)
        self._state: TableState | None = None
        self._position: Position | None = None
        self._unavailable_attempts = 0
        self._commit_seconds = 0.0
        self._rules_text = config.rules

    def _build_ledger(self) -> TableLedger:
        return TableLedger(self.name, self._stores.ledger, self._table, self._stores.events)

    def _forget(self) -> None:
        self._state = self._position = None
        self._ledger = self._build_ledger()

    def load_state(self) -> TableState:
        """What the table's newest commit with a checkpoint says; asked once. Raises `TableMismatchError`."""
        if self._state is None:
            found = load_metadata(self.name, self._table)
            self._state = resume_state(self.name, found, self._config.index)
            if found is None and self._config.start_from is not None:
                self._state = replace(self._state, checkpoint=build_position(self._config.start_from))
            self._position = self._state.checkpoint
            self._rules_text = self._state.rules or self._config.rules
            if self._rules_text != self._config.rules:
                # New events go by the new rules; what lies there already waits for a person to say so.
                _log.warning("table %s: its path or filters have changed; see `headwater routing`", self.name)
        return self._state

    def adopt_rules(self) -> None:
        """The rules configured now are those the table is filled by, once the next commit is done."""
        self.load_state()
        self._rules_text = self._config.rules

    @property
    def position(self) -> Position:
        """How far events were read; may be ahead of the checkpoint by events of no concern."""
        self.load_state()
        assert self._position is not None  # noqa: S101 - set by load_state
        return self._position

    def run_batch(self) -> BatchResult | None:
        """Take one batch from the events table to the data table; None when there is nothing new.

        If it fails because of its data, what is bad goes to quarantine and the rest is committed. Raises
        `LakeError`, `SourceError` or `IngestError` for any other failure; then the checkpoint has not moved
        and the same batch is planned again.
        """
        with explained_read(self.name):
            while True:
                try:
                    result = self._run_batch()
                    break
                except (LakeError, TransformError) as error:
                    if not self._isolate(error):
                        raise
        self._bad_parts.forget()
        self._most_files = min(2 * self._most_files, self._config.max_files_per_trigger)
        return result

    def _isolate(self, error: LakeError | TransformError) -> bool:
        """Whether the batch may now pass: it is smaller, or bad objects and records of it are known."""
        failing, self._failing = self._failing, None
        if failing is None or not is_data_failure(error):
            return False
        read, written = failing
        count = sum(outcome.status == "ingested" for _, outcome in read.outcomes)
        if count <= MAX_OBJECTS:
            return self._bad_parts.find(read, written=written)
        self._most_files = min(self._most_files, count) // 2
        _log.warning("table %s: halving a batch that fails: %s", self.name, error.message)
        return True

    def _run_batch(self) -> BatchResult | None:
        started = time.monotonic()
        self.load_state()
        page = self._stores.events.read_after(self.position, self._most_files)
        if page.end == self.position and not page.events:
            self._ledger.write_due()
            return None
        limits = Limits(self._most_files, int(self._config.max_bytes_per_trigger))
        states: dict[str, LedgerEntry] = {}

        def decide(events: Sequence[StoredEvent]) -> list[Decision]:
            states.update(self._find_states(events))
            return fold(events, states, self._rules)

        plan = plan_batch(page.events, page.end, self._scope, limits, decide)
        outcomes, committed = self._apply(plan, states)
        self._position = plan.end
        if self._ledger.uncommitted >= _MANY_UNCOMMITTED:
            self._save_checkpoint()
        self._ledger.write_due()
        return self._build_result(
            plan, outcomes, committed, time.monotonic() - started, plan.more or page.more
        )

    def save_checkpoint(self) -> bool:
        """Commit the position when it is ahead by events that made no rows; write the ledger."""
        with explained_read(self.name):
            saved = self._save_checkpoint()
            self._ledger.write()
        return saved

    def _save_checkpoint(self) -> bool:
        state = self.load_state()
        if (
            self.position == state.checkpoint and self._rules_text == state.rules
        ) or not self._table.load_timeline().has_commits():
            return False
        state = name_version(state, self._table)
        state = replace(state, checkpoint=self.position, rules=self._rules_text)
        try:
            self._writer.write_checkpoint({**state.to_metadata(), **self._ledger.build_metadata()})
        except LakeError:
            self._forget()
            raise
        self._note_commit(state)
        return True

    def _note_commit(self, state: TableState) -> None:
        self._state = state
        self._ledger.note_commit(state.checkpoint)

    def _find_states(self, events: Sequence[StoredEvent]) -> dict[str, LedgerEntry]:
        """What the decision needs: most tables take objects in without asking what they were before."""
        is_needed = self._rules.mirrors or self._ledger.has_looked or any(map(is_from_listing, events))
        return self._ledger.find_states({stored.event.object_id for stored in events}) if is_needed else {}

    def _apply(self, plan: BatchPlan, states: dict[str, LedgerEntry]) -> tuple[list[ObjectOutcome], bool]:
        read: BatchRead | None = None
        try:
            read = self._read(plan, states)
            decided = [apply_policy(to_skip(d), self._policy) for d in plan.choose("skip", "retract")]
            outcomes = [*decided, *(outcome for _, outcome in read.outcomes)] if read else decided
            self._check_available(outcomes)
            self._write_rejects(read, outcomes)
            # Nothing may fail between the commit and the new position, or the batch would be done and
            # counted twice. One that is done again decides about the object again.
            self._resolve_quarantine(outcomes, states)
            # Each object's in the order of its events, as the ledger counts them.
            outcomes = order_outcomes(outcomes)
            crash_point("before_data_commit")
            started = time.monotonic()
            committed = self._write(read, plan, outcomes, states)
            self._commit_seconds = time.monotonic() - started
            crash_point("after_data_commit")
        finally:
            if read:
                read.release()
        return outcomes, committed

    def _read(self, plan: BatchPlan, states: dict[str, LedgerEntry]) -> BatchRead | None:
        to_read = plan.choose("read", "look")
        if not to_read:
            return None
        self._records.ensure_schema([decision.stored for decision in to_read], self.load_state())
        for rounds_left in reversed(range(_SCHEMA_ROUNDS)):
            read = self._read_once(plan, states)
            try:
                # What is read again may bring more: a wider column shows what else did not fit.
                if rounds_left and self._records.evolve(read, self._table):
                    read.release()
                    continue
                self._records.ensure_unchanged()
            except BaseException:
                read.release()
                raise
            break
        if not self._records.is_provisional:
            read = self._bad_parts.leave_out(read)
            self._failing = (read, False)
            read = self._processor.process(read)
            self._failing = (self._failing[0], True)
        cleaned = find_cleaned(plan.decisions, states)
        settled = [(at, self._settle(outcome, cleaned)) for at, outcome in read.outcomes]
        return replace(read, outcomes=tuple(settled))

    def _read_once(self, plan: BatchPlan, states: dict[str, LedgerEntry]) -> BatchRead:
        to_read = plan.choose("read", "look")
        if self._rules.mirrors:
            return read_batch(
                to_read,
                self._records.read,
                lambda refs: find_applied(((ref.bucket, ref.key) for ref in refs), states),
            )
        return read_batch(to_read, self._records.read, self._contents.find_ingested)

    def _settle(self, outcome: ObjectOutcome, cleaned: Collection[str]) -> ObjectOutcome:
        outcome = settle_outcome(outcome, cleaned, mirrors=self._rules.mirrors)
        if outcome.status == "removed":
            return outcome
        outcome = reject_columnless(outcome) if self._records.is_provisional else outcome
        return apply_policy(outcome, self._policy)

    def _check_available(self, outcomes: Sequence[ObjectOutcome]) -> None:
        """An outage of the store fails the batch; single objects that stay unavailable go to quarantine."""
        unavailable = [outcome for outcome in outcomes if outcome.status == "unavailable"]
        readable = any(outcome.status == "ingested" for outcome in outcomes)
        self._unavailable_attempts = self._unavailable_attempts + 1 if unavailable else 0
        if unavailable and (not readable or self._unavailable_attempts < _UNAVAILABLE_ATTEMPTS):
            first = unavailable[0]
            raise IngestError(
                f"table {self.name}: {len(unavailable)} of the batch's objects cannot be had now, "
                f"first {first.stored.event.key!r}: {first.detail}",
                hint="the batch is tried again; nothing is lost",
            )
        self._unavailable_attempts = 0

    def _resolve_quarantine(self, outcomes: Sequence[ObjectOutcome], states: dict[str, LedgerEntry]) -> None:
        resolved = (
            find_resolved(o, states.get(o.stored.event.object_id), mirrors=self._rules.mirrors)
            for o in outcomes
        )
        decided = {outcome.stored.event_id for outcome in outcomes if is_decided(outcome)}
        self._stores.quarantine.resolve(self.name, {found for found in resolved if found}, decided)

    def _write_rejects(self, read: BatchRead | None, outcomes: Sequence[ObjectOutcome]) -> None:
        now = self._now()
        items = quarantine_items(self.name, outcomes, now)
        bad = (
            quarantine_frame(read.records, self.name, read.outcomes, now)
            if read is not None and read.records is not None
            else None
        )
        if items or bad is not None:
            crash_point("before_ingest_quarantine_commit")
        self._stores.quarantine.append(items)
        if bad is not None:
            self._stores.quarantine.append_frame(bad)

    def _write(
        self,
        read: BatchRead | None,
        plan: BatchPlan,
        outcomes: Sequence[ObjectOutcome],
        states: dict[str, LedgerEntry],
    ) -> bool:
        state = name_version(self.load_state(), self._table)
        state = replace(state, checkpoint=plan.end, rules=self._rules_text)
        if read and not self._records.is_provisional:
            records = self._records
            state = with_columns(
                state, records.schema, records.rescued_column, records.brought_by, self._now()
            )
        metadata = {**state.to_metadata(), **self._ledger.build_metadata(outcomes), **build_counts(outcomes)}
        ids = {outcome.stored.event.object_id for outcome in outcomes}
        is_new = not any(states[object_id].rows for object_id in ids & states.keys())
        gone = self._contents.list_gone(plan, outcomes, states)
        try:
            committed = self._writer.write(read, gone, metadata, is_new=is_new)
        except LakeError:
            # The commit may be complete all the same: begin again from what the table says.
            self._forget()
            raise
        self._ledger.record(outcomes)
        if committed:
            self._note_commit(state)
        return committed

    def _build_result(
        self, plan: BatchPlan, outcomes: Sequence[ObjectOutcome], committed: bool, seconds: float, more: bool
    ) -> BatchResult:
        by_status, by_reason = count_outcomes(outcomes)
        now = self._now()
        return BatchResult(
            table=self.name,
            end=plan.end.to_text(),
            objects=by_status,
            skipped=by_reason,
            rows=sum(outcome.rows for outcome in outcomes),
            bad_rows=sum(outcome.bad_rows for outcome in outcomes),
            bytes=sum(outcome.bytes for outcome in outcomes),
            filtered=plan.filtered,
            foreign=plan.foreign,
            seconds=seconds,
            commit_seconds=self._commit_seconds,
            committed=committed,
            more=more,
            warnings=self._processor.take_warnings(),
            freshness=tuple(
                (now - o.stored.event.event_time).total_seconds() for o in outcomes if o.status == "ingested"
            ),
        )
