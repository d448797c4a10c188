"""Records come out of an object as they went in, whatever they hold; bytes never raise the unforeseen."""

import csv
import io
import json
from base64 import b64encode
from typing import Any

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from headwater.errors import ObjectError
from headwater.ingest.formats import (
    FORMAT_NAMES,
    ColumnsFormat,
    Lines,
    LinesFormat,
    ObjectData,
    Target,
    load_format,
    open_parts,
)
from headwater.ingest.formats.binary_records.record_schema import SCHEMA_OPTION, RecordSchema
from headwater.ingest.formats.csv_fields import CsvDialect
from headwater.ingest.formats.markers import MARKER
from headwater.ingest.formats.reader_options import ReaderOptions
from tests.fixtures.binary_records import SHOP, delimit, encode_avro, prefix

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
RECORD: dict[str, Any] = {"type": "record", "name": "r", "fields": [
    {"name": "n", "type": "long"}, {"name": "x", "type": "double"}, {"name": "t", "type": ["null", "string"]},
    {"name": "b", "type": "bytes"}, {"name": "l", "type": {"type": "array", "items": "int"}},
    {"name": "m", "type": {"type": "map", "values": "string"}},
]}  # fmt: skip
RECORDS = st.fixed_dictionaries(
    {
        **{"n": st.integers(-(2**63), 2**63 - 1), "x": st.floats(allow_nan=False), "t": st.none() | TEXT},
        **{
            "b": st.binary(),
            "l": st.lists(st.integers(-(2**31), 2**31 - 1)),
            "m": st.dictionaries(TEXT, TEXT),
        },
    }
)
SCHEMAS = {
    "avro_records": {SCHEMA_OPTION: RecordSchema("avro", json.dumps(RECORD), "r").to_option()},
    "protobuf": {
        SCHEMA_OPTION: RecordSchema(
            "protobuf", b64encode(SHOP.read_bytes()).decode(), "shop", "shop.Order"
        ).to_option()
    },
}
OBJECTS = st.dictionaries(TEXT, VALUES, max_size=4)
ENDS = st.sampled_from(["\n", "\r\n", "\r"])
CSV_RECORDS = st.text(st.sampled_from('ab,;"\\ \t|#é'), max_size=20)
DIALECTS = st.builds(
    CsvDialect,
    delimiter=st.sampled_from([",", "\t", "||", ";", " "]),
    quote=st.sampled_from(['"', "'", ""]),
    escape=st.sampled_from(["\\", '"', ""]),
    skip_leading_blanks=st.booleans(),
)


def read(name: str, text: str, options: dict[str, str] | None = None, columns: tuple[str, ...] = ()) -> Lines:
    found = load_format(name)
    assert isinstance(found, LinesFormat)
    source = ObjectData("k", text.encode())
    return found.read_lines(source, ReaderOptions(options or {}), Target(columns))


@given(st.lists(OBJECTS | st.sampled_from([None])), ENDS, st.booleans(), st.booleans())
@example([None, {"}{": "} {"}, {"n": "}{"}], "\n", True, False)
def test_json_lines_come_back_with_their_numbers(
    records: list[object], end: str, is_ascii: bool, ends_open: bool
) -> None:
    lines = ["" if record is None else json.dumps(record, ensure_ascii=is_ascii) for record in records]
    text = end.join(lines) + ("" if ends_open else end)

    found = read("json", text)

    expected = [(n, line) for n, line in enumerate(lines, 1) if line]
    assert list(zip(found.row_numbers, found.texts, strict=True)) == expected


@given(st.lists(VALUES), st.sampled_from([None, 0, 2]), st.booleans())
def test_elements_of_an_array_come_back_as_they_were_written(
    records: list[object], indent: int | None, is_ascii: bool
) -> None:
    texts = [json.dumps(record, indent=indent, ensure_ascii=is_ascii) for record in records]

    found = read("json_array", " [\n" + "\n , ".join(texts) + "\t]\r\n")

    assert list(found.texts) == texts
    assert list(found.row_numbers) == list(range(1, len(texts) + 1))


@given(CSV_RECORDS, DIALECTS)
def test_fields_put_together_are_the_record(record: str, dialect: CsvDialect) -> None:
    assert dialect.delimiter.join(dialect.split(record)) == record


@given(
    st.permutations(["a", "b", "c", "d"]),
    st.lists(st.lists(TEXT, min_size=4, max_size=4), min_size=1),
    st.sampled_from(["\n", "\r\n"]),
)
def test_csv_fields_follow_their_header(header: list[str], rows: list[list[str]], end: str) -> None:
    sink = io.StringIO()
    writer = csv.writer(sink, quoting=csv.QUOTE_ALL, lineterminator=end)
    writer.writerows([header, *rows])
    options = {"header": "true"}

    found = read("csv", sink.getvalue(), options, ("a", "b", "c"))

    parsed = [next(csv.reader(io.StringIO(text, newline=""))) for text in found.texts]
    assert parsed == [[row[header.index(name)] for name in "abc"] for row in rows]


@given(
    st.lists(RECORDS),
    st.sampled_from(["delimited", "length_prefixed"]),
    st.binary(max_size=12),
    st.integers(0),
)
def test_binary_records_come_back_whatever_follows_them(
    records: list[dict[str, Any]], framing: str, junk: bytes, cut: int
) -> None:
    write = delimit if framing == "delimited" else prefix
    texts = [write([encode_avro(RECORD, record)]) for record in records]
    data = b"".join(texts)
    # As an upload leaves it that is interrupted, or overwritten by another one.
    kept = cut % (len(data) + 1)
    complete = sum(sum(map(len, texts[: at + 1])) <= kept for at in range(len(texts)))
    source = ObjectData("k", data[:kept] + (junk if kept == len(data) else b""))
    found = load_format("avro_records")
    assert isinstance(found, LinesFormat)

    lines = found.read_lines(source, ReaderOptions({"framing": framing} | SCHEMAS["avro_records"]), Target())

    assert [json.loads(text) for text in lines.texts[:complete]] == [
        {**record, "b": b64encode(record["b"]).decode()} for record in records[:complete]
    ]
    assert kept == len(data) or all(text.startswith(MARKER) for text in lines.texts[complete:])


@given(
    st.binary() | TEXT.map(str.encode) | st.text(st.sampled_from('{}[]",:<>/a1\n\\ ')).map(str.encode),
    st.sampled_from(FORMAT_NAMES),
    st.sampled_from(["", ".gz", ".bz2", ".zst", ".zip", ".tar", ".tgz", ".7z"]),
    st.booleans(),
)
def test_any_bytes_give_rows_or_an_objects_error(data: bytes, name: str, suffix: str, flag: bool) -> None:
    given = {"header": str(flag), "multiLine": str(flag), "rowTag": "a"}
    options = ReaderOptions(given | SCHEMAS.get(name, {}))
    found = load_format(name)
    try:
        for part in open_parts(ObjectData(f"k{suffix}", data), name, options):
            if isinstance(found, ColumnsFormat):
                assert isinstance(found.read_table(part, options, 10**6), pa.Table)
            else:
                lines = found.read_lines(part, options, Target(("a", "b")))
                assert len(lines.row_numbers) == len(lines.texts) == len(set(lines.row_numbers))
    except ObjectError:
        pass
