"""What is shown of a table without a JVM is what Hudi itself says of it, and what lies on disk."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timezone

import pytest

from headwater.errors import LakeError
from headwater.lake import inspection
from headwater.lake.layout import TableAddress
from headwater.lake.options import WriteOptions
from headwater.lake.table import Table
from tests.fixtures.inspection.addresses import list_disk
from tests.fixtures.inspection.managed_table import SMALL_FILES, build_managed

pytestmark = pytest.mark.long

NAME = "inspected_managed"
LOCK = "hoodie.write.lock.provider"


@pytest.fixture(scope="module")
def address(spark, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("inspection") / NAME)
    build_managed(spark, path, NAME)
    yield TableAddress(NAME, path)
    spark.sql(f"drop table {NAME}")


def call(spark, procedure: str, **arguments: object):
    reported = "".join(f", {key} => {value!r}" for key, value in arguments.items())
    return spark.sql(f"call {procedure}(table => '{NAME}'{reported})").collect()


@contextmanager
def locked(spark) -> Iterator[None]:
    """Hudi makes an index beside writers only, be there none, and wants a lock for that."""
    spark.conf.set(LOCK, "org.apache.hudi.client.transaction.lock.InProcessLockProvider")
    try:
        yield
    finally:
        spark.conf.unset(LOCK)


def now() -> datetime:
    return datetime.now(timezone.utc)


def test_timeline_is_that_of_hudis_procedure(spark, address):
    there = {(row.instant_time, row.action, row.state.lower()) for row in call(spark, "show_timeline")}
    here = inspection.list_actions(address, now())
    assert {(one.instant, one.action, one.state) for one in here} == there
    assert {"commit", "deltacommit", "replacecommit", "savepoint", "rollback", "clean", "compaction"} == {
        one.action for one in here
    }


def test_commits_count_as_hudis_procedure_does(spark, address):
    there = {row.commit_time: row for row in call(spark, "show_commits", limit=100)}
    here = {one.instant: one for one in inspection.list_commits(address, now())}
    assert set(here) == set(there)
    for instant, row in there.items():
        one, written = here[instant], here[instant].written
        assert written is not None
        assert (one.completed, one.action) == (row.state_transition_time, row.action)
        assert written.bytes_written == row.total_bytes_written
        assert written.files_written == row.total_files_added + row.total_files_updated
        assert written.rows_written == row.total_records_written
        # Hudi counts what a compaction merges as updates.
        assert written.rows_updated == (0 if one.operation == "compact" else row.total_update_records_written)


def test_services_report_the_same_as_hudis_procedures(spark, address):
    actions = {one.action: one for one in inspection.list_actions(address, now())}
    (clean,) = call(spark, "show_cleans")
    assert (actions["clean"].instant, actions["clean"].files_deleted) == (
        clean.clean_time,
        clean.total_files_deleted,
    )
    (rollback,) = call(spark, "show_rollbacks")
    assert actions["rollback"].files_deleted == rollback.total_files_deleted
    assert actions["rollback"].note == f"rolled back {rollback.rollback_instant}"
    (savepoint,) = call(spark, "show_savepoints")
    assert actions["savepoint"].instant == savepoint.savepoint_time
    pending = next(row for row in call(spark, "show_compaction") if row.state == "REQUESTED")
    assert actions["compaction"].instant == pending.timestamp
    assert actions["compaction"].note == f"{pending.operation_size} file groups to compact"


def test_bytes_and_files_are_those_on_disk(address):
    found = inspection.read_layout(address, older=True)
    assert {file.path: file.size for one in found.slices for file in one.files} == list_disk(address)
    growth = inspection.read_growth(address)
    assert growth.points[-1].bytes == found.totals.current_bytes
    assert sum(one.bytes for one in inspection.list_partitions(address)) == found.totals.current_bytes


def test_current_files_are_those_that_spark_reads(spark, address):
    rows = spark.read.format("hudi").load(address.path)
    found = inspection.describe(address, now())
    assert found.rows == rows.count() == 4
    assert [(column.name, column.type) for column in found.columns] == [
        pair for pair in rows.dtypes if not pair[0].startswith("_hoodie")
    ]
    groups = {
        (row._hoodie_partition_path, row._hoodie_file_name.partition("_")[0])
        for row in rows.select("_hoodie_partition_path", "_hoodie_file_name").collect()
    }
    assert {(one.partition, one.file_id) for one in inspection.read_layout(address).slices} == groups


def test_properties_are_those_of_hudis_procedure(spark, address):
    there = {row.key: row.value for row in call(spark, "show_table_properties", limit=1000)}
    found = inspection.describe(address, now())
    assert {key: found.properties[key] for key in there} == there
    assert found.identity.table_type == "merge_on_read"


def test_restored_table_reports_the_remaining_state(spark, lake):
    name = "inspected_restored"
    table = Table(spark, lake)
    options = WriteOptions(table_name=name, operation="upsert", record_key=("id",), extra=SMALL_FILES)

    def write(first: int) -> None:
        table.write(spark.range(first, first + 5).selectExpr("cast(id as int) id").coalesce(1), options)

    write(0)
    spark.sql(f"create table {name} using hudi location '{lake}'")
    kept = table.load_timeline().commits[0].requested
    spark.sql(f"call create_savepoint(table => '{name}', commit_time => '{kept}')")
    write(100)
    spark.sql(f"call rollback_to_savepoint(table => '{name}', instant_time => '{kept}')")
    address = TableAddress(name, lake)
    actions = inspection.list_actions(address, now())
    assert [one.action for one in actions] == ["commit", "savepoint", "restore"]
    assert actions[-1].note.startswith("rolled back 2")
    found = inspection.describe(address, now())
    assert (found.rows, found.commits, found.totals.uncommitted_files) == (5, 1, 0)
    assert inspection.read_growth(address).points[-1].rows == 5
    spark.sql(f"drop table {name}")


def test_index_is_described_and_its_making_is_on_the_timeline(spark, lake):
    name = "inspected_indexed"
    options = WriteOptions(
        table_name=name,
        operation="upsert",
        record_key=("id",),
        extra=SMALL_FILES | {"hoodie.metadata.enable": "true"},
    )
    frame = spark.range(0, 5).selectExpr("cast(id as int) id", "cast(id as string) city").coalesce(1)
    Table(spark, lake).write(frame, options)
    spark.sql(f"create table {name} using hudi location '{lake}'")
    with locked(spark):
        spark.sql(f"create index record_index on {name} (id)")
        spark.sql(f"create index by_city on {name} (city)")
    address = TableAddress(name, lake)
    found = inspection.describe(address, now())
    assert {"files", "record_index", "secondary_index_by_city"} <= set(found.identity.metadata_partitions)
    indexes = {index.name: index for index in found.identity.indexes}
    assert indexes["secondary_index_by_city"].columns == ("city",)
    assert indexes["secondary_index_by_city"].is_built
    assert found.rows == 5
    made = [one for one in inspection.list_actions(address, now()) if one.action == "indexing"]
    assert [one.state for one in made] == ["completed", "completed"]
    assert [one.note for one in made] == ["built record_index", "built secondary_index_by_city"]
    spark.sql(f"drop table {name}")


def test_changes_files_are_counted_apart(spark, lake):
    options = WriteOptions(
        table_name="inspected_cdc",
        operation="upsert",
        record_key=("id",),
        extra=SMALL_FILES | {"hoodie.table.cdc.enabled": "true"},
    )
    for shift in (0, 2):
        frame = spark.range(shift, shift + 5).selectExpr("cast(id as int) id", f"{shift} as n").coalesce(1)
        Table(spark, lake).write(frame, options)
    address = TableAddress("inspected_cdc", lake)
    found = inspection.describe(address, now())
    cdc = sum(size for path, size in list_disk(address).items() if path.endswith(".cdc"))
    assert cdc > 0
    assert (found.totals.cdc_bytes, found.totals.log_files, found.rows) == (cdc, 0, 7)
    assert found.identity.cdc == "data_before_after"
    assert found.totals.current_bytes + found.totals.older_bytes + cdc == sum(list_disk(address).values())


def test_interrupted_write_is_pending_until_rolled_back(spark, lake):
    options = WriteOptions(
        table_name="inspected_broken", operation="bulk_insert", record_key=("id",), extra=SMALL_FILES
    )
    rows = spark.range(0, 5).selectExpr("cast(id as int) id").coalesce(1)
    Table(spark, lake).write(rows, options)
    broken = spark.range(5, 10).selectExpr("if(id < 9, cast(id as int), int(raise_error('torn'))) id")
    with pytest.raises(LakeError):
        Table(spark, lake).write(broken.coalesce(1), options)
    address = TableAddress("inspected_broken", lake)
    _, left = inspection.list_actions(address, now())
    assert left.state in {"requested", "inflight"}
    assert left.age_seconds is not None
    assert 0 < left.age_seconds < 600
    found = inspection.describe(address, now())
    assert (found.rows, found.commits, found.pending_actions) == (5, 1, 1)
    Table(spark, lake).write(rows, options)
    states = [(one.action, one.state) for one in inspection.list_actions(address, now())]
    assert sorted(states) == [("commit", "completed"), ("commit", "completed"), ("rollback", "completed")]
    assert inspection.describe(address, now()).totals.uncommitted_files == 0


def test_archived_timeline_is_that_of_hudi(spark, lake):
    table = Table(spark, lake)
    for number in range(8):
        options = WriteOptions(
            table_name="inspected_archived",
            operation="bulk_insert",
            record_key=("id",),
            changelog=True,
            commit_metadata={"step": str(number)},
            extra=SMALL_FILES
            | {
                "hoodie.keep.min.commits": "3",
                "hoodie.keep.max.commits": "4",
                "hoodie.clean.automatic": "true",
                "hoodie.clean.commits.retained": "1",
            },
        )
        table.write(spark.range(number, number + 1).selectExpr("cast(id as int) id"), options)
    address, timeline = TableAddress("inspected_archived", lake), table.load_timeline()
    actions = inspection.list_actions(address, now(), archived=True)
    archived = [(one.completed, one.instant) for one in actions if one.archived and one.action == "commit"]
    assert archived == [(commit.completed, commit.requested) for commit in timeline.list_archived()]
    assert archived
    found = inspection.describe(address, now())
    assert (found.commits + found.archived_commits, found.rows, found.totals.file_groups) == (8, 8, 8)
    assert inspection.load_commit(address, archived[0][1], now()).headwater == {"step": "0"}
