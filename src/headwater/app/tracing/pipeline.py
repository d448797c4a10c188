"""`TracedPipeline`: one trace for each batch of a table."""

from collections.abc import Callable, Sequence

import structlog

from headwater.app.application import App
from headwater.errors import HeadwaterError
from headwater.ingest.planning.outcome import CHECKPOINT, FOLLOWED, BatchResult
from headwater.ingest.runner import Pipeline
from headwater.lake.layout import table_path
from headwater.lake.table import Table
from headwater.lake.timeline import Commit
from headwater.medallion.follow_state import parse_watermarks
from headwater.observability.tracing.traces import Traces, annotate, is_traced, link_commits, note_commit

log = structlog.stdlib.get_logger(__name__)

FindCommit = Callable[[], Commit | None]
"""Returns the newest commit of a pipeline; None without one."""


def name_batch(table: str) -> str:
    """Return the name of the traces of a table's batches."""
    return f"batch {table}"


class TracedPipeline:
    """A pipeline whose batches are traces. A batch without events is none.

    `follows` are the tables that this one is built from, if any.
    """

    def __init__(
        self, pipeline: Pipeline, traces: Traces, find_commit: FindCommit, follows: Sequence[str] = ()
    ) -> None:
        self.name = pipeline.name
        self._pipeline = pipeline
        self._traces = traces
        self._find_commit = find_commit
        self._follows = follows

    def run_batch(self) -> BatchResult | None:
        """Run a batch as the pipeline does."""
        with self._traces.begin(name_batch(self.name), table=self.name):
            result = self._pipeline.run_batch()
            if result is not None:
                self._describe(result)
            return result

    def save_checkpoint(self) -> bool:
        """Save the checkpoint as the pipeline does."""
        with self._traces.begin(name_batch(self.name), table=self.name):
            return self._pipeline.save_checkpoint()

    def _describe(self, result: BatchResult) -> None:
        annotate(rows=result.rows, end=result.end, committed=result.committed)
        if not self._follows:
            decided = sum(result.objects.values())
            annotate(
                events=decided + result.filtered + sum(result.foreign.values()),
                objects=decided,
                bytes=result.bytes,
                bad_rows=result.bad_rows,
                **{f"objects.{status}": count for status, count in sorted(result.objects.items())},
            )
        else:
            annotate(deleted=result.deleted)
            for source, end in parse_watermarks(result.end, self._follows).items():
                link_commits(source, [end])
        if result.freshness:
            annotate(freshness_seconds=max(result.freshness))
        if result.committed and is_traced():
            self._note_commit()

    def _note_commit(self) -> None:
        try:
            commit = self._find_commit()
        except HeadwaterError as error:
            # The batch is committed: a failure to name its commit must not repeat it.
            log.warning("commit not found; the trace does not name it", table=self.name, error=error.message)
            return
        if commit is not None:
            note_commit(self.name, instant=commit.requested, completed=commit.completed)


def with_trace(pipeline: Pipeline, traces: Traces, app: App) -> Pipeline:
    """Return the pipeline with a trace for each batch; unchanged if there are no traces."""
    if not traces.is_on:
        return pipeline
    table = Table(app.spark, table_path(app.settings.lake, pipeline.name))
    follows = app.settings.tables[pipeline.name].sources
    key = FOLLOWED if follows else CHECKPOINT
    return TracedPipeline(pipeline, traces, lambda: table.load_timeline().find_commit(key), follows)
