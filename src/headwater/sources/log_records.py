"""`LogRecord`: one message of a log, and ranges of them as the bytes of an object. Pure.

The bytes are an Arrow stream, so that a task reads a range as it reads a file.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

import pyarrow as pa

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_SCHEMA = pa.schema(
    [
        ("offset", pa.int64()),
        ("millis", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", pa.list_(pa.struct([("name", pa.string()), ("value", pa.binary())]))),
    ]
)
_RANGE = b"headwater.range"
_MAGIC = b"\x89headwater log 1\n"


@dataclass(frozen=True, slots=True)
class LogRecord:
    """A message. `millis` is its time since 1970 in milliseconds, None if it has none.

    Without a `value` it is a tombstone: the row of its key is deleted.
    """

    offset: int
    millis: int | None
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes | None]] = ()

    @property
    def time(self) -> datetime | None:
        """Return its time, in UTC."""
        return None if self.millis is None else _EPOCH + timedelta(milliseconds=self.millis)


@dataclass(frozen=True, slots=True)
class LogRange:
    """The messages of the offsets from `begin` to `end` (exclusive) of one partition.

    Those before `available` were removed before they were read. Further offsets without a message are those
    of transactions, or of messages that a compaction removed.
    """

    topic: str
    partition: int
    begin: int
    end: int
    available: int
    records: Sequence[LogRecord]

    def encode(self) -> bytes:
        """Return the bytes of the object."""
        records = self.records
        arrays = [
            pa.array([record.offset for record in records], pa.int64()),
            pa.array([record.millis for record in records], pa.int64()),
            pa.array([record.key for record in records], pa.binary()),
            pa.array([record.value for record in records], pa.binary()),
            pa.array([_to_structs(record.headers) for record in records], _SCHEMA.field("headers").type),
        ]
        place = [self.topic, self.partition, self.begin, self.end, self.available]
        schema = _SCHEMA.with_metadata({_RANGE: json.dumps(place).encode()})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, schema) as writer:
            writer.write_batch(pa.record_batch(arrays, schema=schema))
        return _MAGIC + bytes(sink.getvalue())

    @classmethod
    def decode(cls, data: bytes) -> "LogRange":
        """Return the range in the bytes of an object. Raises `ValueError` for other bytes."""
        with pa.ipc.open_stream(pa.py_buffer(data)[len(_MAGIC) :]) as reader:
            topic, partition, *offsets = json.loads((reader.schema.metadata or {})[_RANGE])
            columns = reader.read_all()
        values = [columns.column(name).to_pylist() for name in ("offset", "millis", "key", "value")]
        headers = columns.column("headers")
        if headers.null_count == len(headers):
            records = [LogRecord(*found) for found in zip(*values, strict=True)]
        else:
            tuples = [
                tuple((one["name"], one["value"]) for one in found or ()) for found in headers.to_pylist()
            ]
            records = [LogRecord(*found) for found in zip(*values, tuples, strict=True)]
        begin, end, available = offsets
        return cls(topic, partition, begin, end, available, records)


def is_log(data: bytes) -> bool:
    """True if these are the bytes of a range."""
    return data.startswith(_MAGIC)


def _to_structs(headers: Sequence[tuple[str, bytes | None]]) -> list[dict[str, object]] | None:
    return [{"name": name, "value": value} for name, value in headers] or None
