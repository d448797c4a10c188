"""Fetches and reads many objects inside one Spark task: the body of a `mapInArrow`. No Spark in here.

Downloads overlap (`fetching.download`); objects are then read one after the other, and an object's
rows are handed on only when the whole of it could be read.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from headwater.errors import HeadwaterError, ObjectError, ObjectUnreadableError
from headwater.ingest.decoding.arrow_types import conform_table
from headwater.ingest.decoding.differences import describe_differences
from headwater.ingest.decoding.reader_options import ReaderOptions
from headwater.ingest.fetching.download import Download, FetchRequest, describe, iter_downloads, skip_empty
from headwater.ingest.fetching.outcome_rows import FetchOutcome
from headwater.ingest.fetching.row_batches import RowBatches
from headwater.ingest.formats import ColumnsFormat, LinesFormat, ObjectData, Target, load_format, open_object
from headwater.ingest.object_stores import (
    ObjectContent,
    ObjectRef,
    ObjectStore,
    StoreConfig,
    build_object_store,
)


@dataclass(frozen=True, slots=True)
class FetchPlan:
    """How to read a table's objects; pickled to executors.

    `columns` are the table's data columns in order. `arrow_schema` is a serialized `pa.Schema`:
    needed by formats with types of their own, and used by XML to give its rows the table's shape.
    """

    store: StoreConfig
    format: str
    options: dict[str, str]
    columns: tuple[str, ...]
    arrow_schema: bytes | None
    max_object_bytes: int
    threads: int = 8


def fetch_objects(batches: Iterable[pa.RecordBatch], plan: FetchPlan) -> Iterator[pa.RecordBatch]:
    """Read every object named in `batches`, in any order.

    In: object_index int32, provider, bucket, key, version_id, etag (strings), size int64. Out:
    object_index, row_number (int64), value (text, or the struct of the target schema), outcome
    (struct, see `outcome_rows`). Rows have no outcome; one further row an object has nothing else.

    One object's trouble is its outcome. What concerns the whole source (`CredentialsError`,
    `SourceError`) or the configuration (`ConfigError`) is raised.
    """
    reader = _ObjectReader(plan)
    rows = RowBatches(reader.value_type)
    downloads = iter_downloads(_iter_requests(batches), reader.store, plan.max_object_bytes, plan.threads)
    for download in downloads:
        numbers, values, outcome = reader.read(download)
        yield from rows.add(download.request.object_index, numbers, values, outcome)
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


class _ObjectReader:
    """One downloaded object to its rows and its outcome."""

    def __init__(self, plan: FetchPlan) -> None:
        self.store: ObjectStore = build_object_store(plan.store)
        self._plan = plan
        found = load_format(plan.format)
        # Told apart once: asking a protocol costs as much as reading a small object.
        self._lines = found if isinstance(found, LinesFormat) else None
        self._columns = found if isinstance(found, ColumnsFormat) else None
        self._options = ReaderOptions(plan.options)
        serialized = plan.arrow_schema
        self._schema = None if serialized is None else pa.ipc.read_schema(pa.py_buffer(serialized))
        self._target = Target(plan.columns, self._schema)
        self.value_type = pa.string()
        if self._columns is not None:
            if self._schema is None:
                raise ValueError(f"format {plan.format} needs FetchPlan.arrow_schema")
            self.value_type = pa.struct(list(self._schema))

    def read(self, download: Download) -> tuple[Sequence[int], pa.Array, FetchOutcome]:
        """Row numbers, values and outcome; no rows unless the status is `read`."""
        nothing = pa.nulls(0, self.value_type)
        result, ref = download.result, download.request.ref
        if isinstance(result, FetchOutcome):
            return (), nothing, result
        state, size = result.state, len(result.data)
        if not size:
            return (), nothing, skip_empty(ref)
        try:
            numbers, values, note = self._read_rows(ref, result)
        except ObjectError as error:
            detail = describe(error)
            return (
                (),
                nothing,
                FetchOutcome("quarantined", state.etag, state.version_id, error.reason, detail, size),
            )
        read = FetchOutcome("read", state.etag, state.version_id, None, note or None, size, len(values))
        return numbers, values, read

    def _read_rows(self, ref: ObjectRef, content: ObjectContent) -> tuple[Sequence[int], pa.Array, str]:
        source = ObjectData(self.store.uri(ref), content.data, content.state.last_modified)
        try:
            return self._read_opened(open_object(source, self._plan.format, self._plan.max_object_bytes))
        except HeadwaterError:
            raise
        except Exception as error:
            # Libraries meet bytes that nobody has foreseen; such an object must not stop the others.
            raise ObjectUnreadableError(
                f"{source.uri} could not be read as {self._plan.format}: {type(error).__name__}: {error}"
            ) from error

    def _read_opened(self, source: ObjectData) -> tuple[Sequence[int], pa.Array, str]:
        if self._lines is not None:
            lines = self._lines.read_lines(source, self._options, self._target)
            return lines.row_numbers, pa.array(lines.texts, pa.string()), lines.note
        assert self._columns is not None  # noqa: S101 - a format is of one kind or the other
        table = self._columns.read_table(source, self._options, self._plan.max_object_bytes)
        conformed, dropped, missing = conform_table(source.uri, table, self._schema)
        note = describe_differences(dropped, missing)
        return range(1, conformed.num_rows + 1), conformed.to_struct_array(), note
