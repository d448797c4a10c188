"""Infers the columns of a new table from the objects of its first batch."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from headwater.capture.stored_event import StoredEvent
from headwater.errors import ConfigError, ObjectError
from headwater.ingest.columns.schema import as_instants, from_arrow, infer_from_lines
from headwater.ingest.formats import infer_arrow_schema, sample_lines
from headwater.ingest.formats.arrow_types import unify_columns
from headwater.ingest.formats.csv import name_columns
from headwater.ingest.formats.csv_fields import CsvDialect
from headwater.ingest.formats.csv_header import detect_header, find_other_delimiter, with_header
from headwater.ingest.formats.json_values import find_value
from headwater.ingest.formats.reader_options import ReaderOptions
from headwater.ingest.inference.ordering_types import (
    are_times,
    build_text_refusal,
    find_text_columns,
    type_times,
)
from headwater.ingest.parsing.record_parser import COLUMN_FORMATS
from headwater.ingest.planning.decision import Decision
from headwater.ingest.reading.large_objects import keep_present
from headwater.ingest.reading.object_reader import ReaderConfig
from headwater.ingest.reading.resolution import ReadRequest, build_requests
from headwater.ingest.reading.split_scan import SplitScan
from headwater.sources.object_store import ObjectRef
from headwater.sources.registry import build_object_store

Head = tuple[Sequence[str] | None, list[str]]
"""The names of an object's columns, if it has them, and its first records."""

_SAMPLE_OBJECTS = 20
_SAMPLE_LINES = 1_000
_SAMPLE_BYTES = 16 * 1024 * 1024


