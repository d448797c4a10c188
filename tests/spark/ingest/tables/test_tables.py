"""How rows land: keys, ordering, partitions, table types, operations; and what one table does to another."""

import logging
from typing import Any

import pytest
from pyarrow import parquet

from headwater.errors import ConfigError, LakeError, TableMismatchError
from headwater.ingest.runner import Runner
from headwater.lake.layout import table_path
from headwater.lake.table import Table
from tests.fixtures.folder_lake import FolderLake

pytestmark = pytest.mark.slow

BASE = {
    "path": "in/*.json",
    "schema": "a string, b bigint, day string, hour int, t1 bigint, t2 bigint, v string",
}
KEYED = BASE | {"record_key": ["a", "b"], "ordering": ["t1", "t2"], "partition": ["day", "hour"]}
TABLES: dict[str, dict[str, Any]] = {
    "cow": KEYED,
    "mor": KEYED | {"table_type": "merge_on_read"},
    "bulk": BASE | {"operation": "bulk_insert", "partition": "day"},
    "appended_mor": BASE | {"table_type": "merge_on_read"},
}


def record(a: str, b: int, t1: int, t2: int, v: str, *, day: str = "2026-05-02", hour: int = 1) -> str:
    return f'{{"a":"{a}","b":{b},"day":"{day}","hour":{hour},"t1":{t1},"t2":{t2},"v":"{v}"}}\n'


BATCHES = (
    record("x", 1, 1, 5, "old") + record("x", 2, 1, 1, "kept") + record("y", 1, 1, 1, "y", day="2026/05 03"),
    # Equal in the first field: the second decides. Lower in the first: stale, whatever the second says.
    record("x", 1, 1, 6, "new") + record("x", 2, 0, 9, "stale") + record("x", 1, 1, 1, "other hour", hour=2),
)
FOLDED = [
    ("2026-05-02", 1, "x", 1, "new"),
    ("2026-05-02", 1, "x", 2, "kept"),
    ("2026-05-02", 2, "x", 1, "other hour"),
    ("2026/05 03", 1, "y", 1, "y"),
]


@pytest.fixture(scope="module")
def lake(spark, tmp_path_factory) -> FolderLake:
    lake = FolderLake(spark, tmp_path_factory.mktemp("tables"), **TABLES)
    for number, data in enumerate(BATCHES):
        lake.put(f"in/{number}.json", data)
        for name in TABLES:
            lake.ingest(name)
    return lake


@pytest.mark.parametrize("name", ["cow", "mor"])
def test_rows_are_folded_by_all_key_ordering_and_partition_fields(lake, name):
    assert lake.rows(name, "day", "hour", "a", "b", "v") == FOLDED


@pytest.mark.parametrize("name", ["bulk", "appended_mor"])
def test_append_keeps_every_record(lake, name):
    assert sorted(v for (v,) in lake.rows(name, "v")) == sorted(
        ["old", "kept", "y", "new", "stale", "other hour"]
    )


def test_partitions_are_folders_in_hive_style(lake):
    paths = {path for (path,) in lake.rows("cow", "_hoodie_partition_path")}
    assert "day=2026-05-02/hour=1" in paths
    assert len(paths) == 3


def test_hoodie_options_take_effect_and_one_that_overrides_ours_is_warned_of(spark, build, caplog):
    hoodie = {"hoodie.parquet.compression.codec": "gzip", "hoodie.cleaner.commits.retained": 3}
    lake = build(t={"path": "*.json", "hoodie": hoodie})
    lake.put("1.json", '{"n": 1}')
    with caplog.at_level(logging.WARNING, "headwater"):
        lake.ingest("t")
    warned = [entry.getMessage() for entry in caplog.records if "overrides" in entry.getMessage()]
    assert len(warned) == 1
    assert "hoodie.parquet.compression.codec=gzip" in warned[0]
    (file,) = (lake.source.parent / "lake" / "t").glob("*.parquet")
    assert parquet.ParquetFile(file).metadata.row_group(0).column(0).compression == "GZIP"


@pytest.mark.parametrize("key", ["record_key", "ordering", "partition"])
def test_unknown_field_is_reported_with_existing_columns(build, key):
    lake = build(t={"path": "*.json", "record_key": "id", key: "idd"})
    lake.put("1.json", '{"id": 1, "name": "a"}')
    with pytest.raises(ConfigError, match=rf"tables\.t\.{key}: no column 'idd'; the columns are id, name"):
        lake.ingest("t")
    assert lake.quarantine("key") == []


