"""Decodes single records in Avro's binary encoding."""

import io
import json
from collections.abc import Mapping
from functools import lru_cache

import fastavro
import pyarrow as pa
from fastavro.schema import SchemaParseException, UnknownType
from fastavro.types import Schema

from headwater.errors import ConfigError
from headwater.ingest.formats.avro_types import AvroColumn, UnsupportedAvroError, map_schema
from headwater.ingest.formats.binary_records.faults import RecordFaultError

_VALUE = "value"


@lru_cache(maxsize=32)
def parse_avro(text: str, origin: str) -> tuple[Schema, AvroColumn]:
    """Return the schema, and the column for its records. Raises ConfigError for text that is no schema."""
    named: dict[str, dict[str, object]] = {}
    try:
        schema = fastavro.parse_schema(json.loads(text), named)
        return schema, map_schema(schema, named)
    except UnsupportedAvroError as error:
        raise ConfigError(
            f"{origin}: no table can store this schema: {error}", hint="use a schema without recursion"
        ) from error
    except UnknownType as error:
        raise ConfigError(
            f"{origin}: the type {error.name} is not defined in it", hint="put all types into one schema"
        ) from error
    except (ValueError, TypeError, KeyError, AttributeError, SchemaParseException) as error:
        raise ConfigError(
            f"{origin}: not a schema of Avro: {type(error).__name__}: {error}", hint="correct the schema"
        ) from error


def _parse_writer(text: str) -> Schema:
    """Return a schema that may have types which no table can store, because the reader need not have them.

    Raises RecordFaultError.
    """
    try:
        return fastavro.parse_schema(json.loads(text))
    except Exception as error:
        # As in `parse_avro`. The registry checks schemas, so this is rare.
        raise RecordFaultError(f"its schema is not Avro: {type(error).__name__}: {error}") from error


class AvroDecoder:
    """Decodes records of `writer` to the columns of `reader`, by the rules of Avro's schema resolution."""

    def __init__(self, reader: str, origin: str, writer: str | None = None) -> None:
        self._reader, self._column = parse_avro(reader, origin)
        self._writer = self._reader if writer is None else _parse_writer(writer)

    @property
    def columns(self) -> pa.Schema:
        """See `RecordDecoder`. A schema that is no record has one column, `value`."""
        kind = self._column.data_type
        return pa.schema(list(kind)) if pa.types.is_struct(kind) else pa.schema([(_VALUE, kind)])

    def decode(self, data: bytes) -> Mapping[str, object]:
        """See `RecordDecoder`."""
        source = io.BytesIO(data)
        try:
            value: object = fastavro.schemaless_reader(source, self._writer, self._reader)
            if self._column.convert is not None:
                value = self._column.convert(value)
        except Exception as error:
            # fastavro has no error class of its own, but raises EOFError, IndexError, UnicodeDecodeError ...
            raise RecordFaultError(f"{type(error).__name__}: {error}") from error
        if source.tell() != len(data):
            raise RecordFaultError(f"{len(data) - source.tell()} bytes after the record")
        if isinstance(value, dict) and pa.types.is_struct(self._column.data_type):
            return value
        return {_VALUE: value}
