"""What is a record, what is none, and which line goes to quarantine for what reason."""

import json
from datetime import date
from typing import Any

import pyarrow as pa
import pytest

from headwater.errors import ConfigError
from headwater.ingest.formats.record_reasons import MALFORMED_DETAIL
from headwater.ingest.reading.object_reader import MAX_BAD_CHARS
from headwater.lake.layout import table_path
from headwater.lake.sql.engine import run_query
from tests.fixtures.folder_lake import FolderLake
from tests.fixtures.written_files import write_parquet

JSON_SCHEMA = "n bigint, s string, deep struct<x: int>, list array<int>"
JSON_LINES = {
    # line -> its row, or the reason it is no row
    '{"n": 1, "s": "a"}': (1, "a", None, None),
    '{"n": 2, "unknown": true}': (2, None, None, None),
    '{"s": "no number"}': (None, "no number", None, None),
    "{}": (None, None, None, None),
    '{"n": null, "s": null}': (None, None, None, None),
    '{"n": 3, "s": 4}': (3, "4", None, None),
    '{"n": 4, "deep": {"x": 1}, "list": [1, 2]}': (4, None, (1,), [1, 2]),
    '{"n": "5"}': "unparsable",
    '{"n": 6.5}': "unparsable",
    '{"n": 99999999999999999999}': "unparsable",
    '{"n": 7, "deep": 1}': "unparsable",
    '{"n": 8, "list": ["x"]}': "unparsable",
    '{"n": 9': "unparsable",
    "10": "unparsable",
    '"word"': "unparsable",
    "null": "unparsable",
    "word": "unparsable",
}
CSV_LINES = {
    "1,a,1.5": (1, "a", 1.5),
    "2,,": (2, None, None),
    '3,"a,b",2': (3, "a,b", 2.0),
    "4,a": "unparsable",
    "5": "unparsable",
    "6,a,1.5,more": "unparsable",
    "x,a,1.5": "unparsable",
    "7,a,word": "unparsable",
    ',"",': (None, None, None),
}
TABLES: dict[str, dict[str, Any]] = {
    "json": {"path": "json/*", "format": "json", "schema": JSON_SCHEMA},
    "arrays": {"path": "arrays/*", "format": "json", "schema": "n bigint"},
    "csv": {"path": "csv/*", "format": "csv", "schema": "n bigint, s string, d double"},
    "named": {"path": "named/*", "format": "csv", "schema": "n bigint, s string, d date"},
    "sold": {
        "path": "sold/*",
        "format": "json",
        "schema": "id string, n bigint",
        "transform": [{"sql": "select _headwater_source, cast(id as bigint) as id, n from input"}],
    },
    "bytes": {"path": "bytes/*", "format": "json", "schema": "n bigint, s string"},
    "csv_bytes": {"path": "bytes_csv/*", "format": "csv", "schema": "s string"},
    "keyed": {
        "path": "keyed/*",
        "format": "json",
        "schema": "id string, ts bigint, s string",
        "record_key": "id",
        "ordering": "ts",
    },
    "two_keys": {"path": "two/*", "format": "json", "schema": "a string, b bigint", "record_key": ["a", "b"]},
    "keyed_parquet": {
        "path": "kp/*",
        "format": "parquet",
        "schema": "id bigint, s string",
        "record_key": "id",
    },
}


