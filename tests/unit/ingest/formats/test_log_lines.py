"""Messages of a range as records, in each format."""

import json
from typing import get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from headwater.config.table import TableConfig
from headwater.config.table.messages import COLUMN_TYPES
from headwater.ingest.formats import read_lines, sample_lines
from headwater.ingest.formats.log_lines import show_bytes
from headwater.ingest.formats.log_options import LogOptions, Tombstones, build_log_options
from headwater.ingest.formats.markers import BAD_RECORD, EXPIRED, MALFORMED, MARKER, TOMBSTONE, UNDECODABLE
from headwater.ingest.formats.protocol import Lines, LinesFormat, ObjectData, Target
from headwater.ingest.formats.reader_options import ReaderOptions
from headwater.sources.log_records import LogRange, LogRecord
from tests.fixtures.log_columns import build_columns

MILLIS = 1_795_780_800_123
PLAIN_MESSAGES = ('{"n": 1}', ' {\n"n": 2}', '{"s": "łódź"}', '{"m": {"a": 1}}')
ODD_MESSAGES = (
    *(
        '{"n": 1}',
        ' \t{"n":\n 2}\r\n',
        '{"s": "\\ud800"}',
        '{"s": "łódź"}',
        '{"m": {"a": 1}} x',
        '{"n": 1',
        "{}",
    ),
    *(
        '"text"',
        "",
        " ",
        "[1]",
        '[{"n": 1}, {"n": 2}]',
        '{"n": 1}{"n": 2}',
        '\ufeff{"n": 1}',
        b'{"s": "\xff"}',
        None,
    ),
)


def build(*values: object, begin: int = 100, available: int = 100, end: int = 0) -> bytes:
    """A range whose messages are these values, or `LogRecord`s."""
    records = [
        value if isinstance(value, LogRecord) else LogRecord(begin + at, MILLIS, b"k", to_bytes(value))
        for at, value in enumerate(values)
    ]
    return LogRange(
        "orders", 3, begin, end or begin + len(values), available, build_columns(records)
    ).encode()


def to_bytes(value: object) -> bytes | None:
    return value.encode() if isinstance(value, str) else value  # type: ignore[return-value]


def read(data: bytes, name: str = "json", log: LogOptions | None = None, **options: str) -> Lines:
    from headwater.ingest.formats import load_format

    found = load_format(name)
    assert isinstance(found, LinesFormat)
    given = ReaderOptions({**options, **(log or LogOptions()).to_option()})
    return read_lines(found, name, ObjectData("kafka://c/orders/3/x", data), given, Target())


def test_a_json_record_has_the_number_of_its_offset_in_the_range() -> None:
    records = [LogRecord(offset, MILLIS, None, b'{"n": 1}') for offset in (100, 104, 109)]
    lines = read(build(*records, end=110))
    assert list(lines.row_numbers) == [1, 5, 10]
    assert lines.note == "7 offsets have no message: they are of transactions, or compacted"


@example(values=['{"n": 1}{"n": 2}'], times=[0], columns=[], tombstones="leave_out")
@given(
    values=st.lists(st.sampled_from(ODD_MESSAGES), max_size=4)
    | st.lists(st.sampled_from(PLAIN_MESSAGES), min_size=1, max_size=4),
    times=st.lists(st.integers(-(10**12), 2 * 10**12), min_size=4, max_size=4)
    | st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), min_size=4, max_size=4),
    columns=st.lists(st.sampled_from(list(COLUMN_TYPES)), unique=True),
    tombstones=st.sampled_from(get_args(Tombstones)),
)
def test_messages_read_at_once_are_as_those_read_one_by_one(
    values: list[str | bytes | None], times: list[int | None], columns: list[str], tombstones: Tombstones
) -> None:
    messages = [
        LogRecord(100 + at, time, b"7", to_bytes(value))
        for at, (value, time) in enumerate(zip(values, times, strict=False))
    ]
    log = LogOptions(tuple(columns), tombstones, ("id",))
    quick = read(build(*messages, end=110), log=log)
    # An array is always read by itself.
    slow = read(build(*messages, LogRecord(109, None, None, b"[]"), end=110), log=log)
    assert (list(quick.row_numbers), list(quick.texts)) == (list(slow.row_numbers), list(slow.texts))


