"""Reads ranges of a log as records: each message is read by the format of the table. Pure.

A record has the number of its offset in the range, from 1 on; further records of one message have numbers
after all offsets. A message that cannot be read is one bad record, whatever the format: the others stay.
"""

import json
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
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
    if is_plain and not options.flag("confluent") and (plain := _read_plain(log)) is not None:
        numbers = compute.subtract(log.columns.column("offset"), log.begin - 1).to_pylist()
        return Lines(numbers, _complete(plain, log, log.columns, given), _describe(log, given, 0))
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
    return _number(log, [*bad, *read], given)


def _number(log: LogRange, found: Sequence[_Read], options: LogOptions) -> Lines:
    """Return the records of all messages with their numbers, and those of messages without a value."""
    numbered, places = _Numbered(log), {record.offset: at for at, record in enumerate(log.records)}
    records = [one.record for one in found for _ in one.texts]
    columns = log.columns.take(pa.array([places[record.offset] for record in records], pa.int64()))
    texts = _complete([text for one in found for text in one.texts], log, columns, options)
    rescued = [further for one in found for further in one.rescued or [None] * len(one.texts)]
    for record, text, further in zip(records, texts, rescued, strict=True):
        numbered.add(record, text, further)
    for record in log.records:
        if record.value is None and (tombstone := _read_tombstone(record, options)):
            numbered.add(record, tombstone, None)
    if log.available > log.begin:
        numbered.add_lost(log)
    return numbered.build(_describe(log, options, sum(not one.texts for one in found)))


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


def _read_plain(log: LogRange) -> Sequence[str] | None:
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
    return mark_lone_surrogates(texts.to_pylist())


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


def _complete(
    records: Sequence[str], log: LogRange, messages: pa.RecordBatch, options: LogOptions
) -> Sequence[str]:
    """Return records with the columns of their messages, and in an envelope if tombstones delete rows.

    `messages` are those of the records. A record that is no JSON object stays as it is.
    """
    if not options.columns and options.tombstones != "delete":
        return records
    texts = completed = pa.array(records, pa.string())
    if options.columns:
        head = compute.binary_join_element_wise(
            *(_write_field(name, log, messages) for name in options.columns), ""
        )
        body = compute.ascii_ltrim_whitespace(compute.utf8_slice_codeunits(texts, 1))
        head = compute.if_else(compute.starts_with(body, "}"), compute.utf8_rtrim(head, ","), head)
        completed = compute.binary_join_element_wise("{", head, body, "")
    if options.tombstones == "delete":
        begin, middle, end = _wrap("u", "after", "\0", "\0").split("\0")
        offsets = messages.column("offset").cast(pa.string())
        completed = compute.binary_join_element_wise(begin, offsets, middle, completed, end, "")
    found: Sequence[str] = compute.if_else(compute.starts_with(texts, "{"), completed, texts).to_pylist()
    return found


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


def _write_field(name: str, log: LogRange, messages: pa.RecordBatch) -> pa.Array:
    """Return a column of messages as a JSON field with a comma; empty for a message without it."""
    if name == "topic":
        values = pa.repeat(f'"{log.topic}"', len(messages))
    elif name == "partition":
        values = pa.repeat(str(log.partition), len(messages))
    elif name == "offset":
        values = messages.column("offset").cast(pa.string())
    elif name == "timestamp":
        values = _write_times(messages.column("millis"))
    else:
        write = _write_key if name == "key" else _write_headers
        column = messages.column("key" if name == "key" else "headers")
        values = pa.array([None if one is None else write(one) for one in column.to_pylist()], pa.string())
    return compute.fill_null(compute.binary_join_element_wise(f'"_kafka_{name}":', values, ",", ""), "")


def _write_times(millis: pa.Array) -> pa.Array:
    """Return times in ISO 8601; outside the years 1 to 9999 as numbers, which are read by magnitude."""
    is_time = compute.and_(compute.greater_equal(millis, _YEARS[0]), compute.less_equal(millis, _YEARS[1]))
    times = compute.if_else(is_time, millis, 0).cast(_TIME)
    written = compute.binary_join_element_wise('"', compute.strftime(times, format=_TIME_FORMAT), 'Z"', "")
    return compute.if_else(is_time, written, millis.cast(pa.string()))


def _write_key(key: bytes) -> str:
    return json.dumps(show_bytes(key))


def _write_headers(headers: Sequence[dict[str, Any]]) -> str:
    # Of equal names, the last one counts, as in a map.
    found = {one["name"]: None if one["value"] is None else show_bytes(one["value"]) for one in headers}
    return json.dumps(found, ensure_ascii=False)


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
