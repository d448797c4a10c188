"""File formats by name. Convert bytes to rows without Spark, in executors and, for samples, in the driver."""

import importlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from itertools import islice

import pyarrow as pa

from headwater.config.file_format import is_archive
from headwater.errors import ConfigError
from headwater.ingest.formats.archive import iter_members
from headwater.ingest.formats.arrow_types import to_spark_schema, unify_columns
from headwater.ingest.formats.compression import decompress
from headwater.ingest.formats.envelopes import read_envelope, unwrap_lines, unwrap_schema
from headwater.ingest.formats.log_lines import read_log_lines, sample_log
from headwater.ingest.formats.protocol import (
    ColumnsFormat,
    Lines,
    LinesFormat,
    ObjectData,
    Sample,
    Target,
)
from headwater.ingest.formats.reader_options import ReaderOptions
from headwater.sources.log_records import is_log

__all__ = [
    "FORMAT_NAMES",
    "HEAVY_FORMATS",
    "JSON_FORMATS",
    "ColumnsFormat",
    "Lines",
    "LinesFormat",
    "ObjectData",
    "Sample",
    "Target",
    "infer_arrow_schema",
    "is_lines_format",
    "load_format",
    "open_parts",
    "read_lines",
    "sample_lines",
]

# Imported on demand: a JSON table needs no Avro.
_FORMATS = {
    "json": "JsonFormat",
    "json_array": "JsonArrayFormat",
    "csv": "CsvFormat",
    "text": "TextFormat",
    "xml": "XmlFormat",
    "xlsx": "XlsxFormat",
    "parquet": "ParquetFormat",
    "orc": "OrcFormat",
    "avro": "AvroFormat",
    "avro_records": "AvroRecordsFormat",
    "protobuf": "ProtobufFormat",
    "binary": "BinaryFormat",
    "document": "DocumentFormat",
}
FORMAT_NAMES = tuple(_FORMATS)
JSON_FORMATS = frozenset({"json", "json_array"})
HEAVY_FORMATS = frozenset({"document"})
"""Reading an object takes much longer than fetching it, and happens in another process."""
_LINES_FORMATS = frozenset({"json", "json_array", "csv", "text", "xml", "xlsx", "avro_records", "protobuf"})
DEFAULT_MAX_BYTES = 256 * 1024 * 1024
_SAMPLE_PARTS = 10


def is_lines_format(name: str) -> bool:
    """True if rows are texts for Spark's parsers, not typed columns."""
    return name in _LINES_FORMATS


def load_format(name: str) -> LinesFormat | ColumnsFormat:
    """Return the format of that name, for the objects of one task: it may keep what they have in common.

    Raises `ConfigError` for an unknown name.
    """
    return _load_class(name)()


@cache
def _load_class(name: str) -> type[LinesFormat | ColumnsFormat]:
    if name not in _FORMATS:
        raise ConfigError(f"format {name!r} does not exist", hint=f"use one of {', '.join(FORMAT_NAMES)}")
    module = importlib.import_module(f"headwater.ingest.formats.{name}")
    found: type[LinesFormat | ColumnsFormat] = getattr(module, _FORMATS[name])
    return found


def open_parts(
    source: ObjectData, format_name: str, options: ReaderOptions, max_bytes: int = DEFAULT_MAX_BYTES
) -> Iterator[ObjectData]:
    """Yield the parts of an object, decompressed: the members of an archive, else the object itself.

    A range of a log is one part, whose messages are as they are.

    The extension of an address decides, and the first bytes. All parts together have at most `max_bytes`.
    Raises ObjectUnreadableError and ObjectTooLargeError. For `binary` the bytes stay unchanged.
    """
    if format_name == "binary" or is_log(source.data):
        yield source
        return
    data = decompress(source.uri, source.data, max_bytes)
    opened = source if data is source.data else ObjectData(source.uri, data, source.last_modified)
    if not is_archive(source.uri):
        yield opened
        return
    left = max_bytes
    for member in iter_members(opened, options.text("members"), max_bytes):
        data = decompress(member.uri, member.data, left)
        left -= len(data)
        yield replace(member, data=data)


def read_lines(
    lines_format: LinesFormat, name: str, source: ObjectData, options: ReaderOptions, target: Target
) -> Lines:
    """Return the records of an object, or of the messages in it; `name` is that of the format."""
    if is_log(source.data):
        return read_log_lines(lines_format, name, source, options, target)
    return lines_format.read_lines(source, options, target)


def infer_arrow_schema(data: bytes, key: str, format_name: str, options: Mapping[str, str]) -> pa.Schema:
    """Infer the columns of an object in a columns format, in types that Spark supports.

    `key` is for messages, and for its extension. Raises ObjectError.
    """
    found = load_format(format_name)
    if not isinstance(found, ColumnsFormat):
        raise ConfigError(f"format {format_name!r} has no types of its own; infer them from `sample_lines`")
    given = ReaderOptions(options)
    parts = islice(open_parts(ObjectData(key, data), format_name, given), _SAMPLE_PARTS)
    schemas = [(part.uri, found.read_schema(part, given)) for part in parts]
    if envelope := read_envelope(given):
        schemas = [(uri, unwrap_schema(uri, schema, envelope)) for uri, schema in schemas]
    return unify_columns([to_spark_schema(schema) for _, schema in schemas])


def sample_lines(
    data: bytes, key: str, format_name: str, options: Mapping[str, str], max_lines: int = 1000
) -> tuple[tuple[str, ...] | None, list[str]]:
    """Return the first records of an object in a lines format, for schema inference; CSV without header.

    The names are those of the columns, or None if each record names its own (JSON, XML). Of an archive, they
    are of the first member that has any. Raises ObjectError.
    """
    found = load_format(format_name)
    if not isinstance(found, LinesFormat):
        raise ConfigError(f"format {format_name!r} has no lines; use `infer_arrow_schema`")
    given = ReaderOptions(options)
    sample = Sample(None, ())
    envelope = read_envelope(given)
    for part in open_parts(ObjectData(key, data), format_name, given):
        sample = (
            sample_log(found, format_name, part, given)
            if is_log(part.data)
            else found.sample(part, given, max_lines)
        )
        if envelope:
            lines = Lines(range(len(sample.lines)), sample.lines)
            sample = Sample(sample.names, tuple(unwrap_lines(lines, envelope).texts))
        if sample.lines:
            break
    return sample.names, list(sample.lines)
