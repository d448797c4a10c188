"""Columns follow the objects: new ones are added, rescued, refused or left out; types widen."""

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from headwater.errors import NewColumnsError
from headwater.ingest.runner import Runner
from tests.fixtures.written_files import write_avro, write_json_lines, write_orc, write_parquet

pytestmark = pytest.mark.slow

Rows = list[dict[str, Any]]
OLD: Rows = [{"id": 1, "n": 1}, {"id": 2, "n": 2}]
NEW: Rows = [{"id": 3, "n": 2.5, "note": "x", "at": {"city": "Bern"}}, {"id": 4, "n": 3.0, "note": "y"}]
AVRO_TYPES = {"id": "long", "n": "long", "note": "string", "city": "string"}


def write_csv(rows: Rows) -> str:
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = [",".join(str(row.get(name, "")) for name in names) for row in rows]
    return "\n".join([",".join(names), *lines]) + "\n"


def write_xml(rows: Rows) -> str:
    fields = ["".join(f"<{name}>{value}</{name}>" for name, value in row.items()) for row in rows]
    return "<all>" + "".join(f"<ROW>{text}</ROW>" for text in fields) + "</all>"


def write_avro_rows(rows: Rows) -> bytes:
    names = list(dict.fromkeys(name for row in rows for name in row))
    kinds = {
        name: "double" if any(isinstance(row.get(name), float) for row in rows) else AVRO_TYPES[name]
        for name in names
    }
    fields = [{"name": name, "type": ["null", kind]} for name, kind in kinds.items()]
    full = [{name: row.get(name) for name in names} for row in rows]
    return write_avro({"type": "record", "name": "r", "fields": fields}, full)


WRITERS: dict[str, Callable[[Rows], bytes | str]] = {
    "json": write_json_lines,
    "json_array": json.dumps,
    "csv": write_csv,
    "xml": write_xml,
    "parquet": lambda rows: write_parquet(pa.Table.from_pylist(rows)),
    "orc": lambda rows: write_orc(pa.Table.from_pylist(rows)),
    "avro": write_avro_rows,
}
# The others are read by the same code behind their parsers.
REST = [name for name in WRITERS if name not in ("json", "csv")]
QUICK_OR_LONG = [
    name if name in ("json", "csv", "parquet") else pytest.param(name, marks=pytest.mark.long)
    for name in WRITERS
]
FLAT_NEW = [{"id": 3, "n": 2.5, "note": "x", "city": "Bern"}, {"id": 4, "n": 3.5, "note": "y", "city": "Zug"}]


def build_table(file_format: str, **options: Any) -> dict[str, Any]:
    reader = {"options": {"header": True}} if file_format == "csv" else {}
    return {"path": "**/*", "format": file_format, **reader, **options}


@pytest.mark.parametrize(
    ("file_format", "table_type"),
    [
        *((name, "copy_on_write") for name in ("json", "csv")),
        ("parquet", "merge_on_read"),
        *(pytest.param(name, "copy_on_write", marks=pytest.mark.long) for name in REST),
        pytest.param("json", "merge_on_read", marks=pytest.mark.long),
    ],
)
def test_new_and_wider_columns_are_in_the_commit_that_brings_them(build, file_format, table_type):
    lake = build(t=build_table(file_format, mode="mirror", table_type=table_type))
    write = WRITERS[file_format]
    lake.put_many([("1", write(OLD)), ("2", write(OLD[:1]))])
    lake.ingest("t")

    # One object overwritten with more columns, one removed: rows of before and after in one commit.
    lake.write("1", write(FLAT_NEW))
    (lake.source / "2").unlink()
    lake.append(lake.capture("1"), lake.capture("2", "removed"))
    results = lake.ingest("t")
    lake.put("3", write(OLD[1:]))
    lake.ingest("t")

    assert [result.committed for result in results] == [True]
    assert lake.rows("t", "id", "n", "note", "city") == [
        (2, 2.0, None, None),
        (3, 2.5, "x", "Bern"),
        (4, 3.5, "y", "Zug"),
    ]
    assert lake.quarantine() == []


