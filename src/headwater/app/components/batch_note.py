"""`BatchNote`: a batch of one table that has ended."""

from dataclasses import dataclass
from datetime import datetime

from headwater.ingest.planning.outcome import BatchResult


@dataclass(frozen=True, slots=True)
class BatchNote:
    """A batch with its `result`, or with the `error` that ended it."""

    table: str
    began: datetime
    ended: datetime
    result: BatchResult | None = None
    error: str = ""

    @property
    def is_committed(self) -> bool:
        """True if the batch changed the table."""
        return self.result is not None and self.result.committed
