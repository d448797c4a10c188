"""Reads ranges of a log as records: each message is read by the format of the table. Pure.

A record has the number of its offset in the range, from 1 on; further records of one message have numbers
after all offsets. A message that cannot be read is one bad record, whatever the format: the others stay.
"""

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import chain, repeat
from typing import Any

import pyarrow as pa
from pyarrow import compute

from headwater.errors import ObjectError
from headwater.ingest.formats.binary_records.faults import RecordFaultError
from headwater.ingest.formats.binary_records.framing import split_header
from headwater.ingest.formats.json import DOCUMENT_BORDERS
from headwater.ingest.formats.json_values import mark_lone_surrogates
from headwater.ingest.formats.log_options import LogOptions, read_log_options
from headwater.ingest.formats.markers import BAD_RECORD, EXPIRED, MALFORMED, MARKER, TOMBSTONE, UNDECODABLE
from headwater.ingest.formats.protocol import Lines, LinesFormat, ObjectData, Sample, Target
from headwater.ingest.formats.reader_options import ReaderOptions
from headwater.sources.log_records import LogRange, LogRecord

_BINARY_FORMATS = frozenset({"avro_records", "protobuf"})
_KEPT_CHARS = 1_000
_WHOLE_NUMBER = re.compile(rb"-?(?:0|[1-9]\d{0,17})")
# In milliseconds since 1970.
_YEARS = (-62_135_596_800_000, 253_402_300_799_999)
_TIME, _TIME_FORMAT = pa.timestamp("ms", "UTC"), "%Y-%m-%dT%H:%M:%S"
_LINE_ENDS = re.compile(rb"[\r\n]")
_BORDERS = tuple(border.encode() for border in DOCUMENT_BORDERS)
_BYTE_ORDER_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True, slots=True)
class _Read:
    """The texts of one message, with what the format says of them."""

    record: LogRecord
    texts: Sequence[str]
    rescued: Sequence[str | None] = ()


def read_log_lines(
    lines_format: LinesFormat, name: str, source: ObjectData, options: ReaderOptions, target: Target
) -> Lines:
    """Return the records of all messages of a range; `name` is that of the format."""
    log, given = LogRange.decode(source.data), read_log_options(options)
    is_plain = name == "json" and not options.flag("multiLine") and not options.text("encoding", "charset")
    if is_plain and not options.flag("confluent") and (plain := _read_plain(log, given)) is not None:
        return plain
    valued = [record for record in log.records if record.value is not None]
    bad: list[_Read] = []
    if name == "json" and options.flag("confluent"):
        valued, bad = _leave_out_headers(valued)
    if name in _BINARY_FORMATS:
        read = _read_binary(lines_format, source, options, valued)
    elif is_plain:
        read = _read_json(lines_format, source, options, valued)
    else:
        each = options.replace(header="false") if name == "csv" else options
        read = (_read_alone(lines_format, source, each, record, target) for record in valued)
    numbered = _Numbered(log)
    blank = 0
    for found in (*bad, *read):
        blank += not found.texts
        rescued = found.rescued or [None] * len(found.texts)
        for text, further in zip(found.texts, rescued, strict=True):
            numbered.add(found.record, _complete(text, log, found.record, given), further)
    for record in log.records:
        if record.value is None and (text := _read_tombstone(record, given)):
            numbered.add(record, text, None)
    if log.available > log.begin:
        numbered.add_lost(log)
    return numbered.build(_describe(log, given, blank))


def sample_log(lines_format: LinesFormat, name: str, source: ObjectData, options: ReaderOptions) -> Sample:
    """Return the records for schema inference, and the names of their columns if the format has them."""
    texts = read_log_lines(lines_format, name, source, options, Target()).texts
    good = tuple(text for text in texts if not text.startswith(MARKER))
    if name != "csv" or not good:
        return Sample(("value",) if name == "text" else None, good)
    head = ObjectData(source.uri, "\n".join(good).encode())
    return lines_format.sample(head, options.replace(header="false"), len(good))


class _Numbered:
    """The records of a range with their numbers."""

    def __init__(self, log: LogRange) -> None:
        self._begin = log.begin
        self._further = log.end - log.begin
        self._numbers: list[int] = []
        self._texts: list[str] = []
        self._rescued: list[str | None] = []
        self._last: int | None = None

    def add(self, record: LogRecord, text: str, rescued: str | None) -> None:
        """Add a record of a message."""
        number = record.offset - self._begin + 1
        if record.offset == self._last:
            self._further += 1
            number = self._further
        self._last = record.offset
        self._add(number, text, rescued)

    def add_lost(self, log: LogRange) -> None:
        """Add a record that stands for messages which were removed before they were read."""
        what = f"offsets {log.begin} to {log.available - 1} of partition {log.partition} of {log.topic}"
        self._add(1, f"{EXPIRED}{what}", None)

    def _add(self, number: int, text: str, rescued: str | None) -> None:
        self._numbers.append(number)
        self._texts.append(text)
        self._rescued.append(rescued)

    def build(self, note: str) -> Lines:
        """Return all of them."""
        rescued = self._rescued if any(found is not None for found in self._rescued) else ()
        return Lines(self._numbers, self._texts, note, rescued=rescued)


