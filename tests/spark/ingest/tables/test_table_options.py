"""What each typed option does to a real table: files, rows and readers' states, over several commits."""

from collections import Counter
from functools import partial
from pathlib import Path

import pytest
from pyarrow import parquet

from headwater.errors import LakeError, TableMismatchError
from headwater.lake.options import WriteOptions
from headwater.lake.sql.engine import run_query
from headwater.lake.sql.spark import run_on_spark
from headwater.lake.table import Table
from tests.fixtures.folder_lake import FolderLake

pytestmark = pytest.mark.long

DAYS = {"path": "*.json", "record_key": "id", "ordering": "ts", "partition": "day"}
FIRST = '{"id": 1, "ts": 1, "day": "mo", "v": "a"}\n{"id": 2, "ts": 1, "day": "tu", "v": "b"}\n'
UPDATE = '{"id": 1, "ts": 2, "day": "mo", "v": "A"}\n{"id": 3, "ts": 2, "day": "tu", "v": "c"}\n'
MOVE = '{"id": 1, "ts": 3, "day": "we", "v": "moved"}\n'

LATE = '{"id": 1, "ts": 2, "day": "th", "v": "late"}\n'

MOVED = [(1, "moved", "we"), (2, "b", "tu"), (3, "c", "tu")]
LEFT = [(1, "A", "mo"), *MOVED]


def list_files(lake, ending: str = "parquet") -> list[Path]:
    table = Path(lake.lake) / "t"
    files = table.rglob(f"*.{ending}")
    return sorted(path.relative_to(table) for path in files if ".hoodie" not in path.parts)


def list_folders(lake) -> set[str]:
    return {str(path.parent) for path in list_files(lake)}


@pytest.mark.parametrize(
    ("index", "table_type", "rows"),
    [
        ({"type": "bloom"}, "copy_on_write", LEFT),
        ({"type": "global_bloom"}, "copy_on_write", MOVED),
        ({"type": "global_simple"}, "merge_on_read", MOVED),
        ({"type": "bucket", "buckets": 2}, "copy_on_write", LEFT),
        ({"type": "bucket", "buckets": 2, "engine": "consistent_hashing"}, "merge_on_read", LEFT),
        ({"type": "record_level"}, "copy_on_write", LEFT),
        ({"type": "global_record_level"}, "merge_on_read", MOVED),
    ],
)
def test_index_finds_rows_and_a_global_one_lets_them_move(build, index, table_type, rows):
    lake = build(t=DAYS | {"index": index, "table_type": table_type})
    lake.ingest_each("t", FIRST, UPDATE, MOVE)
    assert sorted(lake.rows("t", "id", "v", "day")) == sorted(rows)
    metadata = Path(lake.lake) / "t" / ".hoodie" / "metadata" / "record_index"
    assert metadata.exists() == index["type"].endswith("record_level")


@pytest.mark.parametrize("table_type", ["copy_on_write", "merge_on_read"])
@pytest.mark.parametrize("index", ["global_simple", "global_bloom", "global_record_level"])
def test_late_row_moves_no_newer_one_through_a_global_index(build, index, table_type):
    lake = build(t=DAYS | {"index": {"type": index}, "table_type": table_type})
    lake.ingest_each("t", FIRST, MOVE, LATE)
    assert sorted(lake.rows("t", "id", "v", "day")) == [(1, "moved", "we"), (2, "b", "tu")]


@pytest.mark.parametrize("index", [{"type": "bucket", "buckets": 2}, {"type": "global_record_level"}])
def test_rows_of_a_mirror_follow_their_object_through_an_index(build, index):
    lake = build(t={"path": "*.json", "mode": "mirror", "index": index})
    lake.ingest_each("t", FIRST, UPDATE)
    lake.put("0.json", MOVE)
    lake.ingest("t")
    assert lake.rows("t", "id", "v") == [(1, "A"), (1, "moved"), (3, "c")]
    lake.announce("1.json", kind="removed")
    lake.ingest("t")
    assert lake.rows("t", "id", "v") == [(1, "moved")]


def test_bucket_index_puts_keys_into_as_many_files_as_it_has_buckets(build):
    many = "".join(f'{{"id": {n}, "ts": 1, "day": "mo", "v": "x"}}\n' for n in range(40))
    lake = build(t=DAYS | {"index": {"type": "bucket", "buckets": 3}})
    lake.ingest_each("t", many)
    assert sorted(path.name[:8] for path in list_files(lake)) == ["00000000", "00000001", "00000002"]


