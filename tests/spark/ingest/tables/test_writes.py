"""Rows written from Python beside a table's pipeline, which goes on where it was."""

from typing import Any

import pytest

from headwater.errors import TableNotFoundError, UsageError
from headwater.lake import find_address, queries, writes

pytestmark = pytest.mark.slow

DAYS = {"path": "*.json", "record_key": "id", "ordering": "ts", "partition": "day"}
FIRST = '{"id": 1, "ts": 5, "day": "mo", "v": "a"}\n{"id": 2, "ts": 5, "day": "tu", "v": "b"}\n'
NEXT = '{"id": 4, "ts": 5, "day": "we", "v": "d"}\n'


@pytest.fixture
def begin(build):
    def start(**table):
        lake = build(t=table)
        lake.put("0.json", FIRST)
        lake.ingest("t")
        return lake

    return start


def rows_of(lake, *columns):
    """By Spark; hudi-rs has to say the same."""
    found = lake.rows("t", *columns)
    table = queries.read(find_address(lake.settings, "t"), queries.Query.snapshot(), list(columns))
    assert sorted(zip(*table.to_pydict().values(), strict=True)) == found
    return found


def resume(lake):
    """The pipeline takes in what came, and nothing twice."""
    lake.put("1.json", NEXT)
    (result,) = lake.ingest("t")
    assert result.objects["ingested"] == 1
    assert lake.ingest("t") == []


@pytest.mark.long
@pytest.mark.parametrize("table_type", ["copy_on_write", "merge_on_read"])
def test_partitions_of_the_frame_are_replaced_and_the_pipeline_continues(begin, spark, table_type):
    lake = begin(**DAYS, table_type=table_type)
    # Two rows with one key: the higher `ts` stays, as in an upsert. `v` is left out.
    frame = spark.sql(
        "select 7L id, 1L ts, 'mo' day union all select 7L, 2L, 'mo' union all select 8L, 1L, 'fr'"
    )
    done = writes.write(lake.settings, "t", frame, "insert_overwrite")
    assert (done.rows, done.replaced) == (3, 1)
    assert done.instant == lake.table("t").load_timeline().commits[-1].requested
    assert rows_of(lake, "id", "ts", "day") == [(2, 5, "tu"), (7, 2, "mo"), (8, 1, "fr")]
    resume(lake)
    assert rows_of(lake, "id", "v") == [(2, "b"), (4, "d"), (7, None), (8, None)]


def test_complete_table_is_replaced_and_rows_are_merged_by_ordering(begin, spark):
    lake = begin(**DAYS)
    frame = spark.sql("select 7 id, 5 ts, 'mo' day, 'x' v")
    assert writes.write(lake.settings, "t", frame, "insert_overwrite_table").replaced == 2
    assert rows_of(lake, "id", "v") == [(7, "x")]
    late = spark.sql("select 7 id, 4 ts, 'mo' day, 'late' v union all select 9, 1, 'mo', 'new'")
    assert writes.write(lake.settings, "t", late, "upsert").replaced == 0
    assert rows_of(lake, "id", "v") == [(7, "x"), (9, "new")]
    resume(lake)
    assert rows_of(lake, "id") == [(4,), (7,), (9,)]


@pytest.mark.long
@pytest.mark.parametrize("operation", ["insert", "bulk_insert"])
def test_rows_of_an_append_table_get_keys_of_their_own(begin, spark, operation):
    lake = begin(path="*.json")
    frame = spark.sql("select 7L id, 'x' v union all select 7L, 'x'")
    for _ in range(2):
        writes.write(lake.settings, "t", frame, operation)
    assert rows_of(lake, "id", "v") == [(1, "a"), (2, "b"), *[(7, "x")] * 4]
    resume(lake)
    assert len(rows_of(lake, "id")) == 7


@pytest.mark.long
def test_incompatible_frames_are_rejected_before_writing(begin, spark):
    lake = begin(**DAYS)
    row = "select 7 id, 5 ts, 'mo' day"
    cases: list[tuple[str, Any, str]] = [
        (row, "insert", "'insert' would keep duplicates in table t"),
        (row, "insert_overwrit", "unknown operation 'insert_overwrit'"),
        (f"{row}, 1 w", "upsert", "table t has no column w"),
        ("select 7 id, 5 ts", "upsert", "rows without day"),
        ("select 'seven' id, 5 ts, 'mo' day", "upsert", "rows do not fit the columns of table t"),
    ]
    for sql, operation, reported in cases:
        with pytest.raises(UsageError, match=reported):
            writes.write(lake.settings, "t", spark.sql(sql), operation)
    with pytest.raises(UsageError, match="headwater's own"):
        writes.write(lake.settings, "events", spark.sql(row), "insert")
    assert len(lake.table("t").load_timeline().commits) == 1
    lake.change("t", path="x/*.json", mode="mirror", record_key=[], ordering=[])
    with pytest.raises(UsageError, match="table t is a mirror"):
        writes.write(lake.settings, "t", spark.sql(row), "insert_overwrite_table")


@pytest.mark.long
def test_table_that_is_not_there_is_not_made(build, spark):
    lake = build(t=DAYS)
    with pytest.raises(TableNotFoundError):
        writes.write(lake.settings, "t", spark.sql("select 7 id, 5 ts, 'mo' day"), "upsert")
