"""Previews one object's records after each of a table's transforms; writes nothing."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from headwater.capture.position import BEGINNING
from headwater.capture.stored_event import StoredEvent
from headwater.config.table import TableConfig
from headwater.errors import UsageError
from headwater.ingest.committed_state import CommittedState
from headwater.ingest.lineage import LINEAGE_COLUMNS, build_lineage
from headwater.ingest.planning.decision import Decision
from headwater.ingest.planning.outcome import ObjectOutcome
from headwater.ingest.processing.processor import BatchProcessor, explained_transforms
from headwater.ingest.reading.batch_read import BatchRead, read_batch
from headwater.ingest.reading.failures import explained_read
from headwater.ingest.record_source import RecordSource
from headwater.lake.queries.spark import to_plain
from headwater.lake.transforms.checking import SOURCE
from headwater.sources.object_event import ObjectEvent
from headwater.sources.object_store import ObjectRef, ObjectStoreConfig

_ROUNDS = 5


@dataclass(frozen=True, slots=True)
class StepColumn:
    """`type` as in SQL."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class StepRows:
    """The rows after one transform; `step` 0 are the records as read. Lineage columns are omitted."""

    step: int
    name: str
    columns: tuple[StepColumn, ...]
    rows: tuple[dict[str, Any], ...]


class TransformPreview:
    """Previews the transforms of one table. The constructor builds them and raises `ConfigError`."""

    def __init__(
        self, spark: SparkSession, name: str, config: TableConfig, processor: BatchProcessor
    ) -> None:
        self._spark = spark
        self._name = name
        self._config = config
        self._processor = processor

    def preview(
        self, store: ObjectStoreConfig, ref: ObjectRef, state: CommittedState, limit: int, last: int
    ) -> tuple[ObjectOutcome, list[StepRows]]:
        """Return at most `limit` rows of the first records after each of the first `last` transforms.

        Raises `UsageError` for an object without a record, and the errors of reading and transforms.
        """
        with explained_read(self._name):
            read = self._read(store, ref, state)
        try:
            ((at, outcome),) = read.outcomes
            if read.records is None or not outcome.rows:
                raise UsageError(
                    f"{ref.key}: no record can be read: {outcome.reason} {outcome.detail}".rstrip(),
                    hint="choose an object with at least one readable record",
                )
            lineage = build_lineage(at, outcome, self._config.partition_columns)
            transform = self._processor.records
            records = read.records
            if changes := self._processor.changes:
                records = changes.select_rows(records, read.outcomes)
            rows = transform.build_input(records, [lineage]).orderBy(SOURCE).limit(limit)
            shown = list(self._iter_steps(rows, limit, last))
            if last == len(self._config.transform):
                # Detects what a run would reject: missing keys, and names that cannot be stored.
                transform.apply(records, [lineage])
        finally:
            read.release()
        return outcome, shown

    def _read(self, store: ObjectStoreConfig, ref: ObjectRef, state: CommittedState) -> BatchRead:
        source = RecordSource(self._spark, self._name, self._config, store)
        decision = Decision(_build_event(ref), "look")
        source.ensure_schema([decision.stored], state)
        for rounds_left in reversed(range(_ROUNDS)):
            read = read_batch([decision], source.read, lambda _: {})
            if not (rounds_left and source.evolve(read)):
                break
            read.release()
        return read

    def _iter_steps(self, frame: DataFrame, limit: int, last: int) -> Iterator[StepRows]:
        yield _collect(0, "input", frame, limit)
        for number, (label, after) in enumerate(self._processor.chain.iter_apply(frame, SOURCE), 1):
            if number > last:
                return
            with explained_transforms(self._name, [label]):
                yield _collect(number, label, after, limit)


def _build_event(ref: ObjectRef) -> StoredEvent:
    now = datetime.now(timezone.utc)
    event = ObjectEvent(
        provider=ref.provider,
        bucket=ref.bucket,
        key=ref.key,
        version_id=None,
        sequencer=None,
        order_key=None,
        kind="created",
        event_name="",
        event_time=now,
        size=None,
        etag=None,
    )
    return StoredEvent(event.event_id, event, now, "sample", BEGINNING)


def _collect(step: int, name: str, frame: DataFrame, limit: int) -> StepRows:
    hidden: Sequence[str] = (SOURCE, *LINEAGE_COLUMNS)
    shown = frame.drop(*hidden)
    rows = shown.limit(limit).collect()
    return StepRows(
        step,
        name,
        tuple(StepColumn(field.name, field.dataType.simpleString()) for field in shown.schema),
        tuple({key: to_plain(value) for key, value in row.asDict(recursive=True).items()} for row in rows),
    )