@pytest.mark.parametrize(
    ("before", "after", "expected_message"),
    [
        (
            {"type": "bucket", "buckets": 2},
            {"type": "bucket", "buckets": 3},
            "2 buckets in the table but 3 buckets",
        ),
        (
            {"type": "bucket", "buckets": 2},
            {"type": "simple"},
            "2 buckets in the table but no bucket index in",
        ),
        (None, {"type": "bucket", "buckets": 3}, "no bucket index in the table but 3 buckets in"),
    ],
)
def test_buckets_of_a_table_that_exists_cannot_change(build, before, after, expected_message):
    lake = build(t=DAYS | ({"index": before} if before else {}))
    lake.ingest_each("t", FIRST)
    lake.change("t", index=after)
    with pytest.raises(TableMismatchError, match=expected_message):
        lake.ingest_each("t", FIRST, UPDATE)
    assert lake.rows("t", "id") == [(1,), (2,)]


def test_folders_of_partitions_are_as_configured(build):
    plain = build(t=DAYS | {"partition_style": "plain"})
    plain.ingest_each("t", FIRST, UPDATE)
    assert list_folders(plain) == {"mo", "tu"}
    assert len(plain.rows("t", "id")) == 3


def test_values_of_partitions_are_encoded_and_come_back_as_they_were(build):
    lake = build(t=DAYS)
    lake.ingest_each("t", FIRST.replace("mo", "2026/05"), UPDATE.replace("mo", "2026/05"))
    assert list_folders(lake) == {"day=2026%2F05", "day=tu"}
    assert lake.rows("t", "id", "v", "day") == [(1, "A", "2026/05"), (2, "b", "tu"), (3, "c", "tu")]


def test_dropped_partition_columns_are_in_the_folders_only_also_for_mirrors(build):
    config = {"path": "*.json", "mode": "mirror", "partition": "day", "drop_partition_columns": True}
    lake = build(t=config)
    lake.ingest_each("t", FIRST)
    lake.put("0.json", MOVE)
    lake.ingest("t")
    assert lake.rows("t", "id", "v", "day") == [(1, "moved", "we")]
    newest = Path(lake.lake) / "t" / next(path for path in list_files(lake) if "day=we" in str(path))
    assert "day" not in parquet.read_schema(newest).names


def test_merge_mode_says_whether_the_later_or_the_higher_row_stays(build):
    lake = build(t={"path": "*.json", "record_key": "id", "merge_mode": "commit_time"})
    lake.ingest_each("t", '{"id": 1, "v": "first"}', '{"id": 1, "v": "second"}')
    assert lake.rows("t", "id", "v") == [(1, "second")]
    lake.put_many([("z.json", '{"id": 1, "v": "third"}'), ("a.json", '{"id": 1, "v": "fourth"}')])
    lake.ingest("t")
    assert lake.rows("t", "id", "v") == [(1, "fourth")]
    properties = lake.table("t").load_timeline().read_properties()
    assert properties["hoodie.record.merge.mode"] == "COMMIT_TIME_ORDERING"


def test_several_ordering_fields_are_compared_in_order(build):
    lake = build(
        t={"path": "*.json", "record_key": "id", "ordering": ["ts", "n"], "merge_mode": "event_time"}
    )
    lake.ingest_each(
        "t", '{"id": 1, "ts": 1, "n": 5}', '{"id": 1, "ts": 1, "n": 4}', '{"id": 1, "ts": 2, "n": 0}'
    )
    assert lake.rows("t", "ts", "n") == [(2, 0)]
    lake.ingest_each("t", '{"id": 1, "ts": 1, "n": 9}')
    assert lake.rows("t", "ts", "n") == [(2, 0)]


def test_partial_updates_keep_nulls_and_late_ones_fill_gaps(build):
    lake = build(t=DAYS | {"partition": [], "partial_updates": True})
    rows = '{{"id": 1, "ts": {}, "day": {}, "v": {}}}'
    lake.ingest_each("t", rows.format(5, '"mo"', '"a"'), rows.format(6, '"tu"', "null"))
    assert lake.rows("t", "ts", "day", "v") == [(6, "tu", "a")]
    lake.put("late.json", rows.format(4, '"we"', '"late"'))
    lake.ingest("t")
    assert lake.rows("t", "ts", "day", "v") == [(6, "tu", "a")]
    lake.put_many([("x.json", rows.format(8, '"th"', "null")), ("y.json", rows.format(7, "null", '"b"'))])
    lake.ingest("t")
    assert lake.rows("t", "ts", "day", "v") == [(8, "th", "b")]