@pytest.fixture(scope="module")
def lake(spark, tmp_path_factory) -> FolderLake:
    lake = FolderLake(spark, tmp_path_factory.mktemp("bad"), **TABLES)
    lake.put_many(
        [
            ("json/a", "\n".join(JSON_LINES)),
            (
                "arrays/a",
                '{"n": 1}\n[{"n": 2}, {"n": "x"}, {"n": 3}]\n[]\n{"n": 4}{"n": 5} {"n": 6}\n[{"n": 7},\n',
            ),
            ("csv/a", "\n".join(CSV_LINES)),
            ("named/a.csv", "n,s,d\n1,a,2026-02-28\n2,b,2026-02-30\n3,c\n"),
            ("named/b.csv", "s,n,x\na,1,0\nb,word,0\nc\n"),
            ("named/c.csv", "n,s,d\nsecret,a,2026-02-28\n"),
            ("sold/a", '{"id": "1", "n": 1}\n{"id": "x", "n": "two"}\n'),
            ("bytes/a", b'{"n": 1, "s": "a\xffb"}\n{"n": \xfe2}\n{"n": 3, "s": "\xc3\xbc"}\n'),
            ("bytes_csv/a", b"ok\na\xff\xfeb\n\xc3\xbc\n"),
            (
                "keyed/a",
                '{"id": "a", "ts": 1}\n{"ts": 2, "s": "none"}\n{"id": null, "ts": 3}\n{"id": "", "ts": 4}\n'
                '{"id": "b", "s": "never ordered"}\n{"id": "b", "ts": 1, "s": "ordered"}\n',
            ),
            ("two/a", '{"a": "x", "b": 1}\n{"a": "x"}\n{"b": 2}\n{"c": 3}\n'),
            ("kp/a", write_parquet({"id": [1, None, 2], "s": ["one", "none", "two"]})),
        ]
    )
    return lake


@pytest.mark.parametrize(("name", "lines"), [("json", JSON_LINES), ("csv", CSV_LINES)])
def test_each_line_is_a_row_or_in_quarantine_with_number_and_text(lake, name, lines):
    (batch,) = lake.ingest(name)
    numbered = list(enumerate(lines.items(), 1))
    good = {number: row for number, (_, row) in numbered if row != "unparsable"}
    bad = [("unparsable", number, line) for number, (line, row) in numbered if row == "unparsable"]
    columns = [column for column in lake.columns(name) if not column.startswith("_")]
    assert {row[0]: row[1:] for row in lake.rows(name, "_headwater_row", *columns)} == good
    assert lake.quarantine_of(name, "reason", "line", "payload") == bad
    assert (batch.rows, batch.bad_rows) == (len(good), len(bad))


def test_the_detail_names_the_field_that_does_not_fit(lake):
    lake.ingest("json")
    details = dict(lake.quarantine_of("json", "payload", "detail"))
    fit = "does not fit the table's columns"
    assert details['{"n": "5"}'] == f'line 8 {fit}: n is "5", and its column has numbers (long)'
    assert details['{"n": 7, "deep": 1}'] == f"line 11 {fit}: deep is 1, and its column is a struct"
    in_list = 'list[0] is "x", and its column has numbers (integer)'
    assert details['{"n": 8, "list": ["x"]}'] == f"line 12 {fit}: {in_list}"
    assert details['{"n": 9'] == f"line 13 {fit}: its JSON ends too early"
    assert details["word"] == f"line 17 {fit}"


def test_the_detail_names_the_field_of_a_csv_record(lake):
    lake.ingest("csv")
    details, fit = dict(lake.quarantine_of("csv", "payload", "detail")), "does not fit the table's columns"
    assert details["4,a"] == f"line 4 {fit}: it has 2 fields, and the table 3 columns"
    assert details["6,a,1.5,more"] == f"line 6 {fit}: it has 4 fields, and the table 3 columns"
    assert details["x,a,1.5"] == f'line 7 {fit}: n is "x", and its column has numbers (long)'
    assert details["7,a,word"] == f'line 8 {fit}: d is "word", and its column has numbers (double)'


def test_the_detail_names_the_field_whatever_the_order_of_the_header(lake):
    lake.ingest("named")
    found, fit = lake.quarantine_of("named", "key", "line", "detail"), "does not fit the table's columns"
    assert {line: detail for _, line, detail in found}[None] == (
        f"none of its 1 records can become a row: the first {fit}: n has another value, and its column has "
        "numbers (long)"
    )
    assert sorted(item for item in found if item[1] is not None) == [
        ("named/a.csv", 3, f'line 3 {fit}: d is "2026-02-30", and its column has dates'),
        ("named/a.csv", 4, f"line 4 {fit}: it has 2 fields, and the table 3 columns"),
        ("named/b.csv", 3, f'line 3 {fit}: n is "word", and its column has numbers (long)'),
        ("named/b.csv", 4, f"line 4 {fit}: {MALFORMED_DETAIL}"),
    ]


