"""`LogRecord`: one message of a log, and ranges of them as the bytes of an object. Pure.

The bytes are an Arrow stream, so that a task reads a range as it reads a file.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from functools import cached_property

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
        """Return its time, in UTC; None also outside the years 1 to 9999: producers may send any number."""
        return _to_time(self.millis)


@dataclass(slots=True)
class LogColumns:
    """Collects messages column by column: an object for each of millions would take most of the time."""

    offsets: list[int] = field(default_factory=list)
    millis: list[int | None] = field(default_factory=list)
    keys: list[bytes | None] = field(default_factory=list)
    values: list[bytes | None] = field(default_factory=list)
    headers: list[Sequence[tuple[str, bytes | None]]] = field(default_factory=list)

    def add(
        self,
        offset: int,
        millis: int | None,
        key: bytes | None,
        value: bytes | None,
        headers: Sequence[tuple[str, bytes | None]] = (),
    ) -> None:
        """Add a message, as `LogRecord` describes it."""
        self.offsets.append(offset)
        self.millis.append(millis)
        self.keys.append(key)
        self.values.append(value)
        self.headers.append(headers)

    def build(self) -> pa.RecordBatch:
        """Return them as `LogRange.columns`."""
        headers = [_to_structs(found) for found in self.headers] if any(self.headers) else None
        return pa.record_batch(
            [
                pa.array(self.offsets, pa.int64()),
                pa.array(self.millis, pa.int64()),
                pa.array(self.keys, pa.binary()),
                pa.array(self.values, pa.binary()),
                pa.array(headers or [None] * len(self.offsets), _SCHEMA.field("headers").type),
            ],
            schema=_SCHEMA,
        )


@dataclass(frozen=True)
class LogRange:
    """The messages of the offsets from `begin` to `end` (exclusive) of one partition.

    Those before `available` were removed before they were read. Further offsets without a message are those
    of transactions, or of messages that a compaction removed. `columns`: offset, millis (int64), key, value
    (binary), headers; null as None in `LogRecord`.
    """

    topic: str
    partition: int
    begin: int
    end: int
    available: int
    columns: pa.RecordBatch

    @property
    def last_time(self) -> datetime | None:
        """Return the time of the last message, in UTC; None without one."""
        millis = self.columns.column("millis")
        return _to_time(millis[-1].as_py()) if len(millis) else None

    def encode(self) -> bytes:
        """Return the bytes of the object."""
        place = [self.topic, self.partition, self.begin, self.end, self.available]
        schema = _SCHEMA.with_metadata({_RANGE: json.dumps(place).encode()})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, schema) as writer:
            writer.write_batch(self.columns)
        return _MAGIC + bytes(sink.getvalue())

    @classmethod
    def decode(cls, data: bytes) -> "LogRange":
        """Return the range in the bytes of an object. Raises `ValueError` for other bytes."""
        with pa.ipc.open_stream(pa.py_buffer(data)[len(_MAGIC) :]) as reader:
            topic, partition, begin, end, available = json.loads((reader.schema.metadata or {})[_RANGE])
            columns = reader.read_next_batch().replace_schema_metadata(None)
        return cls(topic, partition, begin, end, available, columns)

    @cached_property
    def records(self) -> Sequence[LogRecord]:
        """Return the messages one by one."""
        values = [self.columns.column(name).to_pylist() for name in ("offset", "millis", "key", "value")]
        headers = self.columns.column("headers")
        if headers.null_count == len(headers):
            return [LogRecord(*found) for found in zip(*values, strict=True)]
        tuples = [tuple((one["name"], one["value"]) for one in found or ()) for found in headers.to_pylist()]
        return [LogRecord(*found) for found in zip(*values, tuples, strict=True)]


def is_log(data: bytes) -> bool:
    """True if these are the bytes of a range."""
    return data.startswith(_MAGIC)


def _to_time(millis: int | None) -> datetime | None:
    try:
        return None if millis is None else _EPOCH + timedelta(milliseconds=millis)
    except OverflowError:
        return None


def _to_structs(headers: Sequence[tuple[str, bytes | None]]) -> list[dict[str, object]] | None:
    return [{"name": name, "value": value} for name, value in headers] or None