class ColumnInference:
    """Samples some objects of a batch. `options` are the reader's, with detected ones added.

    `ordering` are columns whose types decide which row wins and are not configured; `ordering_key` is the
    key that names them.
    """

    def __init__(
        self,
        spark: SparkSession,
        name: str,
        config: ReaderConfig,
        ordering: Collection[str] = (),
        ordering_key: str = "ordering",
    ) -> None:
        self._spark = spark
        self._name = name
        self._config = config
        self._ordering = ordering
        self._ordering_key = ordering_key
        self.options = dict(config.options)

    def infer(
        self, events: Sequence[StoredEvent], is_large: Callable[[ReadRequest], bool]
    ) -> StructType | None:
        """Return columns of these events' objects; None if no object can be parsed.

        Raises `ConfigError` if only the user can know whether they have a header, or how the texts of an
        ordering column are ordered.
        """
        events = sorted(events, key=lambda stored: stored.position)
        large = [
            request
            for request in build_requests([Decision(stored, "read") for stored in events])
            if is_large(request)
        ]
        seen = {request.stored for request in large}
        small = [stored for stored in events if stored not in seen] if large else events
        if self._config.window.is_limited:
            large = keep_present(self._config.store, large, self._config.window)
        if self._config.file_format in COLUMN_FORMATS:
            found = self._infer_from_footers(small) or self._infer_from_large_footers(large)
            # Spark cannot split what it cannot read: these objects will be read whole.
            return found or self._infer_from_footers([request.stored for request in large[:1]])
        return self._infer_from_text(self._iter_heads(small)) or self._infer_from_text(
            self._iter_large_heads(large)
        )

    def _infer_from_footers(self, events: Sequence[StoredEvent]) -> StructType | None:
        """Return columns of all sampled objects, with the widest types; on a conflict the first counts."""
        schemas: list[pa.Schema] = []
        size = 0
        for key, data in self._iter_samples(events):
            try:
                schema = infer_arrow_schema(data, key, self._config.file_format, self.options)
            except ObjectError:
                continue
            # A file without columns does not describe the table's.
            schemas += [schema] if schema.names else []
            size += len(data)
            if len(schemas) >= _SAMPLE_OBJECTS or size >= _SAMPLE_BYTES:
                break
        return self._check_order(from_arrow(unify_columns(schemas))) if schemas else None

    def _infer_from_large_footers(self, requests: Sequence[ReadRequest]) -> StructType | None:
        reader = SplitScan(self._spark, self._config)
        schemas: list[pa.Schema] = []
        for request in requests[:_SAMPLE_OBJECTS]:
            with suppress(Py4JError, PySparkException):
                schemas.append(to_arrow_schema(as_instants(reader.read_schema([request]))))
        return self._check_order(from_arrow(unify_columns(schemas))) if schemas else None

    def _check_order(self, schema: StructType) -> StructType:
        """Return the schema. Raises `ConfigError` if a text column orders rows."""
        for column in find_text_columns(schema, self._ordering):
            raise build_text_refusal(self._name, self._ordering_key, column, ())
        return schema

    def _detect_header(self, heads: Iterator[Head]) -> Iterator[Head]:
        """Return the heads without their headers; the first ones decide whether there are any."""
        options, found = ReaderOptions(self.options), list(heads)
        if self._config.file_format != "csv":
            yield from found
            return
        dialect = CsvDialect.from_options(options)
        self._check_delimiter(dialect, options, [line for _, lines in found[:1] for line in lines])
        if options.text("header"):
            yield from found
            return
        verdicts = [detect_header(dialect, lines) for _, lines in found]
        header = next((verdict for verdict in verdicts if verdict is not None), None)
        if header is None and any(len(lines) > 1 for _, lines in found):
            raise ConfigError(
                f"tables.{self._name}.options: `header` is not set, and the objects do not show "
                f"whether their first line names the columns: {found[0][1][0][:200]!r}",
                hint="add `options: {header: true}` if the first line of each object names its columns, "
                "else `options: {header: false}`",
            )
        if header is None:
            return
        self.options = with_header(self.options, header=header)
        for names, lines in found:
            yield (name_columns(dialect, lines[0]), lines[1:]) if header and lines else (names, lines)

    def _check_delimiter(self, dialect: CsvDialect, options: ReaderOptions, records: Sequence[str]) -> None:
        if options.text("sep", "delimiter"):
            return
        other = find_other_delimiter(dialect, records)
        if other is not None:
            written = {"\t": "\\t"}.get(other, other)
            raise ConfigError(
                f"tables.{self._name}.options: `sep` is not set, and a comma gives the objects one column; "
                f"fields seem to be separated by {written!r}: {records[0][:200]!r}",
                hint=f'add `options: {{sep: "{written}"}}`, or `options: {{sep: ","}}` for one column',
            )

    def _infer_from_text(self, heads: Iterator[Head]) -> StructType | None:
        heads = self._detect_header(heads)
        lines: list[str] = []
        columns: Sequence[str] | None = None
        for names, sample in heads:
            columns = names if columns is None else columns
            if columns == names:
                lines += sample
        if not lines:
            return None
        file_format = self._config.file_format
        schema = infer_from_lines(self._spark, file_format, columns, lines, self.options)
        return self._type_order(schema, columns, lines) if schema is not None else None

    def _type_order(
        self, schema: StructType, columns: Sequence[str] | None, lines: Sequence[str]
    ) -> StructType:
        """Type text columns that order rows as timestamps, or raise an error that asks for their order."""
        texts = find_text_columns(schema, self._ordering)
        for column in texts:
            values = self._list_values(column, columns, lines)
            if not are_times(values):
                raise build_text_refusal(self._name, self._ordering_key, column, values)
        return type_times(schema, texts)

    def _list_values(self, column: str, columns: Sequence[str] | None, lines: Sequence[str]) -> list[str]:
        if columns is None:
            values = (find_value(line, column) for line in lines)
            return [str(value) for value in values if value is not None]
        dialect, at = CsvDialect.from_options(ReaderOptions(self.options)), columns.index(column)
        records = (dialect.read(line) for line in lines)
        return [fields[at] for fields in records if at < len(fields) and fields[at]]

    def _iter_heads(self, events: Sequence[StoredEvent]) -> Iterator[Head]:
        objects = size = 0
        for key, data in self._iter_samples(events):
            try:
                head = sample_lines(data, key, self._config.file_format, self.options, _SAMPLE_LINES)
            except ObjectError:
                continue
            if head[1]:
                yield head
                objects, size = objects + 1, size + len(data)
            if objects >= _SAMPLE_OBJECTS or size >= _SAMPLE_BYTES:
                return

    def _iter_large_heads(self, requests: Sequence[ReadRequest]) -> Iterator[Head]:
        reader = SplitScan(self._spark, self._config)
        for request in requests[:_SAMPLE_OBJECTS]:
            try:
                text = "\n".join(reader.read_head(request, _SAMPLE_LINES)).encode()
                yield sample_lines(text, "head", self._config.file_format, self.options, _SAMPLE_LINES)
            except (ObjectError, Py4JError, PySparkException):
                continue

    def _iter_samples(self, events: Sequence[StoredEvent]) -> Iterator[tuple[str, bytes]]:
        """Yield objects, spread over the batch; skip unavailable ones, which the batch itself reports."""
        store = build_object_store(self._config.store)
        step = max(1, len(events) // _SAMPLE_OBJECTS)
        for stored in (*events[::step], *(e for at, e in enumerate(events) if at % step)):
            event = stored.event
            # Without the etag: for a sample, the current content is equally good.
            ref = ObjectRef(event.provider, event.bucket, event.key, event.version_id, None, None)
            try:
                found = store.read(ref, self._config.max_object_bytes)
            except ObjectError:
                continue
            if self._config.window.has(found.state.last_modified):
                yield event.key, found.data
