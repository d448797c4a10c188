"""`QuarantineRejects`: writes and removes one data table's items in the quarantine table."""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime

from headwater.capture.quarantine_item import QuarantineItem, Resolved
from headwater.capture.quarantine_table import QuarantineTable
from headwater.ingest.reading.bad_records import quarantine_frame
from headwater.ingest.reading.batch_read import BatchRead
from headwater.ingest.reading.failures import explained_read
from headwater.observability.crash_points import crash_point
from headwater.observability.tracing.traces import span


class QuarantineRejects:
    """See `headwater.ingest.ports.Rejects`."""

    def __init__(self, name: str, table: QuarantineTable, now: Callable[[], datetime]) -> None:
        self._name = name
        self._table = table
        self._now = now

    def write(self, items: Sequence[QuarantineItem], read: BatchRead | None) -> None:
        """See `Rejects`."""
        bad_rows = sum(outcome.bad_rows for _, outcome in read.outcomes) if read else 0
        if not items and not bad_rows:
            return
        with span("quarantine", items=len(items), records=bad_rows), explained_read(self._name):
            bad = None
            if read is not None and read.records is not None:
                now = self._now()
                bad = quarantine_frame(read.records, self._name, read.outcomes, now, read.misfits)
            if items or bad is not None:
                crash_point("before_ingest_quarantine_commit")
            self._table.append(items)
            if bad is not None:
                self._table.append_frame(bad)

    def resolve(self, objects: Collection[Resolved], but: Collection[str]) -> None:
        """See `Rejects`."""
        with explained_read(self._name):
            self._table.resolve(self._name, objects, but)
