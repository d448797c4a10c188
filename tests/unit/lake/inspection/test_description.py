"""What a table is, on one page."""

import json
from pathlib import Path

import pytest

from headwater.errors import TableNotFoundError
from headwater.lake import inspection
from headwater.lake.index_definitions import parse_index_definitions
from headwater.lake.inspection.description import build_identity
from headwater.lake.layout import TableAddress
from headwater.lake.properties import TableProperties
from tests.fixtures.inspection.addresses import NOW, TIMELINE, copy_fixture, find_fixture


def test_copy_on_write_table_is_described():
    found = inspection.describe(find_fixture("orders_cow"), NOW)
    identity = found.identity
    assert (identity.table_type, identity.table_version, identity.base_file_format) == (
        "copy_on_write",
        9,
        "parquet",
    )
    assert (identity.record_keys, identity.partition_fields) == (("order_id",), ("region",))
    assert (identity.ordering_fields, identity.merge_mode) == (("updated_at",), "event_time_ordering")
    assert (identity.hive_style_partitions, identity.meta_fields, identity.cdc, identity.timezone) == (
        True,
        True,
        "off",
        "UTC",
    )
    assert (identity.key_generator, identity.metadata_partitions, identity.indexes) == ("SIMPLE", (), ())
    assert (found.rows, found.commits, found.archived_commits) == (8, 3, 0)
    assert found.first_commit == "20261121060030193"
    assert found.last_commit is not None
    assert (found.last_commit.instant, found.last_commit.operation) == ("20261121060033082", "delete")
    assert found.properties["hoodie.table.name"] == "orders_cow"
    types = {column.name: column.type for column in found.columns}
    assert types["amount"] == "decimal(10,2)"
    assert types["items"] == "array<struct<sku:string,n:bigint>>"
    assert not any(name.startswith("_hoodie") for name in types)


def test_rows_under_logs_are_counted_by_reading():
    found = inspection.describe(find_fixture("orders_mor"), NOW)
    assert (found.identity.table_type, found.rows, found.totals.log_files) == ("merge_on_read", 8, 3)
    assert inspection.describe(find_fixture("managed"), NOW).rows == 4


def test_archived_commits_count_from_the_first_on():
    found = inspection.describe(find_fixture("archived"), NOW)
    assert (found.commits, found.archived_commits, found.rows) == (3, 4, 7)
    assert found.first_commit == "20261121060036331"
    assert found.created_at is not None
    assert found.created_at.isoformat() == "2026-11-21T06:00:36.331000+00:00"


def test_pending_actions_are_counted():
    assert inspection.describe(find_fixture("managed"), NOW).pending_actions == 1


def test_table_without_commits_is_described(tmp_path):
    address = copy_fixture("orders_cow", tmp_path)
    for path in filter(Path.is_file, Path(address.path, TIMELINE).iterdir()):
        path.unlink()
    for path in Path(address.path).glob("region=*/*.parquet"):
        path.unlink()
    found = inspection.describe(address, NOW)
    assert (found.rows, found.columns, found.commits) == (0, (), 0)
    assert (found.created_at, found.first_commit, found.last_commit) == (None, None, None)


def test_corrupt_newest_commit_is_reported_and_the_rest_described(tmp_path):
    address = copy_fixture("orders_mor", tmp_path)
    max(Path(address.path, TIMELINE).glob("*.deltacommit")).write_bytes(b"torn")
    found = inspection.describe(address, NOW)
    assert found.identity.record_keys == ("order_id",)
    assert found.problems
    assert found.last_commit is not None
    assert found.last_commit.problem is not None


def test_properties_under_change_are_read_from_their_copy(tmp_path):
    address = copy_fixture("orders_cow", tmp_path)
    path = Path(address.path, ".hoodie/hoodie.properties")
    path.rename(path.with_name("hoodie.properties.backup"))
    assert [one.operation for one in inspection.list_commits(address, NOW)] == ["delete", "upsert", "upsert"]


@pytest.mark.parametrize("content", [b"", b"# only a comment\n"])
def test_incomplete_table_is_no_table(tmp_path, content):
    (tmp_path / ".hoodie").mkdir()
    (tmp_path / ".hoodie/hoodie.properties").write_bytes(content)
    with pytest.raises(TableNotFoundError):
        inspection.describe(TableAddress("table", str(tmp_path)), NOW)


def test_cdc_custom_keys_and_older_names_are_reported():
    identity = build_identity(
        TableProperties(
            {
                "hoodie.table.cdc.enabled": "true",
                "hoodie.table.cdc.supplemental.logging.mode": "OP_KEY_ONLY",
                "hoodie.table.keygenerator.class": "org.example.Keys",
                "hoodie.table.keygenerator.type": "USER_PROVIDED",
                "hoodie.table.precombine.field": "ts",
                "hoodie.table.metadata.partitions": "files,record_index",
            }
        )
    )
    assert (identity.cdc, identity.key_generator, identity.ordering_fields) == (
        "op_key_only",
        "org.example.Keys",
        ("ts",),
    )
    assert identity.metadata_partitions == ("files", "record_index")
    assert (identity.timezone, identity.table_type, identity.meta_fields) == ("LOCAL", "copy_on_write", True)


def test_indexes_are_read_from_their_definitions():
    day = {"indexType": "column_stats", "indexFunction": "from_unixtime", "sourceFields": ["ts"]}
    text = json.dumps({"indexDefinitions": {"expr_index_day": day}})
    (index,) = parse_index_definitions(text)
    assert (index.name, index.kind, index.function, index.columns) == (
        "expr_index_day",
        "column_stats",
        "from_unixtime",
        ("ts",),
    )
    assert not index.is_built
    assert parse_index_definitions(text, ["files", "expr_index_day"])[0].is_built
    assert parse_index_definitions("{}") == ()


def test_definition_that_outlived_its_index_is_not_built():
    (index,) = inspection.describe(find_fixture("managed"), NOW).identity.indexes
    assert (index.name, index.is_built) == ("column_stats", False)


def test_rows_that_cannot_be_counted_are_unknown_and_reported(tmp_path):
    address = copy_fixture("orders_cow", tmp_path)
    (current, *_) = inspection.read_layout(address).slices
    assert current.base_file is not None
    Path(address.path, current.base_file.path).write_bytes(b"PAR1")
    found = inspection.describe(address, NOW)
    assert found.rows is None
    assert "the rows of 1 of 2 file groups cannot be counted" in found.problems
    assert [one.rows for one in inspection.list_partitions(address)] == [None, 3]


def test_lake_gives_the_functions():
    from headwater import lake

    assert lake.inspection.describe is inspection.describe
    with pytest.raises(AttributeError):
        _ = lake.nothing_of_the_kind