def _read_plain(log: LogRange, options: LogOptions) -> Lines | None:
    """Read all messages at once; None unless each is certainly one JSON document."""
    values = log.columns.column("value")
    if not len(values) or values.null_count or log.available > log.begin:
        return None
    try:
        texts = compute.ascii_trim_whitespace(values.cast(pa.string()))
    except pa.ArrowInvalid:
        return None  # some are not UTF-8
    if not compute.all(compute.starts_with(texts, "{")).as_py():
        return None
    if any(compute.any(compute.match_substring(texts, border)).as_py() for border in DOCUMENT_BORDERS):
        return None
    marked = mark_lone_surrogates(texts.to_pylist())
    if options.columns or options.tombstones == "delete":
        if any(map(str.startswith, marked, repeat(MARKER))):
            return None
        completed = _complete_all(log, texts, options)
        if completed is None:
            return None
        marked = completed.to_pylist()
    numbers = compute.subtract(log.columns.column("offset"), log.begin - 1).to_pylist()
    return Lines(numbers, marked, _describe(log, options, 0))


def _complete_all(log: LogRange, texts: pa.Array, options: LogOptions) -> pa.Array | None:
    """Do what `_complete` does, for all records; None if one lacks a time, or has no columns of its own."""
    offsets, millis = log.columns.column("offset"), log.columns.column("millis")
    written: dict[str, tuple[Any, ...]] = {
        "topic": (f'"{log.topic}"',),
        "partition": (str(log.partition),),
        "offset": (offsets.cast(pa.string()),),
    }
    if "timestamp" in options.columns and _are_times(millis):
        times = compute.strftime(millis.cast(_TIME), format=_TIME_FORMAT)
        written["timestamp"] = ('"', times, 'Z"')
    if not written.keys() >= set(options.columns):
        return None
    if options.columns:
        body = compute.ascii_ltrim_whitespace(compute.utf8_slice_codeunits(texts, 1))
        if compute.any(compute.starts_with(body, "}")).as_py():
            return None
        columns = [(f'"_kafka_{name}":', *written[name], ",") for name in options.columns]
        texts = compute.binary_join_element_wise("{", *chain.from_iterable(columns), body, "")
    if options.tombstones == "delete":
        begin, middle, end = _wrap("u", "after", "\0", "\0").split("\0")
        texts = compute.binary_join_element_wise(begin, offsets.cast(pa.string()), middle, texts, end, "")
    return texts


def _are_times(millis: pa.Array) -> bool:
    """True if all are in the years 1 to 9999."""
    first, last = compute.min_max(millis).values()
    return not millis.null_count and first.as_py() >= _YEARS[0] and last.as_py() <= _YEARS[1]


def _read_json(
    lines_format: LinesFormat, source: ObjectData, options: ReaderOptions, records: Iterable[LogRecord]
) -> Iterator[_Read]:
    """Read messages with one document each; others, such as arrays, as objects with JSON lines."""
    plain: list[LogRecord] = []
    texts: list[str] = []
    others: list[LogRecord] = []
    for record in records:
        value = (record.value or b"").strip()
        if value.startswith((b"[", *_BYTE_ORDER_MARKS)) or any(border in value for border in _BORDERS):
            others.append(record)
            continue
        plain.append(record)
        texts.append(_decode(value))
    for record, text in zip(plain, mark_lone_surrogates(texts), strict=True):
        yield _Read(record, (text,) if text else ())
    for record in others:
        # A document may have line ends; in JSON lines, they would end a record.
        one = replace(record, value=_LINE_ENDS.sub(b" ", record.value or b""))
        yield _read_alone(lines_format, source, options, one, Target())


def _leave_out_headers(records: Iterable[LogRecord]) -> tuple[list[LogRecord], list[_Read]]:
    """Return the messages without the header of Confluent's serializers, and those that have none."""
    good, bad = [], []
    for record in records:
        try:
            _, value = split_header(record.value or b"")
        except RecordFaultError as error:
            bad.append(_Read(record, (f"{BAD_RECORD}{error}",)))
        else:
            good.append(replace(record, value=value))
    return good, bad


