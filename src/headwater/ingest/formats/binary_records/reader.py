"""Reads objects of binary records as JSON texts; one that cannot be decoded is marked."""

from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from itertools import islice
from typing import ClassVar

from headwater.errors import ConfigError
from headwater.ingest.formats.binary_records.avro_decoder import AvroDecoder
from headwater.ingest.formats.binary_records.faults import RecordFaultError, UnknownSchemaError
from headwater.ingest.formats.binary_records.files import build_decoder
from headwater.ingest.formats.binary_records.framing import (
    Frame,
    split_header,
    split_message_path,
    split_records,
)
from headwater.ingest.formats.binary_records.protobuf_decoder import ProtobufDecoder, name_message
from headwater.ingest.formats.binary_records.record_schema import REGISTRY_OPTION, Kind, RecordSchema
from headwater.ingest.formats.binary_records.registry import SchemaRegistry, open_registry
from headwater.ingest.formats.binary_records.texts import RecordWriter
from headwater.ingest.formats.markers import BAD_RECORD, UNKNOWN_SCHEMA
from headwater.ingest.formats.protocol import Lines, ObjectData, Sample, Target
from headwater.ingest.formats.reader_options import ReaderOptions

_KEPT_BYTES = 750
"""How much is kept of a record that cannot be decoded."""

Decode = Callable[[bytes], Mapping[str, object]]


class BinaryRecordsFormat:
    """Options: framing (delimited), confluent (false). The schema of the records is the table's."""

    kind: ClassVar[Kind]

    def read_lines(self, source: ObjectData, options: ReaderOptions, target: Target) -> Lines:
        """Return one JSON object per record, or a marker with the reason and the record in base64."""
        texts = self._read(split_records(source.data, _choose_framing(options)), options)
        return Lines(range(1, len(texts) + 1), texts)

    def sample(self, source: ObjectData, options: ReaderOptions, max_lines: int) -> Sample:
        """Return the first records."""
        frames = islice(split_records(source.data, _choose_framing(options)), max_lines)
        return Sample(None, tuple(self._read(frames, options)))

    def _read(self, frames: Iterable[Frame], options: ReaderOptions) -> list[str]:
        schema = RecordSchema.of(options)
        if schema is None or schema.kind != self.kind:
            found = f"has type {schema.kind}" if schema else "is missing"
            raise ConfigError(
                f"the schema of the records {found}; the format requires one of {self.kind}",
                hint="set `schema` of the table to a file or to a subject of a registry",
            )
        decoder = build_decoder(schema)
        writer, decode = RecordWriter(decoder.columns), _choose_decode(schema, options)
        texts: list[str] = []
        good: list[tuple[int, Frame, Mapping[str, object]]] = []
        for at, frame in enumerate(frames):
            if frame.fault:
                texts.append(_mark(RecordFaultError(frame.fault), frame))
                continue
            try:
                good.append((at, frame, decode(frame.data)))
                texts.append("")
            except RecordFaultError as error:
                texts.append(_mark(error, frame))
        for (at, _, _), text in zip(good, _write(writer, good), strict=True):
            texts[at] = text
        return texts


def _choose_framing(options: ReaderOptions) -> str:
    return options.text("framing", default="delimited").lower()


def _write(writer: RecordWriter, good: list[tuple[int, Frame, Mapping[str, object]]]) -> list[str]:
    try:
        return writer.write([record for _, _, record in good])
    except RecordFaultError:
        # One value has no place in its column; the other records have.
        return [_write_one(writer, frame, record) for _, frame, record in good]


def _write_one(writer: RecordWriter, frame: Frame, record: Mapping[str, object]) -> str:
    try:
        return writer.write([record])[0]
    except RecordFaultError as error:
        return _mark(error, frame)


def _mark(error: RecordFaultError, frame: Frame) -> str:
    marker = UNKNOWN_SCHEMA if isinstance(error, UnknownSchemaError) else BAD_RECORD
    return f"{marker}{error}: {b64encode(frame.data[:_KEPT_BYTES]).decode()}"


def _choose_decode(schema: RecordSchema, options: ReaderOptions) -> Decode:
    if options.flag("confluent"):
        return _decode_by_id(schema, options.text(REGISTRY_OPTION))
    return build_decoder(schema).decode


# Most objects are small, and a schema takes longer to parse than one of them.
@lru_cache(maxsize=32)
def _decode_by_id(schema: RecordSchema, url: str) -> Decode:
    registry, decoder = open_registry(url), build_decoder(schema)
    if isinstance(decoder, ProtobufDecoder):
        return _FromProtobuf(registry, decoder).decode
    return _FromAvro(registry, schema).decode


class _FromAvro:
    """Decodes records with the schemas of their ids, resolved to that of the table."""

    def __init__(self, registry: SchemaRegistry, reader: RecordSchema) -> None:
        self._registry = registry
        self._reader = reader
        self._decoders: dict[int, AvroDecoder] = {}

    def decode(self, data: bytes) -> Mapping[str, object]:
        schema_id, record = split_header(data)
        if schema_id not in self._decoders:
            writer = self._registry.find_by_id(schema_id)
            if writer.kind != "avro":
                raise RecordFaultError(f"schema {schema_id} has type {writer.kind}")
            reader = self._reader
            self._decoders[schema_id] = AvroDecoder(reader.text, reader.origin, writer.text)
        return self._decoders[schema_id].decode(record)


class _FromProtobuf:
    """Decodes messages of the table's type: its fields are found by their numbers, whatever the id."""

    def __init__(self, registry: SchemaRegistry, decoder: ProtobufDecoder) -> None:
        self._registry = registry
        self._decoder = decoder
        self._names: dict[tuple[int, tuple[int, ...]], str] = {}

    def decode(self, data: bytes) -> Mapping[str, object]:
        schema_id, rest = split_header(data)
        writer = self._registry.find_by_id(schema_id)
        if writer.kind != "protobuf":
            raise RecordFaultError(f"schema {schema_id} has type {writer.kind}")
        path, message = split_message_path(rest)
        if (schema_id, path) not in self._names:
            self._names[schema_id, path] = name_message(writer.text, writer.origin, path)
        name = self._names[schema_id, path]
        if name != self._decoder.message:
            raise RecordFaultError(f"message type {name}; the table reads {self._decoder.message}")
        return self._decoder.decode(message)
