"""Workbooks that Excel could have written, and those that it could not."""

import io
import json
import zipfile
from collections.abc import Mapping
from datetime import date, datetime, time, timedelta
from typing import Any

import openpyxl
import pytest

from headwater.errors import ConfigError, ObjectTooLargeError, ObjectUnreadableError
from headwater.ingest.formats import Lines, LinesFormat, ObjectData, Target, load_format, sample_lines, xlsx
from headwater.ingest.formats.reader_options import ReaderOptions

Cells = list[list[Any]]


def write(sheets: Mapping[str, Cells], hidden: tuple[str, ...] = ()) -> bytes:
    workbook = openpyxl.Workbook()
    workbook.remove(workbook.worksheets[0])
    for name, rows in sheets.items():
        sheet = workbook.create_sheet(name)
        if name in hidden:
            sheet.sheet_state = "hidden"
        for row in rows:
            sheet.append(row)
    sink = io.BytesIO()
    workbook.save(sink)
    return sink.getvalue()


def read(data: bytes, **options: str) -> Lines:
    found = load_format("xlsx")
    assert isinstance(found, LinesFormat)
    return found.read_lines(ObjectData("s3a://b/k.xlsx", data), ReaderOptions(options), Target())


def records(data: bytes, **options: str) -> dict[int, dict[str, Any]]:
    lines = read(data, **options)
    return {n: json.loads(text) for n, text in zip(lines.row_numbers, lines.texts, strict=True)}


def test_rows_have_the_numbers_of_the_sheet_and_values_of_their_types() -> None:
    day, moment = date(2026, 5, 2), datetime(2026, 5, 2, 10, 30, 0, 500_000)
    data = write(
        {
            "Data": [
                ["id", "name", "price", "ok", "day", "at", "of_day", "took"],
                [1, 'Zürich "a"', 1.5, True, day, moment, time(10, 30), timedelta(hours=30, seconds=1.5)],
                [],
                [10**15 - 1, "007", 2, False],
            ]
        }
    )
    assert records(data) == {
        2: {
            "id": 1,
            "name": 'Zürich "a"',
            "price": 1.5,
            "ok": True,
            "day": "2026-05-02",
            "at": "2026-05-02T10:30:00.500000",
            "of_day": "10:30:00",
            "took": "PT108001.5S",
        },
        4: {"id": 10**15 - 1, "name": "007", "price": 2, "ok": False},
    }


def test_first_visible_sheet_unless_one_is_named() -> None:
    data = write({"Old": [["a"], [1]], "New": [["a"], [2]], "Last": [["a"], [3]]}, hidden=("Old",))
    assert records(data) == {2: {"a": 2}}
    assert records(data, sheet="Old") == {2: {"a": 1}}
    with pytest.raises(ObjectUnreadableError, match="no sheet 'Other'") as caught:
        read(data, sheet="Other")
    assert "Old, New, Last" in caught.value.hint


def test_header_is_the_first_row_with_a_value_unless_it_is_named() -> None:
    data = write({"Data": [[], ["Report of May"], ["id", "n"], [1, 2]]})
    assert records(data, headerRow="3") == {4: {"id": 1, "n": 2}}
    assert records(data) == {3: {"Report of May": "id", "_c1": "n"}, 4: {"Report of May": 1, "_c1": 2}}
    with pytest.raises(ObjectUnreadableError, match="no header in row 1"):
        read(data, headerRow="1")
    for wrong in ("0", "x", "1.5"):
        with pytest.raises(ConfigError, match="headerRow"):
            read(data, headerRow=wrong)


def test_columns_without_a_name_and_below_no_header_keep_their_values() -> None:
    data = write({"Data": [["id", None, " n "], [1, 2, 3, 4]]})
    assert records(data) == {2: {"id": 1, "_c1": 2, "n": 3, "_c3": 4}}


@pytest.mark.parametrize("other", ["id ", "ID"])
def test_two_columns_of_one_name_are_refused(other: str) -> None:
    with pytest.raises(ObjectUnreadableError, match="two columns 'id'"):
        read(write({"Data": [["id", "n", other], [1, 2, 3]]}))


@pytest.mark.parametrize("rows", [[], [["id", "n"]]])
def test_sheet_without_rows_says_so(rows: Cells) -> None:
    found = read(write({"Data": rows}))
    assert (list(found.texts), found.note) == ([], "no rows below the header")


def test_errors_of_cells_stay_visible() -> None:
    workbook = openpyxl.Workbook()
    workbook.worksheets[0].append(["n"])
    workbook.worksheets[0].append(["#DIV/0!"])
    workbook.worksheets[0]["A2"].data_type = "e"
    sink = io.BytesIO()
    workbook.save(sink)
    assert records(sink.getvalue()) == {2: {"n": "#DIV/0!"}}


def test_rows_beyond_the_stored_dimensions_are_read() -> None:
    source, sink = zipfile.ZipFile(io.BytesIO(write({"Data": [["a"], [1], [2]]}))), io.BytesIO()
    with zipfile.ZipFile(sink, "w") as target:
        for name in source.namelist():
            target.writestr(
                name, source.read(name).replace(b'<dimension ref="A1:A3"', b'<dimension ref="A1"')
            )
    assert records(sink.getvalue()) == {2: {"a": 1}, 3: {"a": 2}}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "not an Excel workbook"),
        (b"id;n\n1;2\n", "not an Excel workbook"),
        (write({"Data": [["a"], [1]]})[:-40], "not an Excel workbook"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), "encrypted, or a workbook from before Excel 2007"),
    ],
)
def test_other_files_are_refused(data: bytes, said: str) -> None:
    with pytest.raises(ObjectUnreadableError, match=said):
        read(data)


def test_zip_without_a_workbook_is_refused() -> None:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        archive.writestr("a.txt", "text")
    with pytest.raises(ObjectUnreadableError, match="not an Excel workbook"):
        read(sink.getvalue())


def test_workbook_that_unpacks_to_too_much_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xlsx, "_MOST_BYTES", 1_000)
    with pytest.raises(ObjectTooLargeError, match="unpacks to"):
        read(write({"Data": [["a"], [1]]}))


def test_sample_ends_after_the_first_rows() -> None:
    data = write({"Data": [["n"], *([n] for n in range(10))]})
    assert sample_lines(data, "k.xlsx", "xlsx", {}, max_lines=2) == (None, ['{"n": 0}', '{"n": 1}'])
