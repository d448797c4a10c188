"""Reads the schema that a table's configuration names, and what decodes its records."""

from base64 import b64encode
from functools import lru_cache
from pathlib import Path

import pyarrow as pa

from headwater.config.table.schema_source import SchemaConfig
from headwater.errors import ConfigError
from headwater.ingest.formats.arrow_types import to_spark_schema
from headwater.ingest.formats.binary_records.avro_decoder import AvroDecoder
from headwater.ingest.formats.binary_records.decoder import RecordDecoder
from headwater.ingest.formats.binary_records.protobuf_decoder import ProtobufDecoder
from headwater.ingest.formats.binary_records.record_schema import RecordSchema
from headwater.ingest.formats.binary_records.registry import open_registry


def read_schema(config: SchemaConfig) -> RecordSchema:
    """Return the schema in a file or a registry. Raises ConfigError, and RegistryUnavailableError."""
    if config.registry is not None and config.subject is not None:
        registry = open_registry(config.registry)
        return registry.find_version(config.subject, config.version, config.message or "")
    if config.file is None:
        raise ValueError("DDL is no schema of records")
    return _read_file(config, config.file)


def _read_file(config: SchemaConfig, file: Path) -> RecordSchema:
    data = _read(file)
    if not config.is_avro_file:
        return RecordSchema("protobuf", b64encode(data).decode(), str(file), config.message or "")
    try:
        return RecordSchema("avro", data.decode("utf-8-sig"), str(file))
    except UnicodeDecodeError as error:
        raise ConfigError(f"{file}: not UTF-8", hint="store the schema as JSON in UTF-8") from error


@lru_cache(maxsize=32)
def build_decoder(schema: RecordSchema) -> RecordDecoder:
    """Return the decoder of records written with that schema. Raises ConfigError for an invalid one."""
    if schema.kind == "avro":
        return AvroDecoder(schema.text, schema.origin)
    return ProtobufDecoder(schema.text, schema.origin, schema.message)


def list_columns(schema: RecordSchema) -> pa.Schema:
    """Return the columns of a schema in types that Spark supports. Raises ConfigError."""
    columns = to_spark_schema(build_decoder(schema).columns)
    if not columns.names:
        raise ConfigError(
            f"{schema.origin}: the schema has no fields", hint="a table needs at least one column"
        )
    return columns


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise ConfigError(
            f"{file}: cannot read the schema: {error.strerror}",
            hint="correct `file` in the table's `schema`; relative paths are below the folder of the "
            "configuration",
        ) from error
