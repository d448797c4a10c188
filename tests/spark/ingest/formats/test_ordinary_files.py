"""Files as others write them: their values arrive as they are, or the record goes to quarantine."""

import csv
import io
from datetime import datetime
from typing import Any

import pytest

from headwater.errors import ConfigError
from tests.fixtures.folder_lake import FolderLake

QUOTED = [
    ("1", 'say "hi"', "x"),
    ("2", 'q"q,', "two\r\nlines\n\nhere"),
    ("3", "C:\\", "'; -- \\\""),
    ("4", None, "z"),
]


def write_csv(rows: list[tuple[Any, ...]], **dialect: Any) -> str:
    sink = io.StringIO()
    csv.writer(sink, **dialect).writerows(rows)
    return sink.getvalue()


# What a table is configured as, its objects, columns looked at, rows expected, and what is in quarantine.
Case = tuple[dict[str, Any], dict[str, str | bytes], str, list[tuple[Any, ...]], list[tuple[Any, ...]]]
CASES: dict[str, Case] = {
    "quotes": (
        {"format": "csv", "schema": "id string, a string, b string"},
        {"plain.csv": write_csv([("id", "a", "b"), *QUOTED]), "bad.csv": '5,"never,x\n6,"a" b,x\n7,a,b\n'},
        "id a b",
        [*QUOTED, ("7", "a", "b")],
        [("unparsable", 1, '5,"never,x'), ("unparsable", 2, '6,"a" b,x')],
    ),
    "quotes_in_splits": (
        {"format": "csv", "schema": "id string, a string, b string", "large_file_bytes": "1"},
        {
            "lines.csv": write_csv([("b", "a", "id"), *(row[::-1] for row in QUOTED)]),
            "split.csv": "id,a,b\n" + '5,"a ""b""",x\n' * 2 + '6,"a" b,x\n7,"c",x\n',
            "latin.csv": "8,Über,x\n9,a,x\n".encode("latin-1"),
        },
        "id a b",
        [*QUOTED, ("5", 'a "b"', "x"), ("5", 'a "b"', "x"), ("7", "c", "x"), ("9", "a", "x")],
        [("undecodable", 1, "8,\ufffdber,x"), ("unparsable", 4, '6,"a" b,x')],
    ),
    "header_found": (
        {"format": "csv"},
        {
            "a.csv": "zip,n,at,phone\n01234,1,10:00,+49301\n90210,2,11:00,+49302\n",
            "b.csv": "n,zip\n3,00000\n",
        },
        "zip n at phone",
        [("00000", 3, None, None), ("01234", 1, "10:00", "+49301"), ("90210", 2, "11:00", "+49302")],
        [],
    ),
    "no_header_found": (
        {"format": "csv"},
        {"a.csv": "1,2026-05-02 10:00:00\n2,\n"},
        "_c0 _c1",
        [(1, datetime(2026, 5, 2, 10)), (2, None)],
        [],
    ),
    "spanish": (
        {"format": "csv", "options": {"sep": ";", "encoding": "windows-1252"}},
        {"a.csv": "id;precio\n1;3,50 €\n".encode("windows-1252")},
        "id precio",
        [(1, "3,50 €")],
        [],
    ),
    "not_utf_8": (
        {"format": "json"},
        {"a.json": b'{"id": 1, "name": "M\xfcller and others"}\n{"id": 2, "name": "\xc3\xbc"}\n'},
        "id name",
        [(2, "ü")],
        [("undecodable", 1, '{"id": 1, "name": "M\ufffdller and others"}')],
    ),
    "text_not_utf_8": (
        {"format": "text"},
        {"a.txt": b"a line that has \xff inside of it\n\xc3\xbc\n"},
        "value",
        [("ü",)],
        [("undecodable", 1, "a line that has \ufffd inside of it")],
    ),
    "repeated_names": (
        {"format": "json"},
        {
            "a.json": '{"id": 1, "v": 1, "v": 2}\n{"id": 2, "Name": "a", "name": "b"}\n'
            '{"id": 3, "NAME": "c", "v": 3}\n'
        },
        "id v Name",
        [(3, 3, "c")],
        [
            ("repeated_name", 1, '{"id": 1, "v": 1, "v": 2}'),
            ("repeated_name", 2, '{"id": 2, "Name": "a", "name": "b"}'),
        ],
    ),
    "zeros_in_xml": (
        {"format": "xml"},
        {"a.xml": "<all><ROW><zip>01234</zip><n>0</n></ROW><ROW><zip>1</zip><n>-7</n></ROW></all>"},
        "zip n",
        [("01234", 0), ("1", -7)],
        [],
    ),
}


@pytest.fixture(scope="module")
def lake(spark, tmp_path_factory) -> FolderLake:
    tables = {name: {"path": f"{name}/**", **table} for name, (table, *_) in CASES.items()}
    lake = FolderLake(spark, tmp_path_factory.mktemp("ordinary"), **tables)
    files = (
        (f"{name}/{key}", data) for name, (_, objects, *_) in CASES.items() for key, data in objects.items()
    )
    lake.put_many(files)
    return lake


@pytest.mark.parametrize("name", CASES)
def test_values_arrive_as_written_or_not_at_all(lake, name):
    _, _, columns, rows, bad = CASES[name]
    lake.ingest(name)
    assert lake.rows(name, *columns.split()) == sorted(
        rows, key=lambda row: [(v is not None, v) for v in row]
    )
    assert lake.quarantine_of(name, "reason", "line", "payload") == bad


def test_header_that_objects_do_not_show_is_asked_for(build):
    lake = build(t={"path": "*.csv"})
    lake.put("1.csv", "name,city\nAda,London\n")
    with pytest.raises(ConfigError, match="`header` is missing") as caught:
        lake.ingest("t")
    assert "options: {header: true}" in caught.value.hint
    lake.change("t", options={"header": True})
    lake.ingest("t")
    assert lake.rows("t", "name", "city") == [("Ada", "London")]
