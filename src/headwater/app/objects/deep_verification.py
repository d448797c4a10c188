"""`headwater verify --deep`: re-reads ingested objects in batches and compares them row by row."""

from collections.abc import Iterable, Iterator
from datetime import datetime

from headwater.app.application import App
from headwater.app.objects.streams import build_rules
from headwater.ingest.committed_state import parse_committed_state
from headwater.ingest.object_comparison import ComparedTable, ObjectComparison
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
        store = app.build_store_config()
        records = RecordSource(app.spark, name, config, store, store.scheme)
        self._comparison = ObjectComparison(
            ComparedTable(name, config, table, records, state, app.build_processor(name, config).records)
        )
        self._rules = build_rules(config)
        self._counts = counts
        self._one_in = one_in
        self._seed = now.date().isoformat()

    def iter(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Yield every finding once; those of ingested objects after re-reading them, a batch at a time."""
        batch: list[Finding] = []
        size = 0
        for finding in findings:
            if not self._is_wanted(finding):
                yield finding
                continue
            batch.append(finding)
            size += finding.present.size if finding.present else 0
            if len(batch) >= _OBJECTS_A_BATCH or size >= _BYTES_A_BATCH:
                yield from self._compare(batch)
                batch, size = [], 0
        yield from self._compare(batch)

    def _is_wanted(self, finding: Finding) -> bool:
        is_there = finding.kind == "ingested" and finding.present is not None and finding.entry is not None
        return is_there and is_in_sample(finding.key, self._one_in, self._seed)

    def _compare(self, batch: list[Finding]) -> Iterator[Finding]:
        objects = [(found.present, found.entry) for found in batch if found.present and found.entry]
        if not objects:
            return
        for finding, compared in zip(batch, self._comparison.compare(objects), strict=True):
            judged = judge_compared(finding, compared, self._rules)
            self._counts.add(compared, is_same=judged is finding)
            yield judged