def test_duplicates_are_filtered_by_key_and_the_checkpoint_moves_on(build):
    config = {"path": "*.json", "mode": "append", "record_key": "id", "filter_duplicates": True}
    lake = build(t=config)
    lake.ingest_each("t", FIRST, UPDATE)
    assert lake.rows("t", "id", "v") == [(1, "a"), (2, "b"), (3, "c")]
    lake.put("again.json", FIRST)
    lake.ingest("t")
    assert lake.rows("t", "id", "v") == [(1, "a"), (2, "b"), (3, "c")]
    lake.put_many([("x.json", '{"id": 9, "v": "x"}\n{"id": 9, "v": "y"}'), ("z.json", '{"id": 9, "v": "z"}')])
    lake.ingest("t")
    assert len(lake.rows("t", "id")) == 4
    assert lake.pipeline("t").run_batch() is None


def test_file_sizes_say_whether_new_rows_go_into_small_files(build):
    def count_file_groups(**options: object) -> int:
        lake = build(t={"path": "*.json", **options})
        lake.ingest_each("t", *(f'{{"n": {n}}}' for n in range(3)))
        return len({path.name.partition("_")[0] for path in list_files(lake)})

    assert count_file_groups(file_sizes={"small": 0}) == 3


def test_versions_of_files_are_cleaned_as_configured(build):
    now = {"hoodie.clean.trigger.max.commits": 1}
    lake = build(t={"path": "*.json", "record_key": "id", "keep_file_versions": 2, "hoodie": now})
    lake.ingest_each("t", *(f'{{"id": 1, "v": {n}}}' for n in range(5)))
    assert Counter(path.name.partition("_")[0] for path in list_files(lake)).most_common(1)[0][1] == 2


def test_commits_are_cleaned_as_configured(build):
    now = {"hoodie.clean.trigger.max.commits": 1}
    lake = build(t={"path": "*.json", "record_key": "id", "keep_commits": 1, "hoodie": now})
    lake.ingest_each("t", *(f'{{"id": 1, "v": {n}}}' for n in range(5)))
    assert len(list_files(lake)) == 2


def test_hours_keep_all_files_of_the_last_ones(build):
    now = {"hoodie.clean.trigger.max.commits": 1, "hoodie.clean.commits.retained": 1}
    lake = build(t={"path": "*.json", "record_key": "id", "keep_hours": 1, "hoodie": now})
    lake.ingest_each("t", *(f'{{"id": 1, "v": {n}}}' for n in range(4)))
    assert len(list_files(lake)) == 4


def test_log_files_are_compacted_after_so_many_commits(build):
    lake = build(t=DAYS | {"table_type": "merge_on_read", "compact_after": 2})
    lake.ingest_each("t", FIRST)
    assert len(list_files(lake)) == 2
    lake.put("1.json", UPDATE)
    lake.ingest("t")
    assert len(list_files(lake)) == 4
    assert lake.rows("t", "id", "v") == [(1, "A"), (2, "b"), (3, "c")]


def test_column_stats_are_kept_in_the_metadata_table(spark, build):
    lake = build(t=DAYS | {"column_stats": ["id"]})
    lake.ingest_each("t", FIRST, UPDATE)
    metadata = Path(lake.lake) / "t" / ".hoodie" / "metadata"
    entries = spark.read.format("hudi").load(str(metadata)).where("ColumnStatsMetadata is not null")
    columns = entries.select("ColumnStatsMetadata.columnName").distinct().collect()
    assert "id" in {row[0] for row in columns}
    assert "v" not in {row[0] for row in columns}


def test_metadata_table_is_there_when_asked_for(build):
    lake = build(t={"path": "*.json", "metadata_table": True})
    lake.ingest_each("t", '{"n": 1}', '{"n": 2}')
    assert (Path(lake.lake) / "t" / ".hoodie" / "metadata" / "files").exists()
    assert lake.rows("t", "n") == [(1,), (2,)]


@pytest.mark.parametrize("table_type", ["copy_on_write", "merge_on_read"])
def test_orc_files_are_written_updated_and_read(spark, tmp_path, table_type):
    setting = "spark.sql.orc.enableVectorizedReader"
    table = DAYS | {"base_file_format": "orc", "table_type": table_type}
    before = spark.conf.get(setting)
    spark.conf.set(setting, "false")
    try:
        lake = FolderLake(spark, tmp_path, {"config": {setting: False}}, t=table)
        lake.ingest_each("t", FIRST, UPDATE)
        assert lake.rows("t", "id", "v") == [(1, "A"), (2, "b"), (3, "c")]
    finally:
        spark.conf.set(setting, before)
    assert list_files(lake, "orc")
    assert not list_files(lake)


