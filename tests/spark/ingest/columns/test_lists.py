"""Arrays with nulls and arrays of structs of one field, in new tables and in those of older releases."""

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from headwater.lake import find_address, queries
from headwater.lake.jvm import set_hadoop_settings
from headwater.lake.prerequisites.spark_settings import NEEDED_HADOOP_SETTINGS
from tests.fixtures.folder_lake import FolderLake

TABLES: dict[str, dict[str, Any]] = {
    "mirror": {"path": "*.json", "mode": "mirror"},
    "append": {"path": "*.json", "mode": "append"},
    "merge": {"path": "*.json", "record_key": "id"},
    "merge_mor": {"path": "*.json", "record_key": "id", "table_type": "merge_on_read"},
}
FIRST = '{"id":1,"a":[1,null,3],"s":[{"x":1}],"m":[[{"x":2}],null]}\n{"id":2,"a":[2],"s":[],"m":[]}\n'
SECOND = '{"id":1,"a":[null],"s":[{"x":9},null],"m":[[{"x":8},null]]}\n{"id":3,"a":[],"s":null,"m":null}\n'
NO_NULLS = '{"id":1,"a":[1,3],"s":[{"x":1}],"m":[[{"x":2}]]}\n{"id":2,"a":[2],"s":[{"x":5}],"m":[]}\n'


def read(lake: FolderLake, table: str) -> list[tuple[Any, ...]]:
    """By Spark; without a JVM the same rows have to come."""
    rows = lake.table(table).read().select("id", "a", "s", "m").collect()
    found = sorted(map(tuple, rows), key=lambda row: row[0])
    address = find_address(lake.settings, table)
    plain = queries.read(address, queries.Query.snapshot(), ["id", "a", "s", "m"]).to_pylist()
    assert sorted(row["id"] for row in plain) == [row[0] for row in found]
    by_id = {row["id"]: row["a"] for row in plain}
    assert table == "append" or by_id == {row[0]: row[1] for row in found}
    return found


CHANGED = [
    (1, [None], [Row(x=9), None], [[Row(x=8), None]]),
    (3, [], None, None),
]


def test_nulls_in_arrays_and_one_field_structs_are_written_and_updated(
    spark: SparkSession, tmp_path: Path
) -> None:
    lake = FolderLake(spark, tmp_path, **TABLES)
    lake.put("a.json", FIRST)
    for name in TABLES:
        lake.ingest(name)
        assert read(lake, name)[0] == (1, [1, None, 3], [Row(x=1)], [[Row(x=2)], None]), name
    lake.put("a.json", SECOND)
    expected: dict[str, list[Any]] = {"mirror": [], "append": [FIRST, FIRST]}
    for name in TABLES:
        lake.ingest(name)
        kept = expected.get(name, [(2, [2], [], [])])
        rows = read(lake, name)
        assert len(rows) == 2 + len(kept), name
        assert [row for row in CHANGED if row in rows] == CHANGED, name


@pytest.mark.parametrize(
    "name", ["mirror", *(pytest.param(name, marks=pytest.mark.slow) for name in ("merge", "append"))]
)
def test_a_table_of_an_older_release_is_updated_and_rewritten(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    lake = FolderLake(spark, tmp_path, **{name: TABLES[name]})
    lake.put("a.json", NO_NULLS)
    lake.pipeline(name)
    set_hadoop_settings(spark, dict.fromkeys(NEEDED_HADOOP_SETTINGS, "true"))
    try:
        # As an older release wrote it. The next `App` sets the session right.
        pipeline = lake.pipeline(name)
        _ = pipeline.position
        set_hadoop_settings(spark, dict.fromkeys(NEEDED_HADOOP_SETTINGS, "true"))
        pipeline.run_batch()
        pipeline.save_checkpoint()
    finally:
        set_hadoop_settings(spark, NEEDED_HADOOP_SETTINGS)
    for text in (SECOND, SECOND.replace("9", "7")):
        lake.put("a.json", text)
        lake.ingest(name)
    rows = read(lake, name)
    assert (1, [None], [Row(x=7), None], [[Row(x=8), None]]) in rows
    assert len(rows) == {"mirror": 2, "append": 6, "merge": 3}[name]