def test_failing_table_stops_alone_and_reports_the_cause(spark, build):
    lake = build(
        good={"path": "*.json"},
        misnamed={"path": "*.json", "record_key": "no_such_column"},
        slow={"path": "*.json", "max_files_per_trigger": 1},
    )
    lake.put_many((f"{n}.json", f'{{"n": {n}}}\n') for n in range(4))
    batches: list[str] = []
    reported: list[str] = []
    runner = Runner(
        spark,
        lake.app.events.signal,
        lake.app.build_pipelines(),
        lambda result: batches.append(result.table),
        lambda table, _: reported.append(table),
    )
    runner.start()
    runner.finish()
    assert set(runner.failures) == {"misnamed"}
    assert isinstance(runner.failures["misnamed"], ConfigError)
    assert reported == ["misnamed"]
    for name in ("good", "slow"):
        assert lake.rows(name, "n") == [(n,) for n in range(4)]
    assert batches.count("slow") == 4


def test_changed_key_of_a_table_that_exists_ends_it_at_once_and_moves_no_checkpoint(spark, build):
    lake = build(t={"path": "*.json", "record_key": "id"})
    lake.put("1.json", '{"id": 1, "code": "a"}\n')
    lake.ingest("t")
    lake.change("t", record_key="code", table_type="merge_on_read")
    lake.put("2.json", '{"id": 2, "code": "a"}\n')
    runner = Runner(spark, lake.app.events.signal, [lake.pipeline("t")], lambda _: None, lambda *_: None)
    runner.start()
    runner.finish()
    failure = runner.failures["t"]
    assert isinstance(failure, TableMismatchError)
    assert "table_type is copy_on_write in the table and merge_on_read in this write" in failure.message
    assert "record_key is id in the table and code in this write" in failure.message
    lake.change("t", record_key="id", table_type="copy_on_write")
    lake.ingest("t")
    assert lake.rows("t", "id") == [(1,), (2,)]


def test_lake_that_fails_one_table_leaves_the_others(spark, build):
    no_such_class = {"hoodie.datasource.write.keygenerator.class": "no.such.KeyGenerator"}
    lake = build(good={"path": "*.json"}, broken={"path": "*.json", "hoodie": no_such_class})
    lake.put("1.json", '{"n": 1}\n')
    results = lake.ingest("good")
    assert sum(result.rows for result in results) == 1
    with pytest.raises(LakeError):
        lake.ingest("broken")
    assert lake.pipeline("broken").position == lake.state("broken").checkpoint


SMALL_TIMELINE = {
    "hoodie.keep.min.commits": 2,
    "hoodie.keep.max.commits": 3,
    "hoodie.cleaner.commits.retained": 1,
}


def test_checkpoint_survives_cleaning_and_archival_of_the_tables_own_timeline(spark, build):
    lake = build(t={"path": "in/*.json", "record_key": "n", "hoodie": SMALL_TIMELINE})
    for number in range(6):
        lake.put(f"in/{number}.json", f'{{"n": {number % 2}, "v": {number}}}\n')
        (batch,) = lake.ingest("t")
        assert batch.rows == 1
    timeline = Table(spark, table_path(lake.lake, "t")).load_timeline()
    assert len(timeline.commits) < 6
    assert lake.rows("t", "n", "v") == [(0, 4), (1, 5)]


def test_checkpoint_is_found_when_only_external_commits_are_left_on_the_timeline(spark, build):
    lake = build(t={"path": "in/*.json", "hoodie": SMALL_TIMELINE})
    lake.put("in/1.json", '{"n": 1}\n')
    lake.ingest("t")
    before = lake.state("t")
    path = table_path(lake.lake, "t")
    for number in range(5):
        rows = spark.read.format("hudi").load(path)
        own = rows.drop(*(name for name in rows.columns if name.startswith("_hoodie_")))
        options = {
            "hoodie.metadata.enable": "false",
            "hoodie.table.name": "t",
            "foreign": number,
            **SMALL_TIMELINE,
        }
        own.limit(0).write.format("hudi").options(**options).mode("append").save(path)
    active = Table(spark, path).load_timeline()
    assert not any("checkpoint" in active.read_own_metadata(commit) for commit in active.commits)
    assert lake.state("t") == before
    lake.put("in/2.json", '{"n": 2}\n')
    lake.ingest("t")
    assert lake.rows("t", "n") == [(1,), (2,)]