@given(
    values=st.lists(st.sampled_from([*PLAIN_MESSAGES, "{}", "{ }"]), min_size=1, max_size=4),
    times=st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), min_size=4, max_size=4),
    keys=st.lists(st.none() | st.binary(max_size=3), min_size=4, max_size=4),
    columns=st.lists(st.sampled_from(list(COLUMN_TYPES)), unique=True),
    deletes=st.booleans(),
)
def test_a_record_has_the_columns_of_its_message(
    values: list[str], times: list[int | None], keys: list[bytes | None], columns: list[str], deletes: bool
) -> None:
    messages = [
        LogRecord(100 + at, time, key, value.encode(), (("h", key),) if key else ())
        for at, (value, time, key) in enumerate(zip(values, times, keys, strict=False))
    ]
    log = LogOptions(tuple(columns), "delete" if deletes else "leave_out", ("id",))
    for text, message, value in zip(read(build(*messages), log=log).texts, messages, values, strict=True):
        found = json.loads(text)
        if deletes:
            assert (found["op"], found["offset"]) == ("u", message.offset)
            found = found["after"]
        shown = None if message.key is None else show_bytes(message.key)
        time = (
            message.millis if message.time is None else f"{message.time.isoformat('T', 'milliseconds')[:-6]}Z"
        )
        fields = {
            "topic": "orders",
            "partition": 3,
            "offset": message.offset,
            "timestamp": time,
            "key": shown,
        }
        fields["headers"] = {"h": shown} if message.key else None
        own = {f"_kafka_{name}": fields[name] for name in columns if fields[name] is not None}
        assert found == {**own, **json.loads(value)}


def test_line_ends_in_a_message_do_not_divide_it() -> None:
    lines = read(build('{"n":\n 1}', '{\r\n"n": 2\r\n}', '[{"n": 3},\n {"n": 4}]'))
    assert [json.loads(text)["n"] for text in lines.texts] == [1, 2, 3, 4]
    assert list(lines.row_numbers) == [1, 2, 3, 4]


def test_further_documents_of_a_message_are_records_with_numbers_of_their_own() -> None:
    lines = read(build('[{"n": 1}, {"n": 2}]', '{"n": 3}', '{"n": 4}{"n": 5}'))
    found = dict(zip(lines.row_numbers, [json.loads(text)["n"] for text in lines.texts], strict=True))
    assert found == {1: 1, 4: 2, 2: 3, 3: 4, 5: 5}


def test_the_header_of_confluents_serializer_is_left_out() -> None:
    lines = read(build(b'\x00\x00\x00\x00\x07{"n": 1}', '{"n": 2}'), confluent="true")
    by_number = dict(zip(lines.row_numbers, lines.texts, strict=True))
    assert by_number[1] == '{"n": 1}'
    assert by_number[2].startswith(f"{BAD_RECORD}no header of Confluent's serializers")


def test_bytes_that_are_no_text_are_one_bad_record() -> None:
    lines = read(build('{"n": 1}', b"\xff\x00\x01" * 500, '{"n": 2}'))
    assert lines.texts[1].startswith(UNDECODABLE)
    assert [text.startswith(MARKER) for text in lines.texts] == [False, True, False]


def test_a_message_that_the_format_cannot_read_is_one_bad_record() -> None:
    lines = read(build('[{"n": 1}, {', '{"n": 2}'))
    by_number = dict(zip(lines.row_numbers, lines.texts, strict=True))
    assert by_number[2] == '{"n": 2}'
    assert by_number[1].startswith((MALFORMED, "["))


def test_blank_messages_and_tombstones_are_counted() -> None:
    lines = read(build("", "  ", None, '{"n": 1}'))
    assert list(lines.row_numbers) == [4]
    assert lines.note == "1 messages have no value; 2 messages are blank"


def test_a_tombstone_is_rejected_where_it_would_delete_a_row() -> None:
    lines = read(build(None, '{"n": 1}'), log=LogOptions(tombstones="reject"))
    by_number = dict(zip(lines.row_numbers, lines.texts, strict=True))
    assert by_number == {1: f"{TOMBSTONE}k", 2: '{"n": 1}'}


