"""Folders of partitions: any value of a partition column has one of its own."""

import json
from functools import partial
from pathlib import Path

import pytest

from headwater.errors import TableMismatchError
from headwater.lake import find_address, writes
from headwater.lake.service_table import ServiceTable
from headwater.lake.services.deletion import delete_partitions
from headwater.lake.sql.engine import run_query
from headwater.lake.sql.spark import run_on_spark

NESTED = ("Books", "Books/Fiction", "Books/Fiction/Crime", "10:30", "a=b", "c%2Fd", "e//f", "..")


@pytest.mark.parametrize(
    "mode",
    [
        {"mode": "mirror"},
        pytest.param({"record_key": "id"}, marks=pytest.mark.long),
        pytest.param({"table_type": "merge_on_read"}, marks=pytest.mark.long),
    ],
)
def test_one_value_of_a_partition_may_begin_with_another_one(spark, build, mode):
    lake = build(t={"path": "*.json", "partition": "shelf"} | mode)
    for at, half in enumerate((NESTED[::2], NESTED[1::2])):
        lake.put(f"{at}.json", "".join(json.dumps({"id": s, "shelf": s}) + "\n" for s in half))
        lake.ingest("t")
    assert sorted(lake.rows("t", "shelf")) == sorted((shelf,) for shelf in NESTED)
    tables = {"t": str(lake.table("t").path)}
    for run in (run_query, partial(run_on_spark, spark)):
        assert {row["shelf"] for row in run("select shelf from t", tables).rows} == set(NESTED)
        for shelf in NESTED:
            found = run(f"select id from t where shelf = '{shelf}'", tables).rows
            assert [row["id"] for row in found] == [shelf]


def test_a_table_keeps_the_folders_that_it_was_created_with(build):
    table = {"path": "*.json", "record_key": "id", "partition": "shelf"}
    lake = build(t=table | {"url_encode_partitions": False})
    lake.ingest_each("t", '{"id": 1, "shelf": "a/b", "v": 1}')
    # As an older release made it: its configuration does not say.
    lake.change("t", url_encode_partitions=None)
    lake.ingest_each("t", '{"id": 1, "shelf": "a/b", "v": 2}')
    assert lake.rows("t", "id", "v", "shelf") == [(1, 2, "a/b")]
    folder = Path(lake.lake) / "t" / "shelf=a" / "b"
    assert [path.suffix for path in folder.glob("*.parquet")] == [".parquet"] * 2
    lake.change("t", url_encode_partitions=True)
    with pytest.raises(TableMismatchError, match="URL encoding of partition folders"):
        lake.ingest_each("t", '{"id": 1, "shelf": "a/b", "v": 3}')


def test_hudis_own_key_decides_about_the_folders_of_a_new_table(build):
    own = {"hoodie.datasource.write.partitionpath.urlencode": "false"}
    lake = build(t={"path": "*.json", "record_key": "id", "partition": "shelf", "hoodie": own})
    lake.ingest_each("t", '{"id": 1, "shelf": "a/b"}\n{"id": 2, "shelf": "a//b"}')
    assert lake.rows("t", "id", "shelf") == [(1, "a/b")]
    assert lake.quarantine("reason") == [("bad_partition",)], "its rows would not be read back"


def test_rows_written_from_python_go_to_the_same_folders(spark, build):
    lake = build(t={"path": "*.json", "record_key": "id", "partition": "shelf"})
    lake.ingest_each("t", '{"id": 1, "shelf": "a/b", "v": 1}')
    rows = spark.createDataFrame([(1, "a/b", 2), (2, "a", 3)], "id long, shelf string, v long")
    writes.write(lake.settings, "t", rows, "upsert")
    assert lake.rows("t", "id", "v", "shelf") == [(1, 2, "a/b"), (2, 3, "a")]


def test_one_of_two_partitions_that_begin_alike_is_removed(build):
    lake = build(t={"path": "*.json", "record_key": "id", "partition": "shelf"})
    lake.ingest_each("t", '{"id": 1, "shelf": "a/b"}\n{"id": 2, "shelf": "a"}')
    table = ServiceTable(lake.table("t").spark, find_address(lake.settings, "t"))
    delete_partitions(table, ("shelf=a",))
    assert lake.rows("t", "id", "shelf") == [(1, "a/b")]
