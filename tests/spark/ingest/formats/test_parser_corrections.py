"""Values that Spark's parsers change or drop without an error go to quarantine."""

import math
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest

from tests.fixtures.folder_lake import FolderLake, sort_rows

SEEN = datetime(2026, 5, 2, 10)

# What a table is configured as, its objects, columns looked at, rows expected, and what is in quarantine.
Case = tuple[dict[str, Any], dict[str, str | bytes], str, list[tuple[Any, ...]], list[tuple[Any, ...]]]
CASES: dict[str, Case] = {
    "huge_numbers_in_texts": (
        {"format": "json"},
        {
            "a.json": '{"v": "x", "at": {"w": "y"}}\n{"v": 1e400}\n{"at": {"w": [-1e400]}}\n'
            '{"v": "Infinity 1e400"}\n{"v": 1e30}\n'
        },
        "v",
        [("1.0E30",), ("Infinity 1e400",), ("x",)],
        [("unparsable", 2, '{"v": 1e400}'), ("unparsable", 3, '{"at": {"w": [-1e400]}}')],
    ),
    "rounded_numbers": (
        {"format": "json", "schema_hints": "f float"},
        {
            "a.json": '{"v": 1.5, "f": 16777216}\n{"v": 9007199254740993}\n{"v": 100000000000000000000}\n'
            '{"v": 9007199254740992}\n{"f": 16777217}\n{"v": 0.12345678901234567890}\n'
        },
        "v f",
        [(0.12345678901234568, None), (1.5, 16777216.0), (9007199254740992.0, None), (1e20, None)],
        [("unparsable", 2, '{"v": 9007199254740993}'), ("unparsable", 5, '{"f": 16777217}')],
    ),
    "rounded_numbers_in_csv": (
        {"format": "csv", "options": {"header": "true"}},
        {"a.csv": "id,v\n1,1.5\n2,9007199254740993\n3,100000000000000000000\n4,0.12345678901234567890\n"},
        "id v",
        [(1, 1.5), (3, 1e20), (4, 0.12345678901234568)],
        [("unparsable", 3, "2,9007199254740993")],
    ),
    "cut_decimals_in_csv": (
        {"format": "csv", "schema": "id int, v decimal(10,2), w decimal(20,0)"},
        {"a.csv": "id,v,w\n1,1.10,1\n2,1.105,1\n3,1,1.5\n4,1,2.0\n5,15e-3,\n"},
        "id v w",
        [(1, Decimal("1.10"), Decimal(1)), (4, Decimal("1.00"), Decimal(2))],
        [("unparsable", 3, "2,1.105,1"), ("unparsable", 4, "3,1,1.5"), ("unparsable", 6, "5,15e-3,")],
    ),
    "cut_decimals": (
        {"format": "json", "schema": "v decimal(10,2)"},
        {"a.json": '{"v": 1.10}\n{"v": "1.100"}\n{"v": 1.105}\n{"v": "1.005"}\n{"v": 1e2}\n{"v": 15e-3}\n'},
        "v",
        [(Decimal("1.10"),), (Decimal("1.10"),), (Decimal("100.00"),)],
        [
            ("unparsable", n, text)
            for n, text in ((3, '{"v": 1.105}'), (4, '{"v": "1.005"}'), (6, '{"v": 15e-3}'))
        ],
    ),
    "hinted_numbers": (
        {"format": "json", "schema_hints": "v decimal(10,2), f double, t timestamp"},
        {
            "a.json": '{"v": 1.5, "t": 1777716000}\n{"v": "2.5", "t": 1777716000000}\n{"v": 1e2, "f": 1e17}\n'
            '{"f": "Infinity", "t": 1777716000}\n{"f": "Infinity", "v": 1e2}\n{"v": "x", "t": 1777716000}\n'
        },
        "v f t",
        [
            *((None, math.inf, SEEN), (Decimal("1.50"), None, SEEN), (Decimal("2.50"), None, SEEN)),
            *((Decimal("100.00"), 1e17, None), (Decimal("100.00"), math.inf, None)),
        ],
        [("unparsable", 6, '{"v": "x", "t": 1777716000}')],
    ),
    "years": (
        {"format": "json", "schema_hints": "t timestamp"},
        {
            "a.json": '{"t": "2024"}\n{"t": "86400"}\n{"t": "2026-05-02T10"}\n{"t": "1777716000"}\n{"t": 0}\n'
            '{"t": -9223372036854}\n'
        },
        "t",
        [(datetime(1677, 9, 21, 0, 12, 43, 146000),), (datetime(1970, 1, 1),), (SEEN,), (SEEN,)],
        [("unparsable", 1, '{"t": "2024"}'), ("unparsable", 2, '{"t": "86400"}')],
    ),
    "years_in_csv": (
        {"format": "csv", "schema": "id int, t timestamp, d date"},
        {"a.csv": "id,t,d\n1,2024,\n2,,2024\n3,,2024-01\n4,2024-01-01 00:00:00,2024-01-01\n5,1777716000,\n"},
        "id t d",
        [(4, datetime(2024, 1, 1), date(2024, 1, 1)), (5, SEEN, None)],
        [("unparsable", 2, "1,2024,"), ("unparsable", 3, "2,,2024"), ("unparsable", 4, "3,,2024-01")],
    ),
    "digits_with_a_format": (
        {
            "format": "json",
            "options": {"timestampFormat": "yyyyMMddHHmmss", "timeZone": "Europe/Paris"},
            "schema_hints": "t timestamp, f double",
        },
        {"a.json": '{"t": "20260502120000"}\n{"t": "20260502120000", "f": 1e17}\n{"t": 20260502120000}\n'},
        "t f",
        [(SEEN, None), (SEEN, None), (SEEN, 1e17)],
        [],
    ),
    "times_of_day": (
        {"format": "json", "schema_hints": "t timestamp, d date", "schema_evolution_mode": "none"},
        {
            "a.json": '{"t": "2026-05-02T10:00:00Z", "d": "2024-02-28"}\n{"t": "10:00:00"}\n'
            '{"t": "2024-01"}\n{"d": "2024-02-30"}\n{"d": "30/01/2024"}\n{"d": "2024-02-28T10:00:00"}\n'
            '{"d": "2024"}\n{"d": "2024-2-8"}\n{"d": "2024-02-28T00:00:00Z"}\n'
        },
        "t d",
        [(None, date(2024, 2, 8)), (None, date(2024, 2, 28)), (SEEN, date(2024, 2, 28))],
        [
            ("unparsable", 2, '{"t": "10:00:00"}'),
            ("unparsable", 3, '{"t": "2024-01"}'),
            ("unparsable", 4, '{"d": "2024-02-30"}'),
            ("unparsable", 5, '{"d": "30/01/2024"}'),
            ("unparsable", 6, '{"d": "2024-02-28T10:00:00"}'),
            ("unparsable", 7, '{"d": "2024"}'),
        ],
    ),
    "times_of_day_in_csv": (
        {"format": "csv", "options": {"header": "true"}, "schema_hints": "t timestamp, d date"},
        {"a.csv": "id,t,d\n1,2026-05-02 10:00:00,2024-02-28\n2,10:00,\n3,,2024-02-30\n4,,2024-02-28 1\n"},
        "id t d",
        [(1, SEEN, date(2024, 2, 28))],
        [
            ("unparsable", 3, "2,10:00,"),
            ("unparsable", 4, "3,,2024-02-30"),
            ("unparsable", 5, "4,,2024-02-28 1"),
        ],
    ),
    "more_behind_a_document": (
        {"format": "json"},
        {
            "a.json": '{"id": 1},\n{"id": 2} trailing\n{"id": 3}{"id": \n{"id": 4} x}\n'
            '{"id": 5} // comment\n{"id": 6}]\n'
        },
        "id",
        [(1,), (5,)],
        [
            ("unparsable", 2, '{"id": 2} trailing'),
            ("unparsable", 3, '{"id": 3}{"id": '),
            ("unparsable", 4, '{"id": 4} x}'),
            ("unparsable", 6, '{"id": 6}]'),
        ],
    ),
    "more_behind_a_document_in_splits": (
        {"format": "json", "large_file_bytes": "1"},
        {"a.json": '{"id": 1},\n{"id": 2} trailing\n{"id": 5} // comment\n{"id": \n'},
        "id",
        [(1,), (5,)],
        [("unparsable", 2, '{"id": 2} trailing'), ("unparsable", 4, '{"id": ')],
    ),
}


@pytest.fixture(scope="module")
def lake(spark, tmp_path_factory) -> FolderLake:
    tables = {name: {"path": f"{name}/**", **table} for name, (table, *_) in CASES.items()}
    lake = FolderLake(spark, tmp_path_factory.mktemp("parsers"), **tables)
    for name, (_, objects, *_) in CASES.items():
        lake.put_many((f"{name}/{key}", data) for key, data in objects.items())
    return lake


@pytest.mark.parametrize("name", CASES)
def test_values_arrive_as_written_or_not_at_all(lake, name):
    _, _, columns, rows, bad = CASES[name]
    lake.ingest(name)
    assert lake.rows(name, *columns.split()) == sort_rows(rows)
    assert lake.quarantine_of(name, "reason", "line", "payload") == sorted(bad)
