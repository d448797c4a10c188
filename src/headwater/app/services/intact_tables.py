"""A run refuses a merge-on-read table with corrupt files.

Readers skip a truncated log file, such as a power failure may leave. The next compaction within the run would
make the loss permanent.
"""

from collections.abc import Sequence

from headwater.config.settings import Settings
from headwater.errors import TableNotFoundError
from headwater.ingest.planning.outcome import BatchResult
from headwater.ingest.runner import Pipeline
from headwater.lake.damage import ensure_intact
from headwater.lake.layout import TableAddress, find_address


class IntactTableCheck:
    """A pipeline that checks the files of these tables once, before its first batch."""

    def __init__(self, pipeline: Pipeline, tables: Sequence[TableAddress]) -> None:
        self.name = pipeline.name
        self._pipeline = pipeline
        self._tables = tables
        self._is_checked = False

    def run_batch(self) -> BatchResult | None:
        """Run a batch as the pipeline does; also raises `TableDamagedError`."""
        if not self._is_checked:
            self._check_tables()
        return self._pipeline.run_batch()

    def save_checkpoint(self) -> bool:
        """Save the checkpoint as the pipeline does."""
        return self._pipeline.save_checkpoint()

    def _check_tables(self) -> None:
        for address in self._tables:
            try:
                ensure_intact(address)
            except TableNotFoundError:
                continue
        self._is_checked = True


def with_integrity_check(pipeline: Pipeline, settings: Settings) -> Pipeline:
    """Return the pipeline with a check of its table and of the tables it is built from, where those have log
    files."""
    names = (pipeline.name, *settings.tables[pipeline.name].sources)
    found = [
        find_address(settings, name)
        for name in names
        if name in settings.tables and settings.tables[name].table_type == "merge_on_read"
    ]
    return IntactTableCheck(pipeline, found) if found else pipeline
