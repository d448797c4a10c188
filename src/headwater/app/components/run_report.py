"""`RunReport`: the result of a run."""

from collections import Counter
from dataclasses import dataclass, field

from headwater.app.notebook_table import format_table
from headwater.capture.consumer import CaptureStats
from headwater.capture.reconcile import ReconcilePass
from headwater.errors import HeadwaterError
from headwater.ingest.cleaning.cleaning_pass import CleanReport
from headwater.ingest.planning.outcome import BatchResult


@dataclass(slots=True)
class TableTotals:
    """The totals of one run for one table."""

    batches: int = 0
    commits: int = 0
    rows: int = 0
    deleted: int = 0
    bad_rows: int = 0
    bytes: int = 0
    filtered: int = 0
    foreign: Counter[str] = field(default_factory=Counter)
    objects: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)

    def add(self, result: BatchResult) -> None:
        """Add one batch."""
        self.batches += 1
        self.commits += result.committed
        self.rows += result.rows
        self.deleted += result.deleted
        self.bad_rows += result.bad_rows
        self.bytes += result.bytes
        self.filtered += result.filtered
        self.foreign += result.foreign
        self.objects += result.objects
        self.reasons += result.skipped


@dataclass(slots=True)
class RunReport:
    """The result of a run. `failures` holds the last error of tables that could not be brought up to date.

    `reconciles` and `cleans` are the passes of a run that ends by itself. `component_failures` holds the last
    error of components by name, such as `index`.
    """

    capture: CaptureStats
    tables: dict[str, TableTotals]
    failures: dict[str, HeadwaterError]
    reconciles: list[ReconcilePass] = field(default_factory=list)
    cleans: list[CleanReport] = field(default_factory=list)
    component_failures: dict[str, HeadwaterError] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        columns = ("table", "commits", "rows", "rows deleted", "bad rows", "objects")
        rows = [
            (name, t.commits, t.rows, t.deleted, t.bad_rows, _list_counts(t.objects))
            for name, t in self.tables.items()
        ]
        failures = {**self.failures, **self.component_failures}
        failed = "".join(f"; {name} failed: {error.message}" for name, error in failures.items())
        return format_table(columns, rows, f"{self.capture.events:,} events captured{failed}")


def _list_counts(counts: Counter[str]) -> str:
    return ", ".join(f"{number:,} {what}" for what, number in counts.items())
