"""Files as others write them: their values arrive as they are, or the record goes to quarantine."""

import csv
import io
import json
from datetime import datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from headwater.errors import ConfigError
from headwater.ingest import record_source
from headwater.ingest.columns.column_names import assign_old_names
from headwater.ingest.evolution.rescued_data import FILE_PATH
from headwater.lake.layout import table_path
from headwater.lake.snapshot_reader import SnapshotReader
from headwater.lake.sql.engine import run_query
from headwater.lake.table import Table
from tests.fixtures.folder_lake import FolderLake
from tests.fixtures.written_files import write_parquet

SEEN = datetime(2026, 5, 2, 10)
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
            "a.csv": "zip,n,at,phone\n01234,1,10:00,+49301\n90210,2,2024-01,+49302\n",
            "b.csv": "n,zip\n3,00000\n",
        },
        "zip n at phone",
        [("00000", 3, None, None), ("01234", 1, "10:00", "+49301"), ("90210", 2, "2024-01", "+49302")],
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
    "json_in_splits": (
        {
            "format": "json",
            "large_file_bytes": "1",
            "schema_evolution_mode": "none",
            "schema_hints": "t timestamp",
        },
        {
            "a.json": b'{"id": 1, "s": "M\xfcller", "v": 1.5, "t": 1}\n{"id": 2, "s": "x", "v": 1e400}\n'
            b'{"id": 3, "s": "y", "v": 2.5, "t": 1777716000000}\n',
            "b.json": '{"id": 4, "s": "z"}\n{"id": 5, "id": 6}\n',
            "c.json": '{"id": 7, "s": "cut \\ud83d"}\n{"id": 8, "s": "\\ud83d\\ude00"}\n',
        },
        "id s v t",
        [(3, "y", 2.5, SEEN), (4, "z", None, None), (8, "😀", None, None)],
        [
            ("repeated_name", 2, '{"id": 5, "id": 6}'),
            ("undecodable", 1, '{"id": 1, "s": "M\ufffdller", "v": 1.5, "t": 1}'),
            ("undecodable", 1, '{"id": 7, "s": "cut \\ud83d"}'),
            ("unparsable", 2, '{"id": 2, "s": "x", "v": 1e400}'),
        ],
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
    "epochs": (
        {"format": "json", "schema_hints": "t timestamp", "schema_evolution_mode": "none"},
        {
            "a.json": "".join(
                f'{{"id": {at}, "t": {number}}}\n'
                for at, number in enumerate(
                    (
                        *(1_777_716_000, 1_777_716_000_123, 1_777_716_000_123_456, 1_777_716_000_123_456_789),
                        *('"1777716000"', 1_777_716_000.5, '"2026-05-02T12:00:00+02:00"'),
                        *(10**21, '"9999-12-31"'),
                    )
                )
            )
        },
        "id t",
        [
            (0, SEEN),
            (1, SEEN.replace(microsecond=123_000)),
            (2, SEEN.replace(microsecond=123_456)),
            (3, SEEN.replace(microsecond=123_456)),
            (4, SEEN),
            (5, SEEN.replace(microsecond=500_000)),
            (6, SEEN),
            (8, datetime(9999, 12, 31)),
        ],
        [("unparsable", 8, '{"id": 7, "t": 1000000000000000000000}')],
    ),
    "declared_epochs": (
        {
            "format": "csv",
            "schema": "id int, t timestamp, u timestamp",
            "options": {"epochUnit": "milliseconds"},
        },
        {"a.csv": "1,86400000,2026-05-02 10:00:00\n2,2026-05-02 10:00:00,1777716000000\n3,x,1\n"},
        "id t u",
        [(1, datetime(1970, 1, 2), SEEN), (2, SEEN, SEEN)],
        [("unparsable", 3, "3,x,1")],
    ),
    "nested_epochs": (
        {"format": "json", "schema": "id int, at struct<t timestamp>"},
        {"a.json": '{"id": 1, "at": {"t": 1777716000}}\n{"id": 2, "at": {"t": 1777716000123}}\n'},
        "id at.t",
        [(1, SEEN)],
        [("out_of_range", 2, '{"id":2,"at":{"t":"+58303-07-31T16:02:03.000Z"}}')],
    ),
    "huge_numbers": (
        {"format": "json"},
        {
            "a.json": '{"v": 1.5, "at": {"w": [1.5]}, "s": "1e400"}\n{"v": 1e400}\n{"at": {"w": [-1e999]}}\n'
            '{"v": 1e300, "s": "Infinity 1e400"}\n'
        },
        "v s",
        [(1.5, "1e400"), (1e300, "Infinity 1e400")],
        [("unparsable", 2, '{"v": 1e400}'), ("unparsable", 3, '{"at": {"w": [-1e999]}}')],
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


def test_missing_csv_types_are_requested_with_the_line_to_add(build):
    lake = build(t={"path": "*.csv"})
    lake.put("1.csv", "name;city\nAda;London, UK\n")
    with pytest.raises(ConfigError, match="`sep` is not set") as caught:
        lake.ingest("t")
    assert 'options: {sep: ";"}' in caught.value.hint
    lake.change("t", options={"sep": ";"})
    with pytest.raises(ConfigError, match="`header` is not set") as caught:
        lake.ingest("t")
    assert "options: {header: true}" in caught.value.hint
    lake.change("t", options={"sep": ";", "header": True})
    lake.ingest("t")
    assert lake.rows("t", "name", "city") == [("Ada", "London, UK")]


@pytest.mark.slow
def test_number_column_takes_no_identifiers_that_come_later(build):
    lake = build(t={"path": "*.csv"}, rescuing={"path": "*.csv", "rescued_data_column": "rest"})
    lake.put("1.csv", "n,s,d\n1,a,1.5\n")
    for table in ("t", "rescuing"):
        lake.ingest(table)
    lake.put("2.csv", 'n,s,d\n01,a,2.5\n2,01,0.5\n"+3",b,1\n4,c,05\n5,d,2d\n')
    for table in ("t", "rescuing"):
        lake.ingest(table)
    assert lake.rows("t", "n", "s", "d") == [(1, "a", 1.5), (2, "01", 0.5)]
    assert lake.quarantine_of("t", "payload") == [('"+3",b,1',), ("01,a,2.5",), ("4,c,05",), ("5,d,2d",)]
    rescued = [json.loads(rest) for (rest,) in lake.rows("rescuing", "rest") if rest]
    assert [{k: v for k, v in rest.items() if k != FILE_PATH} for rest in rescued] == [
        {"d": "05"},
        {"d": "2d"},
        {"n": "+3"},
        {"n": "01"},
    ]
    lake.change("t", schema_hints="n bigint, d double")
    lake.put("3.csv", "n,s,d\n07,z,08\n")
    lake.ingest("t")
    assert lake.rows("t", "n", "s", "d")[-1] == (7, "z", 8.0)


def test_odd_names_are_unique_kept_and_readable_by_both_engines(build):
    lake = build(t={"path": "*.json", "record_key": "grosse"})
    lake.put("1.json", '{"größe": 1, "a b": 1, "a_b": 2, "价格": 3, "at": {"x y": 4, "é": 5}}')
    lake.ingest("t")
    lake.put("2.json", '{"größe": 2, "a b": 10, "a_b": 20, "a-b": 30, "grosse": 40}')
    lake.ingest("t")
    columns = ("grosse", "a_b", "a_b_2", "u4ef7u683c", "a_b_3", "grosse_2")
    expected = [(1, 2, 1, 3, None, None), (2, 20, 10, None, 30, 40)]
    assert lake.rows("t", *columns) == expected
    reader = SnapshotReader(table_path(lake.lake, "t"))
    rows = reader.read([*columns, "at"]).sort_by("grosse").to_pylist()
    assert [tuple(row[name] for name in columns) for row in rows] == expected
    assert rows[0]["at"] == {"x_y": 4, "e": 5}
    path = table_path(lake.lake, "t")
    found = run_query("select a_b from t where grosse = 1", {"t": path})
    assert [dict(row) for row in found.rows] == [{"a_b": 2}]


def test_columns_of_an_older_lake_keep_their_names(build, monkeypatch):
    lake = build(t={"path": "*.json"})
    # What was written before names were kept with the columns.
    monkeypatch.setattr(record_source, "assign_names", lambda schema, stored=None: assign_old_names(schema))
    lake.put("1.json", '{"a b": 1, "größe": 1}')
    lake.ingest("t")
    metadata = Table(lake.app.spark, table_path(lake.lake, "t")).load_timeline().find_metadata("checkpoint")
    assert metadata is not None
    assert "headwater.name" in metadata["schema"]
    monkeypatch.undo()
    lake.put("2.json", '{"a b": 2, "a_b": 3, "größe": 2}')
    lake.ingest("t")
    assert lake.rows("t", "a_b", "a_b_2", "größe") == [(1, None, 1), (2, 3, 2)]


def write_odd_types() -> bytes:
    return write_parquet(
        pa.table(
            {
                "id": pa.array([1, 2], pa.uint64()),
                "day_time": pa.array([time(10, 30), None], pa.time64("us")),
                "took": pa.array([1_500, None], pa.duration("ms")),
                "half": pa.array([1.5, None], pa.float16()),
                "wide": pa.array([Decimal("9" * 45), None], pa.decimal256(45, 0)),
                "seen": pa.array([1_777_716_000_123_456_789, None], pa.timestamp("ns")),
                "Name": pa.array(["a", None], pa.large_string()),
                "name": pa.array(["b", None]).dictionary_encode(),
                "far": pa.array([0, 10**18 * 2], pa.timestamp("us", tz="UTC")),
            }
        )
    )


@pytest.mark.slow
def test_types_that_no_table_has_keep_their_values(build):
    tables = {"split": "1", "entire": "32MiB"}
    lake = build(**{name: {"path": "*.parquet", "large_file_bytes": size} for name, size in tables.items()})
    first = write_parquet(pa.table({"id": pa.array([0], pa.uint64())}))
    lake.put_many([("0.parquet", first), ("1.parquet", write_odd_types())])
    columns = ("id", "day_time", "took", "half", "wide", "seen", "Name", "name_7")
    for name in tables:
        lake.ingest(name)
        assert lake.rows(name, *columns) == [
            (Decimal(0), *[None] * 7),
            (
                *(Decimal(1), "10:30:00.000000", "PT1.500S", 1.5, "9" * 45),
                *(SEEN.replace(microsecond=123_456), "a", "b"),
            ),
        ], name
        assert lake.quarantine_of(name, "reason", "line") == [("out_of_range", 2)], name