@pytest.mark.parametrize("bulk", [{"sort": "partition_path_repartition"}, {"sort_by": "v"}])
def test_bulk_insert_brings_partitions_together_or_sorts_as_asked(build, bulk):
    lake = build(t={"path": "*.json", "partition": "day", "operation": "bulk_insert", "bulk_insert": bulk})
    lake.ingest_each("t", "".join(f'{{"v": {50 - n}, "day": "{"mt"[n % 2]}"}}\n' for n in range(40)))
    files = list_files(lake)
    if "sort" in bulk:
        assert Counter(str(path.parent) for path in files) == {"day=m": 1, "day=t": 1}
    for path in files:
        stored = parquet.read_table(Path(lake.lake) / "t" / path, partitioning=None)["v"].to_pylist()
        assert stored == sorted(stored, reverse="sort" in bulk)
    assert len(lake.rows("t", "v")) == 40


def test_time_partitions_from_a_transform_are_readable(build, spark):
    step = "select *, date_format(at, 'yyyy/MM/dd') as date from input"
    table = {
        "path": "*.json",
        "record_key": "id",
        "schema_hints": "at timestamp",
        "transform": [{"sql": step}],
    }
    lake = build(t=table | {"partition": ["day", "date"], "url_encode_partitions": True})
    lake.ingest_each(
        "t",
        '{"id": 1, "day": "mo", "at": "2026-05-01T10:00:00Z"}\n'
        '{"id": 2, "day": "tu", "at": "2026-05-02T23:30:00Z"}\n',
        '{"id": 1, "day": "mo", "at": "2026-05-01T11:00:00Z"}\n',
    )
    assert list_folders(lake) == {"day=mo/date=2026%2F05%2F01", "day=tu/date=2026%2F05%2F02"}
    for where in (
        "at > timestamp '2026-05-02 00:00:00'",
        "date = '2026/05/02'",
        "date > '2026/05/01' and day = 'tu'",
    ):
        sql, tables = f"select id from t where {where}", {"t": lake.table("t").path}
        assert [row["id"] for row in run_query(sql, tables).rows] == [2], where
        assert [row["id"] for row in run_on_spark(spark, sql, tables).rows] == [2], where


def test_externally_time_partitioned_tables_are_read_completely_or_rejected(spark, tmp_path):
    rows = spark.sql(
        "select 1 id, 'mo' day, timestamp '2026-05-01 10:00:00' at, '2026-05-01' text "
        "union all select 2, 'tu', timestamp '2026-05-02 23:30:00', '2026-05-02'"
    )
    for name, generator, fields, kind in (
        ("by_time", "Timestamp", "at", "EPOCHMICROSECONDS"),
        ("by_text", "Timestamp", "text", "DATE_STRING"),
        ("mixed", "Custom", "day:SIMPLE,at:TIMESTAMP", "EPOCHMICROSECONDS"),
    ):
        generated = {
            "hoodie.datasource.write.keygenerator.class": f"org.apache.hudi.keygen.{generator}"
            + ("BasedKeyGenerator" if generator == "Timestamp" else "KeyGenerator"),
            "hoodie.keygen.timebased.timestamp.type": kind,
            "hoodie.keygen.timebased.input.dateformat": "yyyy-MM-dd",
            "hoodie.keygen.timebased.output.dateformat": "yyyy/MM/dd",
        }
        options = WriteOptions(name, "upsert", ("id",), tuple(fields.split(",")), extra=generated)
        Table(spark, str(tmp_path / name)).write(rows, options)
    tables = {name: str(tmp_path / name) for name in ("by_time", "by_text", "mixed")}
    fallback = partial(run_on_spark, spark)
    for sql, engine in (
        ("select id from by_time where at > timestamp '2026-05-02 00:00:00'", "hudi-rs+datafusion"),
        ("select id from by_text where text > '2026-05-01'", "hudi-rs+datafusion"),
        ("select id from mixed where day = 'tu'", "spark"),
    ):
        result = run_query(sql, tables, fallback=fallback)
        assert ([row["id"] for row in result.rows], result.engine) == ([2], engine), sql
    with pytest.raises(LakeError, match="Spark would omit rows"):
        run_on_spark(spark, "select id from by_time", {"by_time": tables["by_time"]})
    with pytest.raises(LakeError):
        list(
            run_query(
                "select id from mixed where at > timestamp '2026-05-02 00:00:00'", tables, fallback=fallback
            ).rows
        )