@pytest.mark.parametrize(
    "table_type", ["copy_on_write", pytest.param("merge_on_read", marks=pytest.mark.long)]
)
def test_merge_table_adds_nested_columns_and_keeps_existing(build, table_type):
    lake = build(
        t={"path": "*.json", "record_key": "id", "ordering": "v", "table_type": table_type, "operation": None}
    )
    lake.put("1.json", '{"id":1,"v":1,"a":{"x":1},"l":[{"p":1}]}\n{"id":2,"v":1,"a":{"x":2},"l":[{"p":1}]}')
    lake.ingest("t")
    lake.put("2.json", '{"id":2,"v":2,"a":{"x":2.5,"y":"new"},"l":[{"p":1,"q":true}],"tags":["a"]}')
    lake.ingest("t")
    lake.put("3.json", '{"id":1,"v":2,"a":{"x":7,"y":"later"}}')
    lake.ingest("t")
    assert lake.rows("t", "id", "a.x", "a.y", "l.q", "tags") == [
        (1, 7.0, "later", None, None),
        (2, 2.5, "new", [True], ["a"]),
    ]


def test_append_table_takes_types_that_change_within_one_batch_and_after_a_restart(build):
    lake = build(t={"path": "*.json"})
    lake.put("1.json", '{"a": 1}')
    lake.ingest("t")
    lake.put_many(
        [
            ("2.json", '{"b": 1}\n{"c": {"deep": [1]}}\n'),
            ("3.json", '{"a": 2.5, "b": "word"}\n{"a": "no number"}\n'),
            ("4.json", '{"a": 3, "b": null, "c": {"deep": [2.5], "other": {}}, "nothing": null}'),
        ]
    )
    lake.ingest("t")
    lake.put("5.json", '{"a": 4, "b": "z"}')
    lake.ingest("t")
    columns = [name for name in lake.columns("t") if not name.startswith("_")]
    assert columns == ["a", "b", "c"]
    assert lake.rows("t", "a", "b", "c.deep") == [
        (None, None, [1.0]),
        (None, "1", None),
        (1.0, None, None),
        (2.5, "word", None),
        (3.0, None, [2.5]),
        (4.0, "z", None),
    ]
    assert lake.quarantine("payload") == [('{"a": "no number"}',)]


@pytest.mark.parametrize("table_type", ["copy_on_write", "merge_on_read"])
def test_integers_that_a_double_would_round_keep_their_column(build, table_type):
    lake = build(t={"path": "*.json", "record_key": "id", "table_type": table_type})
    large, small = '{"id": 1, "n": 9007199254740993, "m": 9007199254740992}\n', '{"id": 2, "n": 0.5}\n'
    lake.ingest_each("t", large, small, '{"id": 3, "n": 3, "m": 1.5}\n{"id": 4, "n": 4.5}\n')
    assert lake.rows("t", "id", "n", "m") == [(1, 9007199254740993, 9007199254740992.0), (3, 3, 1.5)]
    assert lake.quarantine("key", "reason") == [("1.json", "unparsable"), ("2.json", "unparsable")]


def test_names_in_another_case_are_the_same_column(build):
    lake = build(
        j={"path": "*.json"}, c={"path": "*.csv", "options": {"header": True}}, p={"path": "*.parquet"}
    )
    lake.put_many([("1.json", '{"id": 1, "at": {"x": 1}}'), ("1.csv", "id\n1\n")])
    lake.put("1.parquet", write_parquet({"id": [1]}))
    for name in "jcp":
        lake.ingest(name)
    lake.put_many([("2.json", '{"ID": 2, "At": {"X": 2, "New": 3}}'), ("2.csv", "ID,Extra\n2,3\n")])
    lake.put("2.parquet", write_parquet({"Id": [2], "extra": [3]}))
    for name in "jcp":
        lake.ingest(name)
    assert lake.rows("j", "id", "at.x", "at.New") == [(1, 1, None), (2, 2, 3)]
    assert lake.rows("c", "id", "Extra") == [(1, None), (2, 3)]
    assert lake.rows("p", "id", "extra") == [(1, None), (2, 3)]


