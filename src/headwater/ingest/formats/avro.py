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
    """No options: the writer's schema is in the file."""

    def read_table(self, source: ObjectData, options: ReaderOptions, max_bytes: int) -> pa.Table:
        """Return all fields of the records; a container of other values has one column, `value`."""
        try:
            column, records = _open(source)
            change = column.convert
            rows = list(records) if change is None else [change(record) for record in records]
            array = pa.array(rows, column.data_type)
        except _UNREADABLE as error:
            raise _unreadable(source, error) from error
        if not pa.types.is_struct(column.data_type):
            return pa.table({"value": array})
        return pa.Table.from_arrays(array.flatten(), schema=pa.schema(list(column.data_type)))

    def read_schema(self, source: ObjectData, options: ReaderOptions) -> pa.Schema:
        """Return the columns of the writer's schema."""
        try:
            data_type = _open(source)[0].data_type
        except _UNREADABLE as error:
            raise _unreadable(source, error) from error
        if not pa.types.is_struct(data_type):
            return pa.schema([("value", data_type)])
        return pa.schema(list(data_type))


def _open(source: ObjectData) -> tuple[AvroColumn, Iterator[object]]:
    """Return the column for the records, and the records."""
    file = io.BytesIO(source.data)
    reader = fastavro.reader(file)
    header_end = file.tell()
    # Avro has no footer: without this check, a file truncated inside a block's length would only be shorter.
    if source.data[-_SYNC_BYTES:] != source.data[header_end - _SYNC_BYTES : header_end]:
        raise EOFError("the file does not end with its sync marker: it is truncated")
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