@pytest.mark.parametrize(
    ("key", "columns", "row"),
    [
        (b'{"id": 5}', ("id",), {"id": 5}),
        (b'{"a": 1, "b": "x"}', ("a", "b"), {"a": 1, "b": "x"}),
        (b"5", ("id",), {"id": 5}),
        (b"007", ("id",), {"id": "007"}),
        (b"1.10", ("id",), {"id": "1.10"}),
        (b"abc", ("id",), {"id": "abc"}),
        (b'"abc"', ("id",), {"id": "abc"}),
        (b"true", ("id",), {"id": "true"}),
        (b"123456789012345678901234567890", ("id",), {"id": "123456789012345678901234567890"}),
    ],
    ids=str,
)
def test_a_tombstone_deletes_the_row_of_its_key(
    key: bytes, columns: tuple[str, ...], row: dict[str, object]
) -> None:
    record = LogRecord(107, MILLIS, key, None)
    lines = read(build(record, end=110), log=LogOptions(tombstones="delete", keys=columns))
    assert json.loads(lines.texts[0]) == {"op": "d", "offset": 107, "before": row}


@pytest.mark.parametrize("key", [None, b"", b"\xff\xfe", b'{"other": 1}', b'{"id": null}'], ids=str)
def test_a_tombstone_without_the_key_is_rejected(key: bytes | None) -> None:
    record = LogRecord(100, MILLIS, key, None)
    lines = read(build(record, end=101), log=LogOptions(tombstones="delete", keys=("id",)))
    assert lines.texts[0].startswith(TOMBSTONE)


def test_a_value_of_a_compacted_topic_is_an_upsert_in_the_order_of_offsets() -> None:
    lines = read(build('{"id": 5}'), log=LogOptions(tombstones="delete", keys=("id",)))
    assert json.loads(lines.texts[0]) == {"op": "u", "offset": 100, "after": {"id": 5}}


def test_columns_of_the_message_are_fields_of_the_record() -> None:
    headers = (("source", b"shop"), ("raw", b"\xff"), ("none", None))
    record = LogRecord(101, MILLIS, "schlüssel".encode(), b'{"n": 1}', headers)
    columns = ("topic", "partition", "offset", "timestamp", "key", "headers")
    lines = read(build(record, LogRecord(102, None, None, b"{}"), end=103), log=LogOptions(columns))
    assert json.loads(lines.texts[0]) == {
        "_kafka_topic": "orders",
        "_kafka_partition": 3,
        "_kafka_offset": 101,
        "_kafka_timestamp": "2026-11-27T12:00:00.123Z",
        "_kafka_key": "schlüssel",
        "_kafka_headers": {"source": "shop", "raw": "/w==", "none": None},
        "n": 1,
    }
    assert json.loads(lines.texts[1]) == {
        "_kafka_topic": "orders",
        "_kafka_partition": 3,
        "_kafka_offset": 102,
    }


def test_lost_messages_are_one_record_that_says_so() -> None:
    kept = LogRecord(150, MILLIS, None, b'{"n": 1}')
    lines = read(build(kept, begin=100, available=150, end=151))
    by_number = dict(zip(lines.row_numbers, lines.texts, strict=True))
    assert by_number[51] == '{"n": 1}'
    assert by_number[1] == f"{EXPIRED}offsets 100 to 149 of partition 3 of orders"


def test_csv_has_no_header_in_a_message() -> None:
    data = build("1,a", "2,b")
    assert list(read(data, "csv").texts) == ["1,a", "2,b"]
    assert sample_lines(data, "k", "csv", {}) == (("_c0", "_c1"), ["1,a", "2,b"])


def test_text_has_a_record_per_line_of_a_message() -> None:
    assert list(read(build("one\ntwo", "three"), "text").texts) == ["one", "two", "three"]


def test_columns_are_inferred_from_the_good_records() -> None:
    assert sample_lines(build(b"\xff", '{"n": 1}'), "k", "json", {}) == (None, ['{"n": 1}'])


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ({"mode": "append"}, "leave_out"),
        ({"record_key": "id", "ordering": "at"}, "reject"),
        ({"record_key": "id", "changes": {"preset": "kafka"}}, "delete"),
        ({"record_key": "id", "changes": {"preset": "debezium"}}, "leave_out"),
    ],
    ids=["append", "merge", "kafka", "debezium"],
)
def test_what_a_tombstone_does_follows_from_the_table(table: dict[str, object], expected: str) -> None:
    config = TableConfig.model_validate({"path": "orders/**", "format": "json", **table})
    assert build_log_options(config).tombstones == expected


def test_a_time_that_is_no_time_in_milliseconds_is_written_as_its_number() -> None:
    record = LogRecord(100, 1_795_780_800_123_456, None, b'{"n": 1}')
    assert record.time is None
    (text,) = read(build(record), log=LogOptions(("timestamp",))).texts
    assert json.loads(text) == {"_kafka_timestamp": 1_795_780_800_123_456, "n": 1}
