"""Avro object containers, read by fastavro, including logical types."""

import io
import zlib
from collections.abc import Iterator

import fastavro
import pyarrow as pa
from fastavro.read import SchemaResolutionError
from fastavro.schema import SchemaParseException

from headwater.errors import ObjectSchemaError, ObjectUnreadableError
from headwater.ingest.formats.avro_types import AvroColumn, UnsupportedAvroError, map_schema
from headwater.ingest.formats.binary_records.avro_decoder import parse_avro
from headwater.ingest.formats.binary_records.record_schema import RecordSchema
from headwater.ingest.formats.protocol import ObjectData
from headwater.ingest.formats.reader_options import ReaderOptions

_SYNC_BYTES = 16
# fastavro's errors for bytes that are not Avro; it has no error class of its own.
_UNREADABLE = (
    ValueError,
    EOFError,
    IndexError,
    KeyError,
    TypeError,
    OverflowError,
    MemoryError,
    RecursionError,
    zlib.error,
    SchemaResolutionError,
    SchemaParseException,
    OSError,
    pa.ArrowException,
)


class AvroFormat:
    """No options: the writer's schema is in the file. Records are resolved to the table's, if it has one."""

    def read_table(self, source: ObjectData, options: ReaderOptions, max_bytes: int) -> pa.Table:
        """Return all fields of the records; a container of other values has one column, `value`."""
        try:
            column, records = _open(source, RecordSchema.of(options))
            change = column.convert
            rows = list(records) if change is None else [change(record) for record in records]
            array = pa.array(rows, column.data_type)
        except SchemaResolutionError as error:
            raise ObjectSchemaError(
                f"{source.uri} has a schema that does not resolve to the table's: {error}",
                hint="see the rules of Avro's schema resolution; a new field requires a default",
            ) from error
        except _UNREADABLE as error:
            raise _unreadable(source, error) from error
        if not pa.types.is_struct(column.data_type):
            return pa.table({"value": array})
        return pa.Table.from_arrays(array.flatten(), schema=pa.schema(list(column.data_type)))

    def read_schema(self, source: ObjectData, options: ReaderOptions) -> pa.Schema:
        """Return the columns of the writer's schema."""
        try:
            data_type = _open(source, None)[0].data_type
        except _UNREADABLE as error:
            raise _unreadable(source, error) from error
        if not pa.types.is_struct(data_type):
            return pa.schema([("value", data_type)])
        return pa.schema(list(data_type))


def _open(source: ObjectData, resolved: RecordSchema | None) -> tuple[AvroColumn, Iterator[object]]:
    """Return the column for the records, and the records, of that schema or the file's."""
    file = io.BytesIO(source.data)
    known = parse_avro(resolved.text, resolved.origin) if resolved and resolved.kind == "avro" else None
    reader = fastavro.reader(file, known[0] if known else None)
    header_end = file.tell()
    # Avro has no footer: without this check, a file truncated inside a block's length would only be shorter.
    if source.data[-_SYNC_BYTES:] != source.data[header_end - _SYNC_BYTES : header_end]:
        raise EOFError("the file does not end with its sync marker: it is truncated")
    if known:
        return known[1], reader
    named: dict[str, dict[str, object]] = {}
    schema = fastavro.parse_schema(reader.writer_schema, named)
    try:
        return map_schema(schema, named), reader
    except UnsupportedAvroError as error:
        raise ObjectSchemaError(f"{source.uri} has a schema that no table can store: {error}") from error


def _unreadable(source: ObjectData, error: Exception) -> ObjectUnreadableError:
    return ObjectUnreadableError(
        f"{source.uri} is not readable Avro ({len(source.data)} bytes): {type(error).__name__}: {error}"
    )
