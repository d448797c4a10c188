"""Every format and compression, end to end: the rows of a table are the rows that were written."""

import gzip
import json
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from tests.fixtures.folder_lake import FolderLake
from tests.fixtures.written_files import (
    compress_all,
    write_avro,
    write_json_lines,
    write_orc,
    write_parquet,
    write_tar,
    write_xlsx,
    write_zip,
)

TIME = datetime(2026, 5, 2, 12, 30, 15, 123456)
ROWS: list[dict[str, Any]] = [
    {
        "id": 1,
        "name": "Ünïcode 漢字 😀",
        "price": 1.5,
        "ok": True,
        "tags": ["a", "b"],
        "at": {"x": 1, "y": "n"},
    },
    {
        "id": 9_007_199_254_740_993,
        "name": 'quote " , \\ back',
        "price": -0.25,
        "ok": False,
        "tags": [],
        "at": None,
    },
    {"id": None, "name": None, "price": None, "ok": None, "tags": None, "at": {"x": None, "y": ""}},
]
COLUMNS = ("id", "name", "price", "ok", "tags", "at")
FLAT = ("id", "name", "price", "ok")

ARROW = pa.schema(
    [
        ("id", pa.int64()),
        ("name", pa.string()),
        ("price", pa.float64()),
        ("ok", pa.bool_()),
        ("tags", pa.list_(pa.string())),
        ("at", pa.struct([("x", pa.int32()), ("y", pa.string())])),
        ("amount", pa.decimal128(12, 3)),
        ("seen", pa.timestamp("us", tz="UTC")),
        ("day", pa.date32()),
    ]
)
TYPED = [
    row | {"amount": amount, "seen": seen, "day": day}
    for row, amount, seen, day in zip(
        ROWS,
        [Decimal("123456789.125"), Decimal("-0.001"), None],
        [TIME, datetime(1969, 12, 31, 23, 59, 59), None],
        [date(2026, 5, 2), date(1900, 1, 1), None],
        strict=True,
    )
]
AVRO = {
    "type": "record",
    "name": "Row",
    "fields": [
        {"name": "id", "type": ["null", "long"]},
        {"name": "name", "type": ["null", "string"]},
        {"name": "price", "type": ["null", "double"]},
        {"name": "ok", "type": ["null", "boolean"]},
        {"name": "tags", "type": ["null", {"type": "array", "items": "string"}]},
        {
            "name": "at",
            "type": [
                "null",
                {
                    "type": "record",
                    "name": "At",
                    "fields": [
                        {"name": "x", "type": ["null", "int"]},
                        {"name": "y", "type": ["null", "string"]},
                    ],
                },
            ],
        },
        {
            "name": "amount",
            "type": ["null", {"type": "bytes", "logicalType": "decimal", "precision": 12, "scale": 3}],
        },
        {"name": "seen", "type": ["null", {"type": "long", "logicalType": "timestamp-micros"}]},
        {"name": "day", "type": ["null", {"type": "int", "logicalType": "date"}]},
    ],
}


def to_csv_field(value: Any) -> str:
    if value is None:
        return ""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    escaped = text.replace('"', '""')
    return f'"{escaped}"'


def write_csv(rows: list[dict[str, Any]]) -> str:
    lines = [",".join(to_csv_field(row[name]) for name in FLAT) for row in rows]
    return "\n".join([",".join(FLAT), *lines]) + "\n"


def write_xml(rows: list[dict[str, Any]]) -> str:
    def element(name: str, value: Any) -> str:
        text = str(value).lower() if isinstance(value, bool) else str(value)
        return "" if value is None else f"<{name}>{text}</{name}>"

    bodies = ("".join(element(name, row[name]) for name in FLAT) for row in rows)
    return "<all>" + "".join(f"<row>{body}</row>" for body in bodies) + "</all>"


ARROW_TABLE = pa.Table.from_pylist(TYPED, schema=ARROW)
AVRO_ROWS = [row | {"seen": row["seen"] and row["seen"].replace(tzinfo=timezone.utc)} for row in TYPED]
# Excel keeps 15 digits of a number.
SHEET = [{**{name: row[name] for name in FLAT}, "id": row["id"] and 10 * n} for n, row in enumerate(ROWS, 1)]
FILES: dict[str, dict[str, bytes]] = {
    "json": compress_all("a.json", write_json_lines(ROWS)),
    "json_array": compress_all("a.json", json.dumps(ROWS, indent=1)),
    "csv": compress_all("a.csv", write_csv(ROWS)),
    "xml": compress_all("a.xml", write_xml(ROWS)),
    "xlsx": compress_all("a.xlsx", write_xlsx(SHEET)),
    "text": compress_all("a.txt", "één\n\n 漢字 \nlast"),
    "binary": {"a.bin": bytes(range(256)), "b.gz": b"\x1f\x8b not really gzip"},
    "parquet": {
        **{
            f"{codec}.parquet": write_parquet(ARROW_TABLE, compression=codec)
            for codec in ("none", "snappy", "gzip", "zstd")
        },
        "outside.parquet.gz": compress_all("x", write_parquet(ARROW_TABLE))["x.gz"],
    },
    "orc": {
        f"{codec}.orc": write_orc(ARROW_TABLE, compression=codec)
        for codec in ("uncompressed", "zlib", "zstd")
    },
    "avro": {
        f"{codec}.avro": write_avro(AVRO, AVRO_ROWS, codec)
        for codec in ("null", "deflate", "snappy", "bzip2", "zstandard")
    },
}
for name, files in FILES.items():
    if name != "binary":
        first = {f"folder/{key}": data for key, data in list(files.items())[:1]}
        files |= {"packed.zip": write_zip(first), "packed.tar.gz": gzip.compress(write_tar(first))}
