"""What a Hudi table looks like in a catalog."""

import json
from dataclasses import replace

import pytest
from pyspark.sql.types import DecimalType, LongType, StringType, StructField, StructType, TimestampType

from headwater.errors import CatalogError
from headwater.lake.catalogs.entries import EntryRules, build_entries
from headwater.lake.catalogs.table_state import TableState

STATE = TableState(
    name="Orders",
    path="s3a://lake/orders",
    columns=StructType(
        [
            StructField("_hoodie_commit_time", StringType()),
            StructField("orderId", LongType()),
            StructField("Day", StringType()),
            StructField("price", DecimalType(10, 2)),
            StructField("address", StructType([StructField("City", StringType())])),
            StructField("at", TimestampType()),
        ]
    ),
    partition_fields=("Day",),
    partitions=("Day=2026-01-01", "Day=2026-01-02"),
    files=("Day=2026-01-01/a.parquet", "Day=2026-01-02/b.parquet"),
    is_merge_on_read=False,
    base_file_format="parquet",
    is_url_encoded=False,
    requested="20260102030405000",
    completed="20260102030406000",
)


def test_a_copy_on_write_table_is_one_entry_with_hive_types():
    (entry,) = build_entries(STATE, EntryRules())
    assert entry.name == "orders"
    assert [(column.name, column.type) for column in entry.columns] == [
        ("_hoodie_commit_time", "string"),
        ("orderid", "bigint"),
        ("price", "decimal(10,2)"),
        ("address", "struct<city:string>"),
        ("at", "timestamp"),
    ]
    assert [(key.name, key.type) for key in entry.partition_keys] == [("day", "string")]
    assert entry.partitions == {
        ("2026-01-01",): "s3a://lake/orders/Day=2026-01-01",
        ("2026-01-02",): "s3a://lake/orders/Day=2026-01-02",
    }
    assert entry.format.input_format == "org.apache.hudi.hadoop.HoodieParquetInputFormat"


def test_spark_schema_has_written_order_with_partition_columns_last():
    (entry,) = build_entries(STATE, EntryRules())
    properties = entry.properties
    assert properties["spark.sql.sources.provider"] == "hudi"
    assert properties["spark.sql.sources.schema.partCol.0"] == "Day"
    schema = json.loads(properties["spark.sql.sources.schema.part.0"])
    names = [field["name"] for field in schema["fields"]]
    assert names == ["_hoodie_commit_time", "orderId", "price", "address", "at", "Day"]


def test_long_schema_is_split_into_parts():
    wide = StructType([StructField(f"a_rather_long_name_{n}", StringType()) for n in range(200)])
    (entry,) = build_entries(replace(STATE, columns=wide, partition_fields=()), EntryRules())
    count = int(entry.properties["spark.sql.sources.schema.numParts"])
    parts = [entry.properties[f"spark.sql.sources.schema.part.{n}"] for n in range(count)]
    assert count > 2
    assert max(map(len, parts)) == 4_000
    assert len(json.loads("".join(parts))["fields"]) == 200


def test_a_merge_on_read_table_is_three_entries():
    newest, optimized, realtime = build_entries(
        replace(STATE, is_merge_on_read=True), EntryRules(name="shop")
    )
    assert (newest.name, optimized.name, realtime.name) == ("shop", "shop_ro", "shop_rt")
    assert newest == replace(realtime, name="shop")
    assert "Realtime" not in optimized.format.input_format
    assert "Realtime" in realtime.format.input_format
    flags = [entry.serde_properties["hoodie.query.as.ro.table"] for entry in (optimized, realtime)]
    assert flags == ["true", "false"]


def test_hudis_own_columns_may_be_left_out():
    (entry,) = build_entries(STATE, EntryRules(meta_columns=False))
    assert not [column.name for column in entry.columns if column.name.startswith("_hoodie_")]


@pytest.mark.parametrize(
    ("fields", "folder", "is_url_encoded", "values"),
    [
        (("day",), "day=2026-01-01", False, ("2026-01-01",)),
        (("day",), "2026-01-01", False, ("2026-01-01",)),
        (("day",), "2026/01/01", False, ("2026/01/01",)),
        (("day",), "day=2026%2F01%2F01", True, ("2026/01/01",)),
        (("day",), "50%25", False, ("50%25",)),
        (("year", "region"), "year=2026/region=a=b", False, ("2026", "a=b")),
        (
            ("year", "region"),
            "2026/__HIVE_DEFAULT_PARTITION__",
            False,
            ("2026", "__HIVE_DEFAULT_PARTITION__"),
        ),
    ],
)
def test_values_are_read_from_a_partitions_folder(fields, folder, is_url_encoded, values):
    state = replace(STATE, partition_fields=fields, partitions=(folder,), is_url_encoded=is_url_encoded)
    (entry,) = build_entries(state, EntryRules())
    assert list(entry.partitions) == [values]


def test_ambiguous_partition_folder_is_an_error():
    state = replace(STATE, partition_fields=("day", "region"), partitions=("2026/01/01/eu",))
    with pytest.raises(CatalogError, match="4 path segments for the fields day, region"):
        build_entries(state, EntryRules())


def test_a_partition_column_that_no_file_has_is_a_text():
    (entry,) = build_entries(replace(STATE, partition_fields=("gone",), partitions=("gone=1",)), EntryRules())
    assert entry.partition_keys[0].type == "string"