def test_the_detail_concerns_the_record_as_it_was_read_not_its_transform(lake):
    lake.ingest("sold")
    assert lake.quarantine_of("sold", "detail") == [
        ('line 2 does not fit the table\'s columns: n is "two", and its column has numbers (long)',)
    ]


def test_line_of_several_documents_or_an_array_stands_for_all_of_them(lake):
    lake.ingest("arrays")
    assert lake.rows("arrays", "n") == [(n,) for n in range(1, 7)]
    assert lake.quarantine_of("arrays", "payload") == [('[{"n": 7},',), ('{"n": "x"}',)]


def test_bytes_that_are_no_utf_8_spoil_their_line_only(lake):
    lake.ingest("bytes")
    assert lake.rows("bytes", "n", "s") == [(3, "ü")]
    assert lake.quarantine_of("bytes", "reason", "line") == [("undecodable", 1), ("undecodable", 2)]
    lake.ingest("csv_bytes")
    assert lake.rows("csv_bytes", "s") == [("ok",), ("ü",)]
    assert lake.quarantine_of("csv_bytes", "reason") == [("undecodable",)]


def test_record_without_key_or_ordering_is_quarantined_and_the_others_land(lake):
    (batch,) = lake.ingest("keyed")
    assert lake.rows("keyed", "id", "s") == [("a", None), ("b", "ordered")]
    assert lake.quarantine_of("keyed", "line", "reason") == [
        (2, "missing_key"),
        (3, "missing_key"),
        (4, "missing_key"),
        (5, "missing_ordering"),
    ]
    assert (batch.rows, batch.bad_rows) == (2, 4)


def test_record_with_a_part_of_its_key_is_a_row(lake):
    lake.ingest("two_keys")
    assert lake.rows("two_keys", "a", "b") == [(None, 2), ("x", None), ("x", 1)]
    assert lake.quarantine_of("two_keys", "reason", "line") == [("missing_key", 4)]


def test_record_whose_key_hudi_writes_as_another_ones_is_quarantined(build):
    lake = build(t={"path": "*.json", "record_key": ["a", "b"]})
    odd = [("x,b:y", "z"), ("__null__", "q"), ("q", "__empty__")]
    keys = [*odd, ("x", "y,b:z"), (None, "q"), ("q", ""), ("x,c:", "y")]
    lake.put("1.json", "".join(json.dumps({"a": a, "b": b}) + "\n" for a, b in keys))
    lake.ingest("t")
    assert lake.rows("t", "a", "b") == [(None, "q"), ("q", ""), ("x", "y,b:z"), ("x,c:", "y")]
    assert lake.quarantine("line", "reason") == [(n, "ambiguous_key") for n in (1, 2, 3)]


@pytest.mark.slow
def test_record_whose_partition_is_not_read_back_is_quarantined(build):
    good = ["a b", "a=b", "a%b", "ünï", "A", "a", ".x", "a+b", "[x]", "c/d", "a#b", None]
    bad = ["", "__HIVE_DEFAULT_PARTITION__"]
    good_if_encoded = ["a\nb", "a%2Fb", "a/../b", "a//b", "/a", "a/"]
    tables = {"plain": (good, [*bad, *good_if_encoded]), "encoded": ([*good, *good_if_encoded], bad)}
    lake = build(
        **{
            name: {"path": "*.json", "partition": "p", "url_encode_partitions": name == "encoded"}
            for name in tables
        }
    )
    lake.put("1.json", "".join(json.dumps({"p": p}) + "\n" for p in [*good, *bad, *good_if_encoded]))
    for name, (its_good, its_bad) in tables.items():
        lake.ingest(name)
        wanted = sorted(p or "" for p in its_good)
        assert sorted(p or "" for (p,) in lake.rows(name, "p")) == wanted
        rows = run_query("select p from t", {"t": table_path(lake.lake, name)}).rows
        assert sorted(str(row["p"] or "") for row in rows) == wanted
        assert lake.quarantine_of(name, "reason") == [("bad_partition",)] * len(its_bad)


