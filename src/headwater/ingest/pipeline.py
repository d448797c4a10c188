"""One data table: plan a batch, read its objects, write rows and checkpoint in one commit."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headwater.capture.events_table import EventsTable
from headwater.capture.position import Position
from headwater.capture.quarantine_table import QuarantineTable
from headwater.config.table import TableConfig
from headwater.errors import IngestError
from headwater.ingest.accounting import (
    QUARANTINED,
    quarantine_frame,
    quarantine_items,
    reject_columnless,
    to_skip,
)
from headwater.ingest.ledger import Ledger
from headwater.ingest.object_stores import ObjectRef
from headwater.ingest.planning.outcome import BatchResult, ObjectOutcome, count_outcomes
from headwater.ingest.planning.plan import BatchPlan, Limits, Scope, plan_batch
from headwater.ingest.planning.selection import parse_partition_values
from headwater.ingest.reading.batch_read import BatchRead, read_batch
from headwater.ingest.reading.failures import explained_read
from headwater.ingest.reading.lineage import (
    EVENT_ID,
    EVENT_TIME,
    OBJECT,
    ROW,
    VERSION,
    Lineage,
    build_uri,
    with_lineage,
)
from headwater.ingest.reading.record_keys import are_keys_unique
from headwater.ingest.reading.record_source import RecordSource
from headwater.ingest.table_state import TableState, parse_table_state
from headwater.lake.options import WriteOptions
from headwater.lake.table import Table
from headwater.observability.crash_points import crash_point

_UNAVAILABLE_ATTEMPTS = 3
# From so many rows on it is worth a job to find out that there is nothing to combine.
_MANY_ROWS = 50_000


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
        records: RecordSource,
        stores: Stores,
        now: Callable[[], datetime],
    ) -> None:
        self.name = name
        self._spark = table.spark
        self._config = config
        self._scope = scope
        self._table = table
        self._records = records
        self._stores = stores
        self._now = now
        self._state: TableState | None = None
        self._position: Position | None = None
        self._unavailable_attempts = 0

    def load_state(self) -> TableState:
        """What the table's newest commit with a checkpoint says; asked of the table once."""
        if self._state is None:
            timeline = self._table.load_timeline()
            found = timeline.find_metadata("checkpoint") if timeline.exists() else None
            self._state = parse_table_state(found)
            self._position = self._state.checkpoint
        return self._state

    @property
    def position(self) -> Position:
        """How far events were read; may be ahead of the checkpoint by events of no concern."""
        self.load_state()
        assert self._position is not None  # noqa: S101 - set by load_state
        return self._position

    def run_batch(self) -> BatchResult | None:
        """Take one batch from the events table to the data table; None when there is nothing new.

        Raises `LakeError`, `SourceError` or `IngestError`; then the checkpoint has not moved and the
        same batch is planned again.
        """
        with explained_read(self.name):
            return self._run_batch()

    def _run_batch(self) -> BatchResult | None:
        started = time.monotonic()
        state = self.load_state()
        page = self._stores.events.read_after(self.position, self._config.max_files_per_trigger)
        if page.end == self.position and not page.events:
            return None
        limits = Limits(self._config.max_files_per_trigger, int(self._config.max_bytes_per_trigger))
        plan = plan_batch(page.events, page.end, self._scope, limits, frozenset(state.observed))
        outcomes, committed = self._apply(plan)
        self._position = plan.end
        return self._build_result(
            plan, outcomes, committed, time.monotonic() - started, plan.more or page.more
        )

    def save_checkpoint(self) -> bool:
        """Commit the position when it is ahead of the checkpoint by events that made no rows."""
        with explained_read(self.name):
            return self._save_checkpoint()

    def _save_checkpoint(self) -> bool:
        state = self.load_state()
        if self.position == state.checkpoint or not self._table.load_timeline().exists():
            return False
        frame = self._table.read().limit(0)
        hudi_columns = [name for name in frame.columns if name.startswith("_hoodie_")]
        self._commit(frame.drop(*hudi_columns), replace(state, checkpoint=self.position), {})
        return True

    def _apply(self, plan: BatchPlan) -> tuple[list[ObjectOutcome], bool]:
        skipped = [to_skip(decision) for decision in plan.decisions if decision.action == "skip"]
        if not plan.to_read:
            self._stores.ledger.write(self.name, skipped, self._now())
            return skipped, False
        self._records.ensure_schema(plan.to_read, self.load_state().schema)
        read = read_batch(plan.to_read, self._records.read, self._find_ingested)
        try:
            self._records.ensure_unchanged()
            if self._records.is_provisional:
                read = replace(read, outcomes=tuple((at, reject_columnless(o)) for at, o in read.outcomes))
            outcomes = [*skipped, *(outcome for _, outcome in read.outcomes)]
            self._check_available(outcomes)
            self._write_rejects(read, outcomes)
            crash_point("before_data_commit")
            committed = self._write_rows(read, plan, outcomes)
            crash_point("after_data_commit")
        finally:
            read.release()
        return outcomes, committed

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

    def _write_rejects(self, read: BatchRead, outcomes: Sequence[ObjectOutcome]) -> None:
        now = self._now()
        items = quarantine_items(self.name, outcomes, now)
        bad = (
            quarantine_frame(read.records, self.name, read.outcomes, now)
            if read.records is not None
            else None
        )
        if items or bad is not None:
            crash_point("before_ingest_quarantine_commit")
        self._stores.quarantine.append(items)
        if bad is not None:
            self._stores.quarantine.append_frame(bad)
        self._stores.ledger.write(self.name, [o for o in outcomes if o.status != "ingested"], now)

    def _write_rows(self, read: BatchRead, plan: BatchPlan, outcomes: Sequence[ObjectOutcome]) -> bool:
        if read.records is None or not any(outcome.rows for _, outcome in read.outcomes):
            return False
        is_good = F.col("outcome").isNull() & F.col("corrupt").isNull()
        rows = read.records.where(is_good).select("object_index", "row_number", "record.*")
        lineages = [self._build_lineage(at, outcome) for at, outcome in read.outcomes if outcome.rows]
        frame = with_lineage(rows, self._spark, lineages, self._config.partition_columns)
        state = replace(self.load_state(), checkpoint=plan.end, schema=self._records.schema)
        count = sum(outcome.rows for _, outcome in read.outcomes)
        unique = count >= _MANY_ROWS and are_keys_unique(frame, self._config.record_key, count)
        self._commit(frame, state.with_observed(read.observed), _build_counts(outcomes), unique_keys=unique)
        return True

    def _build_lineage(self, at: int, outcome: ObjectOutcome) -> Lineage:
        event = outcome.stored.event
        values = parse_partition_values(event.key, self._config.partition_columns)
        return Lineage(
            object_index=at,
            uri=build_uri(event.provider, event.bucket, event.key),
            version=outcome.version,
            event_id=outcome.stored.event_id,
            event_time=event.event_time,
            partition_values=tuple(values[name] for name in self._config.partition_columns),
        )

    def _commit(
        self, frame: DataFrame, state: TableState, counts: dict[str, str], *, unique_keys: bool = False
    ) -> None:
        config = self._config
        is_merge = config.effective_mode == "merge"
        options = WriteOptions(
            table_name=self.name,
            operation=config.effective_operation,
            record_key=config.record_key if is_merge else (EVENT_ID, ROW),
            partition=config.partition,
            ordering=(config.ordering or (EVENT_TIME,)) if is_merge else (),
            table_type=config.table_type,
            unique_keys=unique_keys,
            commit_metadata={**state.to_metadata(), **counts},
            extra=config.hoodie,
        )
        self._table.write(frame, options)
        self._state = state

    def _find_ingested(self, refs: Sequence[ObjectRef]) -> set[tuple[str, str, str]]:
        if not self._table.load_timeline().exists():
            return set()
        by_uri = {build_uri(ref.provider, ref.bucket, ref.key): ref for ref in refs}
        rows = (
            self._table.read()
            .where(F.col(OBJECT).isin(list(by_uri)))
            .select(OBJECT, VERSION)
            .distinct()
            .collect()
        )
        return {(by_uri[row[OBJECT]].bucket, by_uri[row[OBJECT]].key, row[VERSION] or "") for row in rows}

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
            committed=committed,
            more=more,
            freshness=tuple(
                (now - o.stored.event.event_time).total_seconds() for o in outcomes if o.status == "ingested"
            ),
        )


def _build_counts(outcomes: Sequence[ObjectOutcome]) -> dict[str, str]:
    """Every object of the batch is in exactly one of these counts."""
    by_status, by_reason = count_outcomes(outcomes)
    return {
        "objects": json.dumps(dict(by_status), sort_keys=True),
        "reasons": json.dumps(dict(by_reason), sort_keys=True),
        "rows": str(sum(outcome.rows for outcome in outcomes)),
        "bad_rows": str(sum(outcome.bad_rows for outcome in outcomes)),
        "quarantined": str(sum(by_status[status] for status in QUARANTINED)),
    }
