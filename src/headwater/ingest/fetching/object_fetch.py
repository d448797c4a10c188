"""Fetches and reads many objects inside one Spark task: the body of a `mapInArrow`. Does not use Spark.

Downloads overlap (`fetching.download`). Objects are read one after the other, or a few at a time in other
processes (`fetching.concurrent_reads`). Their rows are returned only if the complete object is readable.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from headwater.errors import HeadwaterError, ObjectError, ObjectUnreadableError
from headwater.ingest.documents.sandbox import MAX_PROCESSES
from headwater.ingest.evolution.column_sampler import ColumnSampler
from headwater.ingest.evolution.schema_sample import SchemaSample, merge_samples
from headwater.ingest.fetching.concurrent_reads import iter_reads
from headwater.ingest.fetching.download import Download, FetchRequest, describe, iter_downloads, skip_empty
from headwater.ingest.fetching.outcome_rows import FetchOutcome
from headwater.ingest.fetching.row_batches import RowBatches
from headwater.ingest.formats import (
    HEAVY_FORMATS,
    JSON_FORMATS,
    ColumnsFormat,
    LinesFormat,
    ObjectData,
    Target,
    load_format,
    open_parts,
    read_lines,
)
from headwater.ingest.formats.arrow_types import conform_table
from headwater.ingest.formats.column_differences import describe_differences
from headwater.ingest.formats.envelopes import read_envelope, unwrap_lines, unwrap_table
from headwater.ingest.formats.json_values import mark_ambiguous
from headwater.ingest.formats.markers import mark_oversize
from headwater.ingest.formats.reader_options import ReaderOptions
from headwater.ingest.planning.window import EVERYTHING, Window
from headwater.sources.object_store import ObjectContent, ObjectRef, ObjectStore, ObjectStoreConfig
from headwater.sources.registry import build_object_store


@dataclass(frozen=True, slots=True)
class FetchPlan:
    """How to read a table's objects; pickled to executors.

    `columns` are the table's data columns in order. `arrow_schema` is a serialized `pa.Schema`: needed by
    formats with their own types, and used by XML to shape its rows like the table.

    `reports` requests a sample of columns that the table lacks, `rescues` their values. `ignored` are names
    that are never new columns. `max_fetched_bytes` limits the fetched size of one object, `max_object_bytes`
    also its decompressed size, `max_record_bytes` the text of a record. Objects outside the `window` have no
    rows.
    """

    store: ObjectStoreConfig
    format: str
    options: dict[str, str]
    columns: tuple[str, ...]
    arrow_schema: bytes | None
    max_object_bytes: int
    max_record_bytes: int
    threads: int = 8
    reports: bool = False
    rescues: bool = False
    ignored: tuple[str, ...] = ()
    max_fetched_bytes: int | None = None
    window: Window = EVERYTHING


def fetch_objects(batches: Iterable[pa.RecordBatch], plan: FetchPlan) -> Iterator[pa.RecordBatch]:
    """Read every object named in `batches`, in any order.

    In: object_index int32, provider, bucket, key, version_id, etag (strings), size int64. Out:
    object_index, row_number (int64), value (text, or the struct of the target schema), outcome
    (struct, see `outcome_rows`), and if the plan rescues, rescued (JSON text). Rows have no outcome; one
    further row per object has only the outcome.

    An error of one object is its outcome. Errors of the whole source (`CredentialsError`, `SourceError`) or
    the configuration (`ConfigError`) are raised.
    """
    store, file_format = build_object_store(plan.store), load_format(plan.format)
    count = MAX_PROCESSES if plan.format in HEAVY_FORMATS else 1
    readers = [_ObjectReader(plan, store, file_format) for _ in range(count)]
    rows = RowBatches(readers[0].value_type, rescues=plan.rescues)
    limit = plan.max_fetched_bytes or plan.max_object_bytes
    downloads = iter_downloads(_iter_requests(batches), store, limit, plan.threads, plan.window)
    for download, (found, outcome) in iter_reads(downloads, [reader.read for reader in readers]):
        yield from rows.add(
            download.request.object_index, found.numbers, found.values, outcome, found.rescued
        )
    last = rows.build()
    if last.num_rows:
        yield last


def _iter_requests(batches: Iterable[pa.RecordBatch]) -> Iterator[FetchRequest]:
    for batch in batches:
        columns = (batch.column(name).to_pylist() for name in batch.schema.names)
        by_name = dict(zip(batch.schema.names, columns, strict=True))
        fields = ("provider", "bucket", "key", "version_id", "etag", "size")
        refs = (ObjectRef(*values) for values in zip(*(by_name[name] for name in fields), strict=True))
        yield from map(FetchRequest, by_name["object_index"], refs)


@dataclass(frozen=True, slots=True)
class _Rows:
    """One object's rows; `rescued` is empty if nothing is rescued."""

    numbers: Sequence[int]
    values: pa.Array
    note: str = ""
    rescued: Sequence[str | None] = ()


