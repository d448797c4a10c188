"""Which configurations and tables can be continued, and what to do about the others."""

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from headwater.app.adoption.fitting import iter_mode_problems
from headwater.config.table import TableConfig
from headwater.lake.options import WriteOptions
from headwater.lake.typed_options.continuing import ExistingTable, iter_table_problems, list_updates

NOW = datetime(2026, 1, 1, tzinfo=timezone.utc)
WRITE = WriteOptions("orders", "upsert", record_key=("id",), ordering=("at",))
TABLE = {
    "hoodie.table.name": "orders",
    "hoodie.table.type": "COPY_ON_WRITE",
    "hoodie.table.version": "9",
    "hoodie.table.recordkey.fields": "id",
    "hoodie.table.ordering.fields": "at",
    "hoodie.table.keygenerator.type": "NON_PARTITION",
    "hoodie.table.timeline.timezone": "LOCAL",
    "hoodie.datasource.write.hive_style_partitioning": "false",
}


def find(table: ExistingTable, options: dict[str, str] | None = None) -> list[str]:
    return list(iter_table_problems("orders", table, options or WRITE.to_hoodie(), NOW))


def existing(**changes: str) -> ExistingTable:
    names = {name.replace("_", "."): value for name, value in changes.items()}
    return ExistingTable(
        {**TABLE, **{f"hoodie.table.{name}": value for name, value in names.items()}}, ("id",)
    )


def test_a_table_of_the_same_key_order_and_type_fits() -> None:
    assert find(existing()) == []


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"name": "old"}, "the table's name is old in the table and orders in the configuration; rename"),
        ({"type": "MERGE_ON_READ"}, "table_type is merge_on_read in the table and copy_on_write in the conf"),
        (
            {"recordkey_fields": "key"},
            "record_key is key in the table and id in the configuration; set `record_key: key`, or",
        ),
        (
            {"ordering_fields": "ts,n"},
            "ordering is ts,n in the table and at in the configuration; set `ordering: [ts, n]`",
        ),
        ({"partition_fields": "day"}, "partition is day in the table and none in the configuration"),
        ({"keygenerator_type": "COMPLEX_AVRO"}, "the key generator is complex in the table and nonpartition"),
        (
            {"version": "6"},
            "a table of version 6, but this write uses version 9; run `headwater table orders up",
        ),
    ],
)
def test_what_differs_is_named_with_the_next_step(changes: dict[str, str], problem: str) -> None:
    assert any(problem in found for found in find(existing(**changes)))


def test_a_class_of_a_key_generator_is_the_same_as_its_type() -> None:
    found = existing(keygenerator_class="org.apache.hudi.keygen.NonpartitionedAvroKeyGenerator")
    assert find(found) == []


def test_a_key_of_one_field_is_compared_with_a_stored_one() -> None:
    options = WriteOptions("orders", "upsert", ("id",), ("day", "hour"), ("at",)).to_hoodie()
    properties = {
        **TABLE,
        "hoodie.table.partition.fields": "day,hour",
        "hoodie.table.keygenerator.type": "COMPLEX",
        "hoodie.datasource.write.hive_style_partitioning": "true",
    }
    assert find(ExistingTable(properties, (), sample_key="id:7"), options) == []
    (problem,) = find(ExistingTable(properties, (), sample_key="7"), options)
    assert "`hoodie.write.complex.keygen.new.encoding: true` below `hoodie`" in problem
    options["hoodie.write.complex.keygen.new.encoding"] = "true"
    assert find(ExistingTable(properties, (), sample_key="7"), options) == []


def test_a_running_job_and_a_clock_ahead_of_utc_are_refused() -> None:
    pending = ExistingTable(TABLE, (), pending=["20260101000000000"])
    assert "the commit 20260101000000000 is in progress" in find(pending)[0]
    ahead = ExistingTable(TABLE, (), newest=NOW + timedelta(hours=1))
    assert "2026-01-01 01:00:00, in UTC a time in the future" in find(ahead)[0]
    assert find(ExistingTable(TABLE, (), newest=NOW - timedelta(seconds=1))) == []


def test_a_column_that_hudi_would_take_for_its_own_is_refused() -> None:
    assert "column _hoodie_cloud_source_path" in find(ExistingTable(TABLE, ("_hoodie_cloud_source_path",)))[0]


BY_COMMIT = {"hoodie.record.merge.mode": "COMMIT_TIME_ORDERING", "hoodie.table.ordering.fields": ""}


def test_a_table_without_an_order_of_rows_needs_the_mode_without_one() -> None:
    table = ExistingTable({**TABLE, **BY_COMMIT}, ("id",))
    ordering, mode = find(table)
    assert ordering.endswith("set `merge_mode: commit_time`")
    assert mode.startswith("merge_mode is commit_time_ordering in the table and event_time_ordering in the")
    options = {**WRITE.to_hoodie(), "hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"}
    assert find(table, options) == []
    assert list_updates(table.properties, options)["hoodie.table.ordering.fields"] == "at"


def test_a_table_without_metadata_columns_is_refused() -> None:
    found = find(ExistingTable({**TABLE, "hoodie.populate.meta.fields": "false"}, ()))
    assert "it has no metadata columns" in found[0]


def test_only_the_time_zone_and_the_style_of_no_partitions_are_changed() -> None:
    options = WRITE.to_hoodie()
    assert list_updates(TABLE, options) == {
        "hoodie.table.timeline.timezone": "UTC",
        "hoodie.datasource.write.hive_style_partitioning": "true",
    }
    partitioned = {**TABLE, "hoodie.table.partition.fields": "day"}
    assert list_updates(partitioned, options) == {"hoodie.table.timeline.timezone": "UTC"}
    assert list_updates({**TABLE, **list_updates(TABLE, options)}, options) == {}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"mode": "mirror"}, "mode: mirror: rows of HoodieStreamer do not name their object"),
        ({}, "mode: append: its record key is the object's row"),
        (
            {"record_key": "id", "index": {"type": "bucket", "buckets": 4}},
            "index: the table does not record how its rows were divided into buckets",
        ),
        (
            {"changes": {"preset": "dms"}, "record_key": "id"},
            "changes: the rows lack the order of their change records",
        ),
        (
            {"path": "d/{date}/*.json", "record_key": "id", "complete_when": {"folder": "d/*", "files": 2}},
            "complete_when: the table does not record which sets of files it has",
        ),
    ],
)
def test_modes_that_need_the_origin_of_rows_are_refused(changes: dict[str, Any], problem: str) -> None:
    config = TableConfig.model_validate({"path": "**/*.json", **changes})
    assert any(found.startswith(problem) for found in iter_mode_problems(config))


@pytest.mark.parametrize(
    "changes",
    [
        {"record_key": "id"},
        {"generated_keys": True},
        {"record_key": "id", "mode": "append", "filter_duplicates": True},
    ],
)
def test_the_other_modes_are_not(changes: dict[str, Any]) -> None:
    config = TableConfig.model_validate({"path": "**/*.json", **changes})
    assert list(iter_mode_problems(config)) == []