TABLES: dict[str, dict[str, Any]] = {name: {"path": f"{name}/**", "format": name} for name in FILES}
TABLES["csv"]["options"] = {"header": "true"}
TABLES["xml"]["options"] = {"rowTag": "row"}


@pytest.fixture(scope="module")
def lake(spark, tmp_path_factory) -> FolderLake:
    lake = FolderLake(spark, tmp_path_factory.mktemp("formats"), **TABLES)
    lake.put_many((f"{name}/{key}", data) for name, files in FILES.items() for key, data in files.items())
    return lake


def freeze(value: Any) -> Any:
    """Rows and lists of Spark as plain tuples."""
    return tuple(freeze(item) for item in value) if isinstance(value, list | tuple) else value


def read_by_object(lake: FolderLake, name: str, *columns: str) -> dict[str, list[tuple[Any, ...]]]:
    """Rows of each object of a table, in their order."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    for row in lake.rows(name, "_headwater_object", "_headwater_row", *columns):
        found.setdefault(row[0].rsplit("/", 1)[-1], []).append(freeze(row[2:]))
    return found


def expect_in_every_object(lake: FolderLake, name: str, rows: list[tuple[Any, ...]], *columns: str) -> None:
    lake.ingest(name)
    found = read_by_object(lake, name, *columns)
    assert found == dict.fromkeys(FILES[name], rows)


def pick(rows: list[dict[str, Any]], *columns: str) -> list[tuple[Any, ...]]:
    def value(item: Any) -> Any:
        return freeze(list(item.values())) if isinstance(item, dict) else freeze(item)

    return [tuple(value(row[name]) for name in columns) for row in rows]


@pytest.mark.parametrize("name", ["json", "json_array"])
def test_json_rows_arrive_with_nested_values(lake, name):
    expect_in_every_object(lake, name, pick(ROWS, *COLUMNS), *COLUMNS)


@pytest.mark.parametrize("name", ["csv", "xml"])
def test_rows_of_text_formats_arrive_typed(lake, name):
    expect_in_every_object(lake, name, pick(ROWS, *FLAT), *FLAT)


def test_rows_of_a_sheet_arrive_typed_without_blank_ones(lake):
    expect_in_every_object(lake, "xlsx", pick(SHEET[:2], *FLAT), *FLAT)
    assert {number for (number,) in lake.rows("xlsx", "_headwater_row")} == {2, 3}


def test_hints_turn_dates_of_a_sheet_into_dates_and_errors_into_bad_records(spark, tmp_path):
    lake = FolderLake(
        spark,
        tmp_path,
        plan={"path": "*.xlsx", "schema_hints": "day date, at timestamp, price double"},
    )
    rows: list[dict[str, Any]] = [
        {"id": 1, "day": date(2026, 5, 2), "at": datetime(2026, 5, 2, 10, 30), "price": 1},
        {"id": 2, "day": date(2026, 5, 3), "at": datetime(2026, 5, 3), "price": "#DIV/0!"},
        {"id": 3, "day": None, "at": datetime(2026, 5, 4), "price": 0.25},
        {"id": 4, "day": datetime(2026, 5, 5, 8, 15), "at": None, "price": None},
    ]
    lake.put("a.xlsx", write_xlsx(rows))
    lake.ingest("plan")
    assert lake.rows("plan", "id", "day", "at", "price") == [
        (1, date(2026, 5, 2), datetime(2026, 5, 2, 10, 30), 1.0),
        (3, None, datetime(2026, 5, 4), 0.25),
    ]
    assert lake.quarantine("table", "line") == [("plan", 3), ("plan", 5)], (
        "an error, and a time in a column of dates"
    )


@pytest.mark.parametrize("name", ["parquet", "orc", "avro"])
def test_typed_rows_arrive_unchanged(lake, name):
    columns = tuple(ARROW.names)
    expect_in_every_object(lake, name, pick(TYPED, *columns), *columns)


def test_text_lines_arrive_blank_ones_too(lake):
    expect_in_every_object(lake, "text", [("één",), ("",), (" 漢字 ",), ("last",)], "value")


def test_binary_object_is_one_row_never_decompressed(lake):
    lake.ingest("binary")
    rows = lake.rows("binary", "path", "length", "content")
    assert [(p.rsplit("/", 1)[-1], size, bytes(content)) for p, size, content in rows] == [
        (key, len(data), data) for key, data in FILES["binary"].items()
    ]
    (modified,) = {type(row[0]) for row in lake.rows("binary", "modificationTime")}
    assert modified is datetime
