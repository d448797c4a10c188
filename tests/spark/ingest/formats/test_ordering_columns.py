"""Which row wins where the ordering comes as text."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from headwater.errors import ConfigError
from tests.fixtures.folder_lake import FolderLake
from tests.fixtures.written_files import write_parquet

Build = Callable[..., FolderLake]

TIMES = ["2026-05-02T10:00:00+02:00", "2026-05-02T09:00:00Z", "2026-05-02 08:30"]


def merge(build: Build, texts: list[str], **table) -> FolderLake:
    """Each text is the ordering of one row, all in one object, with the same key."""
    lake = build(t={"path": "*.json", "record_key": "id", "ordering": "v", **table})
    lake.put("1.json", "".join(f'{{"id": 1, "v": "{text}", "at": {at}}}\n' for at, text in enumerate(texts)))
    return lake


def test_times_are_compared_as_times(build):
    lake = merge(build, TIMES)
    lake.ingest("t")
    assert lake.rows("t", "at") == [(1,)]
    lake.put("2.json", '{"id": 1, "v": "2026-05-02T10:30:00+02:00", "at": 3}\n')
    lake.ingest("t")
    assert lake.rows("t", "at") == [(1,)]


def test_numbers_in_texts_are_asked_about_and_the_line_of_the_hint_works(build):
    lake = merge(build, ["10", "9"])
    with pytest.raises(ConfigError) as caught:
        lake.ingest("t")
    assert 'schema_hints: "v bigint"' in caught.value.hint
    lake.change("t", schema_hints="v bigint")
    lake.ingest("t")
    assert lake.rows("t", "at") == [(0,)]
    lake.put("2.json", '{"id": 1, "v": "9", "at": 2}\n')
    lake.put("3.json", '{"id": 1, "v": "11", "at": 3}\n')
    lake.ingest("t")
    assert lake.rows("t", "at") == [(3,)]


def test_strings_of_a_parquet_file_are_asked_about(build):
    lake = build(t={"path": "*.parquet", "record_key": "id", "ordering": "v"})
    lake.put("1.parquet", write_parquet({"id": [1], "v": ["9"]}))
    with pytest.raises(ConfigError) as caught:
        lake.ingest("t")
    assert 'schema_hints: "v string"' in caught.value.hint
    lake.change("t", schema_hints="v string")
    lake.ingest("t")
    assert lake.rows("t", "v") == [("9",)]


@pytest.mark.slow
def test_order_of_texts_is_taken_when_it_is_asked_for(build):
    lake = merge(build, ["10", "9"], schema_hints="v string")
    lake.ingest("t")
    assert lake.rows("t", "at") == [(1,)]


def check_updates(build: Build, ddl: str, older: Any, newer: Any, **table: Any) -> FolderLake:
    """Row 1 gets a newer version, row 2 an older one."""
    keys = {"record_key": "id", "ordering": "v", "schema": f"id int, n int, v {ddl}"}
    lake = build(t={"path": "*.json", **keys, **table})
    for n, values in enumerate([(older, newer), (newer, older)]):
        rows = ({"id": at, "n": n, "v": value} for at, value in enumerate(values, 1))
        lake.put(f"{n}.json", "".join(json.dumps(row) + "\n" for row in rows))
        lake.ingest("t")
    assert lake.rows("t", "id", "n") == [(1, 1), (2, 0)]
    return lake


@pytest.mark.slow
def test_updates_are_ordered_by_a_decimal(build):
    check_updates(build, "decimal(38,18)", "9.5", "10.25")


@pytest.mark.slow
@pytest.mark.parametrize("table_type", ["copy_on_write", "merge_on_read"])
@pytest.mark.parametrize(
    ("ddl", "older", "newer"),
    [
        ("decimal(10,2)", "-2", "1.5"),
        ("date", "1969-12-31", "2020-01-01"),
        ("timestamp_ntz", "2020-01-01T00:00:00", "2020-01-02T00:00:00"),
        ("tinyint", -1, 2),
        ("smallint", 9, 10),
        ("float", 9.5, 10.5),
        ("boolean", False, True),
    ],
)
def test_updates_are_ordered_by_each_type(build, table_type, ddl, older, newer):
    lake = check_updates(build, ddl, older, newer, table_type=table_type)
    lake.put("2.json", json.dumps({"id": 3, "n": 2, "v": older}) + "\n")
    lake.ingest("t")
    assert lake.rows("t", "id", "n") == [(1, 1), (2, 0), (3, 2)]


@pytest.mark.slow
@pytest.mark.parametrize("ddl", ["binary", "struct<x: int>", "array<int>"])
def test_values_without_order_are_rejected(build, ddl):
    lake = build(t={"path": "*.json", "record_key": "id", "ordering": "v", "schema": f"id int, v {ddl}"})
    lake.put("a.json", '{"id": 1, "v": null}\n')
    with pytest.raises(ConfigError, match="which has no order"):
        lake.ingest("t")
