"""What HiveServer2 is told."""

from dataclasses import replace
from typing import Any

import pytest

from headwater.lake.catalogs.catalog_table import CatalogColumn, CatalogTable, StorageFormat
from headwater.lake.catalogs.hive.description import Description
from headwater.lake.catalogs.hive.statements import (
    create_table,
    iter_alterations,
    iter_partition_changes,
    parse_partition,
    quote_name,
    quote_text,
)
from headwater.lake.catalogs.planning import TableChange

FORMAT = StorageFormat("in.Put", "out.Put", "ser.De")
PLACE = "struct<date:string,at:map<string,struct<x:int>>>"
COLUMNS = (CatalogColumn("id", "bigint"), CatalogColumn("place", PLACE))
TABLE = CatalogTable(
    name="orders",
    location="s3a://lake/orders",
    columns=COLUMNS,
    format=FORMAT,
    partition_keys=(CatalogColumn("day", "string"),),
    properties={"EXTERNAL": "TRUE", "note": "it's ${hiveconf:x} \\ more"},
    serde_properties={"path": "s3a://lake/orders"},
)
HELD = Description(
    location=TABLE.location,
    columns=TABLE.columns,
    partition_keys=TABLE.partition_keys,
    format=FORMAT,
    properties=TABLE.properties,
    serde_properties=TABLE.serde_properties,
    comments={"id": "whose?"},
)


def test_names_and_texts_are_quoted() -> None:
    assert quote_name("shop", "a`b") == "`shop`.`a``b`"
    # A variable in a statement would be replaced before the statement is read.
    assert quote_text("it's ${env:HOME} \\n") == r"'it\'s \u0024{env:HOME} \\n'"


def test_a_new_table_is_external_and_fields_are_quoted() -> None:
    said = create_table("shop", TABLE)
    assert said.startswith(
        "CREATE EXTERNAL TABLE IF NOT EXISTS `shop`.`orders` (`id` bigint, `place` struct<"
    )
    assert "struct<`date`:string,`at`:map<string,struct<`x`:int>>>" in said
    assert "PARTITIONED BY (`day` string) ROW FORMAT SERDE 'ser.De'" in said
    assert "STORED AS INPUTFORMAT 'in.Put' OUTPUTFORMAT 'out.Put' LOCATION 's3a://lake/orders'" in said
    plain = create_table("shop", replace(TABLE, partition_keys=()))
    assert "PARTITIONED" not in plain


def test_unchanged_tables_need_no_statement() -> None:
    assert list(iter_alterations("shop", TABLE, HELD)) == []


@pytest.mark.parametrize(
    ("held", "said"),
    [
        (
            {"properties": {"EXTERNAL": "FALSE", "note": TABLE.properties["note"], "part.1": "x"}},
            [
                "ALTER TABLE `shop`.`orders` SET TBLPROPERTIES ('EXTERNAL'='TRUE')",
                "ALTER TABLE `shop`.`orders` UNSET TBLPROPERTIES IF EXISTS ('part.1')",
            ],
        ),
        (
            {"format": replace(FORMAT, input_format="other")},
            [
                "ALTER TABLE `shop`.`orders` SET FILEFORMAT INPUTFORMAT 'in.Put' OUTPUTFORMAT 'out.Put' "
                "SERDE 'ser.De'"
            ],
        ),
        (
            {"serde_properties": {}},
            ["ALTER TABLE `shop`.`orders` SET SERDEPROPERTIES ('path'='s3a://lake/orders')"],
        ),
    ],
)
def test_differences_are_altered(held: dict[str, Any], said: list[str]) -> None:
    assert list(iter_alterations("shop", TABLE, replace(HELD, **held))) == said


def test_columns_keep_their_comments_and_change_in_partitions_too() -> None:
    (said,) = iter_alterations("shop", replace(TABLE, columns=COLUMNS[:1]), HELD)
    assert said == "ALTER TABLE `shop`.`orders` REPLACE COLUMNS (`id` bigint COMMENT 'whose?') CASCADE"
    flat = replace(TABLE, columns=COLUMNS[:1], partition_keys=())
    (said,) = iter_alterations("shop", flat, HELD)
    assert said.endswith("COMMENT 'whose?')")


def test_partitions_are_added_and_dropped_a_hundred_at_a_time() -> None:
    days: dict[tuple[str, ...], str] = {(f"d{n}",): f"s3a://lake/orders/d{n}" for n in range(101)}
    first, second = iter_partition_changes("shop", TableChange(TABLE, added=days), HELD)
    assert first.startswith(
        "ALTER TABLE `shop`.`orders` ADD IF NOT EXISTS PARTITION (`day`='d0') LOCATION 's3a:"
    )
    assert (first.count(" PARTITION ("), second.count(" PARTITION (")) == (100, 1)
    (said,) = iter_partition_changes("shop", TableChange(TABLE, dropped=(("a",), ("it's",))), HELD)
    assert said.endswith(r"`orders` DROP IF EXISTS PARTITION (`day`='a'), PARTITION (`day`='it\'s')")


def test_only_relocated_partitions_are_re_created() -> None:
    held = replace(HELD, partitions={("a",): "file:/lake/a", ("b",): "file:/old/b"})
    change = TableChange(TABLE, moved={("a",): "/lake/a", ("b",): "/lake/b"})
    assert list(iter_partition_changes("shop", change, held)) == [
        "ALTER TABLE `shop`.`orders` DROP IF EXISTS PARTITION (`day`='b')",
        "ALTER TABLE `shop`.`orders` ADD IF NOT EXISTS PARTITION (`day`='b') LOCATION '/lake/b'",
    ]
    other = replace(held, format=replace(FORMAT, serde="older"))
    gone, added = iter_partition_changes("shop", change, other)
    assert (gone.count("PARTITION ("), added.count("PARTITION (")) == (2, 2)


def test_values_are_parsed_from_hive_partition_names() -> None:
    assert parse_partition("day=2026-01-01/region=eu b+c%2Fd%3De") == ("2026-01-01", "eu b+c/d=e")