def _decode(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return UNDECODABLE + value.decode(errors="replace")


def _read_binary(
    lines_format: LinesFormat, source: ObjectData, options: ReaderOptions, records: Sequence[LogRecord]
) -> Iterator[_Read]:
    values = [record.value or b"" for record in records]
    data = b"".join(part for value in values for part in (len(value).to_bytes(4, "big"), value))
    framed = options.replace(framing="length_prefixed")
    lines = lines_format.read_lines(ObjectData(source.uri, data, source.last_modified), framed, Target())
    for record, text in zip(records, lines.texts, strict=True):
        yield _Read(record, (text,))


def _read_alone(
    lines_format: LinesFormat, source: ObjectData, options: ReaderOptions, record: LogRecord, target: Target
) -> _Read:
    data = ObjectData(f"{source.uri} offset {record.offset}", record.value or b"", record.time)
    try:
        lines = lines_format.read_lines(data, options, target)
    except ObjectError:
        shown = (record.value or b"").decode(errors="replace")[:_KEPT_CHARS]
        return _Read(record, (f"{MALFORMED}{shown}",))
    return _Read(record, lines.texts, lines.rescued)


def _complete(text: str, log: LogRange, record: LogRecord, options: LogOptions) -> str:
    """Return a record with the columns of its message, and in an envelope if tombstones delete rows."""
    if text.startswith(MARKER) or not text.startswith("{"):
        return text
    if options.columns:
        text = _join(_iter_columns(log, record, options.columns), text)
    return _wrap("u", "after", text, record.offset) if options.tombstones == "delete" else text


def _read_tombstone(record: LogRecord, options: LogOptions) -> str:
    if options.tombstones == "leave_out":
        return ""
    if options.tombstones == "reject":
        return f"{TOMBSTONE}{show_bytes(record.key)}"
    row = _read_key(record.key, options.keys)
    if row is None:
        return f"{TOMBSTONE}{show_bytes(record.key)}"
    return _wrap("d", "before", row, record.offset)


def _wrap(operation: str, field: str, row: str, offset: int | str) -> str:
    return f'{{"op":"{operation}","offset":{offset},"{field}":{row}}}'


def _read_key(key: bytes | None, columns: tuple[str, ...]) -> str | None:
    """Return the JSON of the key columns; None if the key has no value for them.

    The key is a JSON object with these columns, or the value of the only one: a whole number, a JSON string,
    or any text.
    """
    if key is None:
        return None
    try:
        text = key.decode()
    except UnicodeDecodeError:
        return None
    try:
        value = json.loads(text)
    except ValueError:
        value = None
    if isinstance(value, dict):
        return text.strip() if all(value.get(column) is not None for column in columns) else None
    if len(columns) != 1 or not text:
        return None
    if not _WHOLE_NUMBER.fullmatch(key):
        text = json.dumps(value if isinstance(value, str) else text, ensure_ascii=False)
    return f"{{{json.dumps(columns[0], ensure_ascii=False)}:{text}}}"


def _iter_columns(log: LogRange, record: LogRecord, columns: Iterable[str]) -> Iterator[str]:
    for name in columns:
        value = _VALUES[name](log, record)
        if value is not None:
            yield f'"_kafka_{name}":{value}'


def _join(columns: Iterable[str], text: str) -> str:
    head = ",".join(columns)
    body = text[1:].lstrip()
    if not head:
        return text
    return f"{{{head}}}" if body.startswith("}") else f"{{{head},{body}"


def _write_time(_log: LogRange, record: LogRecord) -> str | None:
    if record.time is None:
        # Read by its magnitude, such as microseconds.
        return None if record.millis is None else str(record.millis)
    return f'"{_format_time(record.time)}"'


def _format_time(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S.") + f"{time.microsecond // 1000:03d}Z"


def _write_headers(_log: LogRange, record: LogRecord) -> str | None:
    # Of equal names, the last one counts, as in a map.
    found = {name: None if value is None else show_bytes(value) for name, value in record.headers}
    return json.dumps(found, ensure_ascii=False) if found else None


_VALUES: dict[str, Callable[[LogRange, LogRecord], str | None]] = {
    "topic": lambda log, _: f'"{log.topic}"',
    "partition": lambda log, _: str(log.partition),
    "offset": lambda _, record: str(record.offset),
    "timestamp": _write_time,
    "key": lambda _, record: None if record.key is None else json.dumps(show_bytes(record.key)),
    "headers": _write_headers,
}


def show_bytes(data: bytes | None) -> str:
    """Return bytes as text: UTF-8, else base64; empty without any."""
    try:
        return (data or b"").decode()
    except UnicodeDecodeError:
        return b64encode(data or b"").decode()


def _describe(log: LogRange, options: LogOptions, blank: int) -> str:
    """Return a sentence about the offsets without a record; empty if each has one."""
    tombstones = log.columns.column("value").null_count
    gaps = log.end - log.available - log.columns.num_rows
    parts = [
        (gaps, "offsets have no message: they are of transactions, or compacted"),
        (tombstones if options.tombstones == "leave_out" else 0, "messages have no value"),
        (blank, "messages are blank"),
    ]
    return "; ".join(f"{count} {what}" for count, what in parts if count)