def test_dates_that_no_calendar_has_are_quarantined(build):
    lake = build(t={"path": "*.parquet"})
    days = pa.array([0, 2**31 - 1, -(2**31), 2_932_896, -719_162], pa.int32()).cast(pa.date32())
    lake.put("1.parquet", write_parquet({"id": range(5), "day": days}))
    lake.ingest("t")
    found = [(0, date(1970, 1, 1)), (3, date(9999, 12, 31)), (4, date(1, 1, 1))]
    assert lake.rows("t", "id", "day") == found
    assert lake.quarantine("line", "reason") == [(2, "out_of_range"), (3, "out_of_range")]


def test_new_table_is_not_partitioned_by_a_time(build):
    lake = build(t={"path": "*.json", "partition": "at", "schema_hints": "at timestamp"})
    lake.put("1.json", '{"at": "2026-05-02"}\n')
    with pytest.raises(ConfigError, match="partition: column 'at' is a timestamp"):
        lake.ingest("t")
    lake.change("t", schema_hints="at string")
    lake.ingest("t")
    assert lake.rows("t", "at") == [("2026-05-02",)]


def test_row_of_a_typed_format_without_a_key_is_quarantined(lake):
    lake.ingest("keyed_parquet")
    assert lake.rows("keyed_parquet", "id", "s") == [(1, "one"), (2, "two")]
    assert lake.quarantine_of("keyed_parquet", "reason", "line", "payload") == [
        ("missing_key", 2, '{"s":"none"}')
    ]


def test_record_as_large_as_its_object_is_quarantined_and_the_others_widen_their_column(build):
    lake = build(t={"path": "*.json"})
    lake.put("1.json", '{"n": 1}\n')
    lake.ingest("t")
    large = '{"n": "' + "x" * (MAX_BAD_CHARS + 1) + '"}'
    lake.put("2.json", f'{{"n": 2.5}}\n{large}\n')
    lake.ingest("t")
    assert lake.rows("t", "n") == [(1.0,), (2.5,)]
    assert lake.quarantine("level", "reason", "key", "line") == [("record", "unparsable", "2.json", 2)]


@pytest.mark.parametrize(
    "columns",
    [
        {},
        pytest.param({"schema": "id bigint, s string"}, marks=pytest.mark.slow),
        pytest.param({"record_key": "id"}, marks=pytest.mark.slow),
    ],
)
def test_each_other_dialect_gets_a_sentence_with_the_option_that_reads_it(spark, tmp_path, columns):
    tables: dict[str, dict[str, Any]] = {
        "pretty": {"path": "pretty/*", "format": "json"},
        "array": {"path": "array/*", "format": "json"},
        "semicolons": {"path": "semicolons/*", "format": "csv", "options": {"header": True}},
    }
    lake = FolderLake(spark, tmp_path, **{name: {**one, **columns} for name, one in tables.items()})
    records = [{"id": n, "s": "x"} for n in range(600)]
    texts = {
        "pretty": "\n".join(json.dumps(record, indent=2) for record in records),
        "array": json.dumps(records[:2], indent=2),
        "semicolons": "id;s\n1;a\n2;b,c\n",
    }
    lake.put_many([(f"{name}/a", text) for name, text in texts.items()])
    reported = {}
    for name in tables:
        lake.ingest(name)
        ((reported[name],),) = lake.quarantine_of(name, "detail")
    assert "set `options: {multiLine: true}`" in reported["pretty"]
    assert "set `format: json_array`" in reported["array"]
    assert "set `options: {sep: ';'}`" in reported["semicolons"]
