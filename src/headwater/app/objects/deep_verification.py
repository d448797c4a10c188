"""`headwater verify --deep`: re-reads ingested objects in batches and compares them row by row."""

from datetime import datetime

from headwater.app.application import App
from headwater.app.objects.streams import build_rules
from headwater.app.scope import build_sets
from headwater.ingest.committed_state import parse_committed_state
from headwater.ingest.object_comparison import ComparedTable, ObjectComparison, SetComparison
from headwater.ingest.planning.verification import DeepCounts, Finding, is_in_sample, judge_compared
from headwater.ingest.record_source import RecordSource
from headwater.lake.layout import table_path
from headwater.lake.table import Table

_OBJECTS_A_BATCH = 1_000
_BYTES_A_BATCH = 1024**3


class DeepVerification:
    """The deep comparison of one table. Use one object for one pass."""

    def __init__(self, app: App, name: str, counts: DeepCounts, now: datetime, one_in: int) -> None:
        settings = app.settings
        config, table = app.find_config(name), Table(app.spark, table_path(settings.lake, name))
        timeline = table.load_timeline()
        state = parse_committed_state(timeline.find_metadata("checkpoint") if timeline.exists() else None)
        records = RecordSource(app.spark, name, config, app.build_store_config(name))
        compared = ComparedTable(name, config, table, records, state, app.build_processor(name, config))
        self._sets = build_sets(settings, name)
        self._progress = state.sets
        self._comparison = (
            ObjectComparison(compared)
            if self._sets is None
            else SetComparison(compared, keeps_missing=self._progress.keeps_missing)
        )
        self._rules = build_rules(config)
        self._counts = counts
        self._one_in = one_in
        self._seed = now.date().isoformat()
        self._batch: list[Finding] = []
        self._batch_bytes = 0

    def take(self, finding: Finding) -> list[Finding]:
        """Return the findings that are complete now: those of ingested objects after re-reading a batch."""
        if not self._is_wanted(finding):
            return [finding]
        self._batch.append(finding)
        self._batch_bytes += finding.present.size if finding.present else 0
        if self._sets is not None:
            return []  # a set is compared as a whole
        is_full = len(self._batch) >= _OBJECTS_A_BATCH or self._batch_bytes >= _BYTES_A_BATCH
        return self.finish() if is_full else []

    def finish(self) -> list[Finding]:
        """Return the findings of the last batch."""
        batch, self._batch, self._batch_bytes = self._batch, [], 0
        return self._compare(batch)

    def _is_wanted(self, finding: Finding) -> bool:
        is_there = finding.kind == "ingested" and finding.present is not None and finding.entry is not None
        if self._sets is None:
            return is_there and is_in_sample(finding.key, self._one_in, self._seed)
        found = self._sets.find(finding.key)
        return is_there and found is not None and found[0] == self._progress.applied

    def _compare(self, batch: list[Finding]) -> list[Finding]:
        objects = [(found.present, found.entry) for found in batch if found.present and found.entry]
        if not objects:
            return batch
        done = []
        for finding, compared in zip(batch, self._comparison.compare(objects), strict=True):
            judged = judge_compared(finding, compared, self._rules)
            self._counts.add(compared, is_same=judged is finding)
            done.append(judged)
        return done