class _ObjectReader:
    """Converts a downloaded object to its rows and its outcome."""

    def __init__(self, plan: FetchPlan, store: ObjectStore, found: LinesFormat | ColumnsFormat) -> None:
        self._store = store
        self._plan = plan
        # Checked once: an isinstance check of a protocol costs as much as reading a small object.
        self._lines = found if isinstance(found, LinesFormat) else None
        self._columns = found if isinstance(found, ColumnsFormat) else None
        self._options = ReaderOptions(plan.options)
        self._envelope = read_envelope(self._options)
        serialized = plan.arrow_schema
        self._schema = None if serialized is None else pa.ipc.read_schema(pa.py_buffer(serialized))
        self._target = Target(plan.columns, self._schema, plan.rescues)
        self.value_type = pa.string()
        if self._columns is not None:
            if self._schema is None:
                raise ValueError(f"format {plan.format} needs FetchPlan.arrow_schema")
            self.value_type = pa.struct(list(self._schema))
        self._sampler = None
        if self._schema is not None and (plan.reports or plan.rescues):
            self._sampler = ColumnSampler(
                plan.format, self._options, self._schema, plan.ignored, rescues=plan.rescues
            )
        self._sample: SchemaSample | None = None

    def read(self, download: Download) -> tuple[_Rows, FetchOutcome]:
        """Return rows and outcome; no rows unless the status is `read`."""
        nothing = _Rows((), pa.nulls(0, self.value_type))
        result, ref = download.result, download.request.ref
        if isinstance(result, FetchOutcome):
            return nothing, result
        state, size = result.state, len(result.data)
        if not size:
            return nothing, skip_empty(ref)
        try:
            found = self._read_rows(ref, result)
            outcome = FetchOutcome(
                "read", state.etag, state.version_id, None, found.note or None, size, len(found.values)
            )
        except ObjectError as error:
            found, reason, detail = nothing, error.reason, describe(error)
            outcome = FetchOutcome("quarantined", state.etag, state.version_id, reason, detail, size)
        sample = self._take_sample()
        if sample is not None and self._plan.reports:
            # Also for rejected objects: with other columns the table may accept them.
            outcome = replace(outcome, schema_sample=sample.to_text())
        return found, outcome

    def _take_sample(self) -> SchemaSample | None:
        taken, self._sample = self._sample, None
        return taken

    def _read_rows(self, ref: ObjectRef, content: ObjectContent) -> _Rows:
        source = ObjectData(self._store.uri(ref), content.data, content.state.last_modified)
        parts = open_parts(source, self._plan.format, self._options, self._plan.max_object_bytes)
        try:
            return self._join([self._read_part(part) for part in parts])
        except HeadwaterError:
            raise
        except Exception as error:
            # Libraries may raise any error on malformed bytes; such an object must not block the others.
            raise ObjectUnreadableError(
                f"{source.uri} could not be read as {self._plan.format}: {type(error).__name__}: {error}"
            ) from error

    def _join(self, parts: Sequence[_Rows]) -> _Rows:
        """Return the rows of all parts; their numbers continue from one part to the next."""
        if len(parts) == 1:
            return parts[0]
        numbers: list[int] = []
        rescued: list[str | None] = []
        for part in parts:
            before = numbers[-1] if numbers else 0
            numbers += [before + number for number in part.numbers]
            rescued += part.rescued or [None] * len(part.values)
        note = "; ".join(dict.fromkeys(part.note for part in parts if part.note))
        values = pa.concat_arrays([part.values for part in parts]) if parts else pa.nulls(0, self.value_type)
        return _Rows(numbers, values, note, rescued if any(rescued) else ())

    def _read_part(self, source: ObjectData) -> _Rows:
        if self._lines is not None:
            return self._read_lines(self._lines, source)
        assert self._columns is not None  # noqa: S101 - a format is of one kind or the other
        table = self._columns.read_table(source, self._options, self._plan.max_object_bytes)
        numbers: Sequence[int] = range(1, table.num_rows + 1)
        left_out = ""
        if self._envelope:
            table, numbers, left_out = unwrap_table(source.uri, table, self._envelope)
        misfits: list[str] | None = None
        sample: SchemaSample | None = None
        if self._sampler:
            sample = self._sampler.sample_table(table.schema)
            self._sample = merge_samples(self._sample, sample)
            misfits = [] if self._plan.rescues else None
        conformed, dropped, missing = conform_table(source.uri, table, self._schema, misfits)
        rescued: Sequence[str | None] = ()
        if self._sampler and sample and self._plan.rescues:
            rescued = self._sampler.rescue_table(table, misfits or ())
        note = "; ".join(filter(None, (describe_differences(dropped, missing), left_out)))
        return _Rows(numbers, conformed.to_struct_array(), note, rescued)

    def _read_lines(self, lines_format: LinesFormat, source: ObjectData) -> _Rows:
        lines = read_lines(lines_format, self._plan.format, source, self._options, self._target)
        if self._envelope:
            lines = unwrap_lines(lines, self._envelope)
        if len(source.data) > self._plan.max_record_bytes:
            lines = replace(lines, texts=mark_oversize(lines.texts, self._plan.max_record_bytes))
        texts, rescued = lines.texts, lines.rescued
        if self._sampler:
            texts, rescued, sample = self._sampler.sample_lines(lines_format, source, lines)
            self._sample = merge_samples(self._sample, sample)
        elif self._plan.format in JSON_FORMATS:
            texts = mark_ambiguous(texts)
        return _Rows(lines.row_numbers, pa.array(texts, pa.string()), lines.note, rescued)
