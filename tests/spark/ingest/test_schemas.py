"""Reader options reach Spark's parsers; columns are declared, hinted, or inferred and kept."""

from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest

from headwater.errors import ConfigError
from headwater.ingest.columns.schema import parse_ddl
from tests.fixtures.configuration.ddl import BROKEN, GOOD
from tests.fixtures.folder_lake import FolderLake
from tests.fixtures.written_files import write_parquet

CSV = {
    "schema": "id bigint, name string, day date, at timestamp, price decimal(10,2)",
    "options": {
        "sep": ";",
        "quote": "'",
        "header": True,
        "nullValue": "NA",
        "dateFormat": "dd.MM.yyyy",
        "timestampFormat": "dd.MM.yyyy HH:mm",
    },
}
# What a table is configured as, its one object, the columns looked at and the rows expected in them.
CASES: dict[str, tuple[dict[str, Any], str | bytes, str, list[tuple[Any, ...]]]] = {
    "csv_dialect": (
        {"format": "csv", **CSV},
        "id;name;day;at;price\n1;'a;b';02.05.2026;02.05.2026 13:30;1.50\nNA;NA;NA;NA;NA\n",
        "id name day at price",
        [
            (1, "a;b", date(2026, 5, 2), datetime(2026, 5, 2, 13, 30), Decimal("1.50")),
            (None, None, None, None, None),
        ],
    ),
    "csv_positions": (
        {"format": "csv", "schema": "a int, b string"},
        "1,x\n2,y\n",
        "a b",
        [(1, "x"), (2, "y")],
    ),
    "csv_lines_in_quotes": (
        {"format": "csv", "options": {"header": True, "multiLine": True, "escape": '"'}},
        'id,text\n1,"two\nlines ""quoted"""\n2,one\n',
        "id text",
        [(1, 'two\nlines "quoted"'), (2, "one")],
    ),
    "csv_types_inferred": (
        {"format": "csv", "options": {"header": True}},
        "i,d,b,t,s\n1,1.5,true,2026-05-02 10:00:00,x\n3000000000,2,false,2026-05-02 10:00:01,\n",
        "i d b t s",
        [
            (1, 1.5, True, datetime(2026, 5, 2, 10), "x"),
            (3_000_000_000, 2.0, False, datetime(2026, 5, 2, 10, 0, 1), None),
        ],
    ),
    "json_document": (
        {"format": "json", "options": {"multiLine": True}},
        '[\n {"n": 1},\n {"n": 2}\n]',
        "n",
        [(1,), (2,)],
    ),
    "json_comments": (
        {"format": "json", "options": {"allowComments": True, "allowUnquotedFieldNames": True}},
        '{"n": 1} // first\n{n: 2}\n',
        "n",
        [(1,), (2,)],
    ),
    "json_as_strings": (
        {"format": "json", "options": {"primitivesAsString": True}},
        '{"n": 1, "f": 1.5, "b": true}\n',
        "n f b",
        [("1", "1.5", "true")],
    ),
    "json_times": (
        {
            "format": "json",
            "schema": "at timestamp, day date, amount decimal(20,4)",
            "options": {"timestampFormat": "yyyy/MM/dd HH:mm", "dateFormat": "yyyy/MM/dd"},
        },
        '{"at": "2026/05/02 13:30", "day": "2026/05/02", "amount": 1234567890123456.7891}\n',
        "at day amount",
        [(datetime(2026, 5, 2, 13, 30), date(2026, 5, 2), Decimal("1234567890123456.7891"))],
    ),
    "latin_1": (
        {"format": "csv", "options": {"header": True, "encoding": "ISO-8859-1"}},
        "name\nÜber\n".encode("latin-1"),
        "name",
        [("Über",)],
    ),
    "hinted": (
        {"format": "json", "schema_hints": "zip string, at timestamp, later double"},
        '{"zip": 8001, "at": "2026-05-02T10:00:00Z"}\n',
        "zip at later",
        [("8001", datetime(2026, 5, 2, 10), None)],
    ),
    "not_null_is_not_promised": (
        {"format": "parquet", "schema": "n bigint not null, s string"},
        write_parquet({"s": ["only this"]}),
        "n s",
        [(None, "only this")],
    ),
    "text_whole": (
        {"format": "text", "options": {"wholetext": True}},
        "a\nb\n",
        "value",
        [("a\nb\n",)],
    ),
    "xml_attributes": (
        {"format": "xml", "options": {"rowTag": "item", "attributePrefix": "at_"}},
        '<all><item id="1">one<sub>x</sub><sub>y</sub></item><item id="2"/></all>',
        "at_id _VALUE sub",
        [(1, "one", ["x", "y"]), (2, None, None)],
    ),
    "odd_column_names": (
        {"format": "csv", "options": {"header": True}},
        "Order ID,price (€),a.b,ok\n1,2.5,x,true\n",
        "Order_ID price____ a_b ok",
        [(1, 2.5, "x", True)],
    ),
    "names_in_two_cases": (
        {"format": "json", "schema": "id bigint, name string"},
        '{"id": 1, "ID": 2, "name": "a", "Name": "b"}\n',
        "id name",
        [(1, "a")],
    ),
    "column_also_in_path": (
        {"format": "json", "partition_columns": "day", "partition": "day"},
        '{"n": 1, "day": "from the file"}\n',
        "n day",
        [(1, "2026-05-02")],
    ),
}