@pytest.mark.parametrize("file_format", QUICK_OR_LONG)
def test_values_without_column_are_rescued_with_object_address(build, file_format):
    lake = build(
        t=build_table(file_format, schema="id bigint, n bigint", schema_evolution_mode="rescue"),
    )
    write = WRITERS[file_format]
    lake.put("1", write(OLD))
    lake.ingest("t")
    lake.put("2", write(FLAT_NEW))
    lake.ingest("t")

    assert [name for name in lake.columns("t") if not name.startswith("_h")] == ["id", "n", "_rescued_data"]
    rows = lake.rows("t", "id", "n", "_rescued_data")
    assert rows[:2] == [(1, 1, None), (2, 2, None)]
    assert [row[:2] for row in rows[2:]] == [(3, None), (4, None)]
    rescued = [json.loads(row[2]) for row in rows[2:]]
    assert [(str(r.pop("n")), r.pop("_file_path")) for r in rescued] == [
        ("2.5", str(lake.source / "2")),
        ("3.5", str(lake.source / "2")),
    ]
    assert rescued == [{"note": "x", "city": "Bern"}, {"note": "y", "city": "Zug"}]
    assert lake.quarantine() == []


def test_rescue_keeps_nested_values_and_quarantines_invalid_json(build):
    lake = build(
        t={
            "path": "*.json",
            "schema": "id bigint, a struct<x: bigint>, l array<bigint>",
            "rescued_data_column": "rest",
            "record_key": "id",
        }
    )
    lake.put(
        "1.json",
        '{"id": 1, "a": {"x": "word", "y": 1.10}, "l": [1, "two"]}\n{"id": "key", "b": 1}\nno json\n'
        '{"id": 2, "a": {"x": 3}, "l": [4]}\n',
    )
    lake.ingest("t")
    first, second = lake.rows("t", "id", "a.x", "rest")
    assert (first[0], first[1]) == (1, None)
    assert second == (2, 3, None)
    rescued = json.loads(first[2])
    assert rescued["l"] == '[1,"two"]'
    assert '"y":1.10' in first[2]
    assert lake.quarantine("line", "reason") == [(2, "missing_key"), (3, "unparsable")]


@pytest.mark.parametrize("file_format", ["json", "csv"])
def test_table_that_adds_and_rescues_widens_first_and_rescues_the_rest(build, file_format):
    lake = build(t=build_table(file_format, rescued_data_column="_rescued_data"))
    write = WRITERS[file_format]
    lake.put("1", write(OLD))
    lake.ingest("t")
    lake.put("2", write([{"id": 3, "n": 2.5, "note": "x"}, {"id": 4, "n": "word", "note": "y"}]))
    lake.ingest("t")
    rows = lake.rows("t", "id", "n", "note", "_rescued_data")
    assert [row[:3] for row in rows] == [(1, 1.0, None), (2, 2.0, None), (3, 2.5, "x"), (4, None, "y")]
    assert [row[3] and json.loads(row[3]) for row in rows] == [
        None,
        None,
        None,
        {"n": "word", "_file_path": str(lake.source / "2")},
    ]
    assert lake.quarantine() == []


def test_mode_none_leaves_new_columns_out_and_the_column_for_rescued_data_stays(build):
    lake = build(t={"path": "*.json", "schema_evolution_mode": "rescue"})
    lake.put("1.json", '{"a": 1}')
    lake.ingest("t")
    lake.put("2.json", '{"a": 2, "b": 5}')
    lake.ingest("t")
    lake.change("t", schema_evolution_mode="none")
    lake.put("3.json", '{"a": 3, "b": 6}')
    lake.ingest("t")
    lake.change("t", schema_evolution_mode="add_new_columns")
    lake.put("4.json", '{"a": 4, "b": 7}')
    lake.ingest("t")
    rows = lake.rows("t", "a", "b", "_rescued_data")
    assert [row[:2] for row in rows] == [(1, None), (2, None), (3, None), (4, 7)]
    assert [row[2] is not None for row in rows] == [False, True, False, False]


def test_fail_mode_reports_the_cause_and_resumes_after_mode_change(build):
    lake = build(t={"path": "*.json", "schema_evolution_mode": "fail_on_new_columns"})
    lake.put("1.json", '{"a": 1}')
    lake.ingest("t")
    lake.put_many([("2.json", '{"a": 2}'), ("new.json", '{"a": 3, "b": {"c": 1}}')])
    for _ in range(2):
        with pytest.raises(
            NewColumnsError, match=r"new\.json has columns .* b \(struct<c:bigint>\)"
        ) as caught:
            lake.ingest("t")
    assert "tables.t.schema_evolution_mode" in caught.value.hint
    assert lake.rows("t", "a") == [(1,)]

    lake.change("t", schema_evolution_mode="add_new_columns")
    lake.ingest("t")
    assert lake.rows("t", "a", "b.c") == [(1, None), (2, None), (3, 1)]


