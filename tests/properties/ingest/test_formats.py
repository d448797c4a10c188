"""Records come out of an object as they went in, whatever they hold; bytes never raise the unforeseen."""

import csv
import io
import json

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
from headwater.ingest.formats.csv_fields import CsvDialect
from headwater.ingest.formats.reader_options import ReaderOptions

TEXT = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
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
    st.binary() | TEXT.map(str.encode) | st.text(st.sampled_from('{}[]",:<>/a1\n\\ ')).map(str.encode),
    st.sampled_from(FORMAT_NAMES),
    st.sampled_from(["", ".gz", ".bz2", ".zst", ".zip", ".tar", ".tgz"]),
    st.booleans(),
)
def test_any_bytes_give_rows_or_an_objects_error(data: bytes, name: str, suffix: str, flag: bool) -> None:
    options = ReaderOptions({"header": str(flag), "multiLine": str(flag), "rowTag": "a"})
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