@pytest.fixture(scope="module")
def lake(spark, tmp_path_factory) -> FolderLake:
    tables = {name: {"path": f"{name}/**", **table} for name, (table, *_) in CASES.items()}
    lake = FolderLake(spark, tmp_path_factory.mktemp("schemas"), **tables)
    lake.put_many((f"{name}/day=2026-05-02/object", data) for name, (_, data, *_) in CASES.items())
    return lake


@pytest.mark.parametrize("name", CASES)
def test_records_are_read_as_configured(lake, name):
    _, _, columns, rows = CASES[name]
    lake.ingest(name)
    assert lake.quarantine_of(name) == []
    found = lake.rows(name, "_headwater_row", *columns.split())
    assert [row[1:] for row in found] == rows


@pytest.mark.parametrize(
    ("schema", "key", "expected_message"),
    [
        ("id bigint", "schema", "name"),
    ],
)
def test_unusable_schema_is_reported_with_its_key(build, schema, key, expected_message):
    lake = build(t={"path": "*.json", "schema": schema, "record_key": "name"})
    lake.put("1.json", '{"id": 1}')
    with pytest.raises(ConfigError, match=expected_message) as caught:
        lake.ingest("t")
    assert "tables.t." in caught.value.message
    assert caught.value.hint


def test_columns_inferred_once_hold_after_a_restart_with_mode_none(build):
    lake = build(t={"path": "*.json", "schema_evolution_mode": "none"})
    lake.put("1.json", '{"a": 1, "b": "x"}')
    lake.ingest("t")
    lake.put("2.json", '{"b": 5, "c": true, "a": 2}\n{"a": "word", "b": "y"}')
    lake.ingest("t")
    assert lake.rows("t", "a", "b") == [(1, "x"), (2, "5")]
    assert [name for name in lake.columns("t") if not name.startswith("_")] == ["a", "b"]
    assert lake.quarantine("line", "payload") == [(2, '{"a": "word", "b": "y"}')]


def test_objects_without_columns_stay_in_quarantine_until_columns_are_known(build):
    lake = build(t={"path": "*.json", "record_key": "id"})
    lake.put("1.json", "{}\n")
    lake.ingest("t")
    lake.put("2.json", '{"id": 1}\n')
    lake.ingest("t")
    assert lake.rows("t", "id") == [(1,)]
    assert lake.quarantine("level", "key") == [("object", "1.json")]


@pytest.mark.parametrize(("texts", "is_good"), [(GOOD, True), (BROKEN, False)])
def test_ddl_is_accepted_by_spark(spark, texts, is_good):
    del spark
    disagreeing = [text for text in texts if is_list_of_columns(text) is not is_good]
    assert disagreeing == []


def is_list_of_columns(ddl):
    try:
        parse_ddl("t", "schema", ddl)
    except ConfigError:
        return False
    return True