def test_key_keeps_its_writing_and_hinted_columns_their_types(build):
    lake = build(t={"path": "*.json", "record_key": "id", "schema_hints": "price int, zip string"})
    lake.put("1.json", '{"id": 1, "price": 1, "zip": 8001}')
    lake.ingest("t")
    records = ['{"id": 2.5}', '{"id": 3, "price": 1.5}', '{"id": 4, "zip": "x", "extra": 1}']
    lake.put("2.json", "\n".join(records))
    lake.ingest("t")
    assert lake.rows("t", "id", "price", "zip", "extra") == [(1, 1, "8001", None), (4, None, "x", 1)]
    assert lake.quarantine("payload") == [(record,) for record in records[:2]]
    types = {field.name: field.dataType.simpleString() for field in lake.table("t").read().schema}
    assert (types["id"], types["price"], types["extra"]) == ("bigint", "int", "bigint")


@pytest.mark.parametrize(
    "file_format", ["csv", *(pytest.param(name, marks=pytest.mark.long) for name in ("json", "parquet"))]
)
def test_large_objects_bring_columns_and_are_split_again_once_these_are_known(build, file_format):
    table = build_table(file_format, large_file_bytes=1)
    lake = build(t=table, r={**table, "schema": "id bigint, n bigint", "schema_evolution_mode": "rescue"})
    write = WRITERS[file_format]
    lake.put("1", write(OLD))
    lake.ingest("t")
    lake.put_many([("2", write([{**row, "n": 5} for row in FLAT_NEW])), ("3", write(OLD))])
    lake.ingest("t")
    lake.ingest("r")
    expected = [(1, 1, None), (1, 1, None), (2, 2, None), (2, 2, None), (3, 5, "x"), (4, 5, "y")]
    assert lake.rows("t", "id", "n", "note") == expected
    rescued = [json.loads(row[0])["note"] for row in lake.rows("r", "_rescued_data") if row[0]]
    assert sorted(rescued) == ["x", "y"]


def test_large_objects_with_nulls_or_other_spellings_lose_nothing(build):
    lake = build(t={"path": "*.json", "large_file_bytes": 1})
    lake.put("1.json", '{"id": 1, "at": {"x": 1}}\n{"id": 2}\n')
    lake.ingest("t")
    lake.put_many(
        [
            ("2.json", '{"id": 3, "void": null, "empty": {}}\n{"id": 4, "at": {"x": 2, "y": "deep"}}\n'),
            ("3.json", '{"ID": 5, "at": {"X": 3}}\n{"id": 6}\n'),
        ]
    )
    lake.ingest("t")
    assert [name for name in lake.columns("t") if not name.startswith("_")] == ["at", "id"]
    rows = [(1, 1, None), (2, None, None), (3, None, None), (4, 2, "deep"), (5, 3, None), (6, None, None)]
    assert lake.rows("t", "id", "at.x", "at.y") == rows


def test_table_that_is_to_fail_takes_all_columns_of_its_first_batch(build):
    lake = build(t={"path": "*.json", "schema_evolution_mode": "fail_on_new_columns"})
    lake.put("1.json", '{"a": 1}\n' * 1_000 + '{"a": 1, "late": 2}\n')
    lake.ingest("t")
    assert lake.rows("t", "late")[-1] == (2,)


def test_stopped_table_leaves_the_others_and_is_not_tried_again(spark, build):
    lake = build(
        good={"path": "*.json"}, strict={"path": "*.json", "schema_evolution_mode": "fail_on_new_columns"}
    )
    for name in ("1", "2"):
        lake.put(f"{name}.json", '{"a": 1}' if name == "1" else '{"a": 2, "b": 3}')
        reported: list[str] = []
        runner = Runner(
            spark,
            lake.app.events.signal,
            lake.app.build_pipelines(),
            lambda _: None,
            lambda table, _: reported.append(table),  # noqa: B023 - the runner ends in this round
        )
        runner.start()
        runner.finish()
    assert isinstance(runner.failures["strict"], NewColumnsError)
    assert reported == ["strict"]
    assert lake.rows("good", "a", "b") == [(1, None), (2, 3)]
    assert lake.rows("strict", "a") == [(1,)]
