"""`SparkObjects`: the objects of one table's batches, read as records with the table's columns."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

from headwater.errors import HeadwaterError
from headwater.ingest.accounting import reject_columnless
from headwater.ingest.committed_state import CommittedState
from headwater.ingest.isolation.bad_parts import MAX_OBJECTS, ProcessedRecords
from headwater.ingest.isolation.data_failure import is_data_failure
from headwater.ingest.planning.decision import Decision
from headwater.ingest.planning.outcome import ObjectOutcome
from headwater.ingest.ports import Settle
from headwater.ingest.reading.batch_read import BatchRead, read_batch
from headwater.ingest.reading.failures import explained_read
from headwater.ingest.reading.resolution import FindIngested
from headwater.lake.executors import fit_shuffles
from headwater.lake.table import Table
from headwater.observability.tracing.traces import span

_log = logging.getLogger(__name__)

_SCHEMA_ROUNDS = 5
"""Maximum number of reads of a batch for new columns; usually one is enough."""


class SparkObjects:
    """See `headwater.ingest.ports.Objects`. `load_state` returns the table's columns.

    `is_divisible`: a batch may be read in parts; a set of files is read as a whole.
    """

    def __init__(
        self,
        name: str,
        table: Table,
        records: ProcessedRecords,
        load_state: Callable[[], CommittedState],
        max_objects: int,
        *,
        is_divisible: bool = True,
    ) -> None:
        self._name = name
        self._table = table
        self._source = records.source
        self._processor = records.processor
        self._bad_parts = records.bad_parts
        self._load_state = load_state
        self._max_objects = self.most_objects = max_objects
        self._is_divisible = is_divisible
        self._failing: tuple[BatchRead, bool] | None = None

    def read(self, decisions: Sequence[Decision], find_ingested: FindIngested, settle: Settle) -> BatchRead:
        """See `Objects`."""
        self._failing = None
        with explained_read(self._name):
            fit_shuffles(self._table.spark)
            self._source.ensure_schema([decision.stored for decision in decisions], self._load_state())
            with span("fetch", objects=len(decisions)), explained_read(self._name):
                read = self._read_with_columns(decisions, find_ingested)
            if not self._source.is_provisional:
                read = self._bad_parts.leave_out(read)
                self._failing = (read, False)
                with span("process"), explained_read(self._name):
                    read = self._processor.process(read, self._load_state().change_shape)
                self._failing = (self._failing[0], True)
        settled = tuple((at, settle(self._reject_columnless(outcome))) for at, outcome in read.outcomes)
        return replace(read, outcomes=settled)

    def _read_with_columns(self, decisions: Sequence[Decision], find_ingested: FindIngested) -> BatchRead:
        """Read until the columns match those of the objects."""
        for rounds_left in reversed(range(_SCHEMA_ROUNDS)):
            read = read_batch(decisions, self._source.read, find_ingested)
            try:
                # Another read may find more: a wider column reveals other values that did not fit.
                if rounds_left and self._source.evolve(read, self._table):
                    read.release()
                    continue
                self._source.ensure_unchanged()
            except BaseException:
                read.release()
                raise
            break
        return read

    def _reject_columnless(self, outcome: ObjectOutcome) -> ObjectOutcome:
        return reject_columnless(outcome) if self._source.is_provisional else outcome

    def isolate(self, error: HeadwaterError) -> bool:
        """See `Objects`."""
        failing, self._failing = self._failing, None
        if failing is None or not is_data_failure(error):
            return False
        read, written = failing
        count = sum(outcome.status == "ingested" for _, outcome in read.outcomes)
        if count > MAX_OBJECTS and self._is_divisible:
            self.most_objects = min(self.most_objects, count) // 2
            _log.warning("table %s: batch failed; halving it: %s", self._name, error.message)
            return True
        with span("isolate", objects=count), explained_read(self._name):
            return self._bad_parts.find(read, written=written)

    def note_committed(self) -> None:
        """See `Objects`."""
        self._failing = None
        self._bad_parts.forget()
        self.most_objects = min(2 * self.most_objects, self._max_objects)

    def take_warnings(self) -> tuple[str, ...]:
        """See `Objects`."""
        return self._processor.take_warnings()
