"""Samples new columns of large objects, which Spark splits, without reading them whole."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql.pandas.types import to_arrow_schema

from headwater.ingest.columns.schema import as_instants
from headwater.ingest.evolution.schema_sample import SchemaSample, is_other
from headwater.ingest.evolution.unknown_fields import FieldScanner
from headwater.ingest.formats.csv import name_columns
from headwater.ingest.formats.csv_fields import CsvDialect
from headwater.ingest.formats.csv_header import has_header
from headwater.ingest.formats.reader_options import ReaderOptions
from headwater.ingest.reading.object_reader import ReaderConfig
from headwater.ingest.reading.resolution import ReadRequest
from headwater.ingest.reading.split_scan import LINE_FORMATS, SplitScan

_SAMPLE_RECORDS = 1_000


@dataclass(frozen=True, slots=True)
class LargeFindings:
    """By object index: samples of new columns, and objects to read whole.

    The latter have values to rescue or names to respell.
    """

    samples: dict[int, SchemaSample] = field(default_factory=dict)
    whole: set[int] = field(default_factory=set)


class LargeSampler:
    """Samples the objects of one batch."""

    def __init__(self, config: ReaderConfig, scan: SplitScan) -> None:
        self._config = config
        self._scan = scan
        self._known = to_arrow_schema(config.schema)

    def sample(self, requests: Sequence[ReadRequest], flagged: set[int]) -> LargeFindings:
        """Sample the objects; records of `flagged` ones may have unknown names, never in columns formats."""
        config, findings = self._config, LargeFindings()
        if not requests or not (config.reports or config.rescues):
            return findings
        if config.file_format == "json":
            self._sample_records([r for r in requests if r.object_index in flagged], findings)
        elif config.file_format == "csv":
            for request in requests:
                self._sample_header(request, findings)
        elif config.file_format not in LINE_FORMATS:
            self._sample_footers(requests, findings)
        return findings

    def _sample_records(self, requests: Sequence[ReadRequest], findings: LargeFindings) -> None:
        if not requests:
            return
        scanner = FieldScanner(self._known, self._config.ignored)
        for index, texts in self._scan.read_unknown(requests, _SAMPLE_RECORDS).items():
            found = scanner.scan(texts, rescues=self._config.rescues)
            if found.rescued or found.texts is not texts:
                findings.whole.add(index)
            if found.sample:
                findings.samples[index] = SchemaSample(records=found.sample)

    def _sample_header(self, request: ReadRequest, findings: LargeFindings) -> None:
        head = self._scan.read_head(request, 1)
        options = ReaderOptions(self._config.options)
        dialect = CsvDialect.from_options(options)
        if not head or not dialect.is_complete(head[0]):
            return
        if not has_header(dialect, options, head[0], self._known.names):
            return
        names = name_columns(dialect, head[0])
        scanner = FieldScanner(self._known, self._config.ignored)
        if not any(map(scanner.is_novel, names)):
            return
        records = self._scan.read_head(request, 1 + _SAMPLE_RECORDS)[1:]
        findings.samples[request.object_index] = SchemaSample(names=names, records=tuple(records))
        if self._config.rescues:
            findings.whole.add(request.object_index)

    def _sample_footers(self, requests: Sequence[ReadRequest], findings: LargeFindings) -> None:
        # Usually none has any, and one job checks all.
        if self._sample_columns(requests) is None:
            return
        for request in requests:
            sample = self._sample_columns([request])
            if sample is not None:
                findings.samples[request.object_index] = sample
                if self._config.rescues:
                    findings.whole.add(request.object_index)

    def _sample_columns(self, requests: Sequence[ReadRequest]) -> SchemaSample | None:
        """Return columns if any differ from the table's; empty ones if Spark cannot determine them."""
        try:
            found = to_arrow_schema(as_instants(self._scan.read_schema(requests)))
        except (Py4JError, PySparkException):
            return SchemaSample(columns=self._known)
        is_new = is_other(found, self._known, self._config.ignored, names_only=True)
        return SchemaSample(columns=found) if is_new else None
