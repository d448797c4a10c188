"""`catalogs:` of the configuration."""

from pathlib import Path

import pytest

from headwater.config.catalogs.hive_address import HiveAddress, parse_hive_address
from headwater.config.loader import load_settings
from headwater.config.settings import Settings
from headwater.errors import ConfigError

BIGQUERY = "  - {type: bigquery, project: acme-analytics, database: shop}"
SERVER = "  - {type: hive, database: shop, address: 'jdbc:hive2://hiveserver:10000USER'}"
HEAD = """
source: {type: local, path: landing}
lake: lake
tables:
  orders: {path: "orders/*.json"}
  Orders2: {path: "more/*.json"}
catalogs:
"""


def load(folder: Path, text: str) -> Settings:
    path = folder / "headwater.yaml"
    path.write_text(HEAD + text)
    return load_settings(path, environ={})


def test_catalog_includes_all_tables_by_default(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        "  - {type: glue, database: shop, region: eu-central-1, exclude: Orders2}\n"
        "  - {type: hive, database: shop, address: 'thrift://metastore:9083', tables: [Orders2]}\n"
        "  - {type: hive, name: other, database: shop, address: 'thrift://other:9083'}\n",
    )
    taken = {c.label: [name for name in settings.tables if c.takes(name)] for c in settings.catalogs}
    assert taken == {"glue": ["orders"], "hive": ["Orders2"], "other": ["orders", "Orders2"]}


def test_own_tables_are_synced_under_names_of_their_own(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        "  - {type: glue, database: shop, exclude: Orders2, own_tables: [events, ledger],\n"
        "     table_names: {orders: shop_orders, ledger: states}}\n",
    )
    (catalog,) = settings.catalogs
    selected = catalog.select(settings.tables)
    assert selected == ["orders", "events", "ledger"]
    assert [catalog.name_entry(table) for table in selected] == ["shop_orders", "headwater_events", "states"]


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("thrift://metastore:9083", HiveAddress("metastore", 9083)),
        ("jdbc:hive2://hs", HiveAddress("hs", 10_000, is_server=True)),
        ("jdbc:hive2://hs:1/shop;auth=noSasl", HiveAddress("hs", 1, is_server=True, is_plain=True)),
        (
            "jdbc:hive2://hs:10001/;ssl=true;transportMode=http;httpPath=gateway/hive",
            HiveAddress("hs", 10_001, is_server=True, is_encrypted=True, http_path="gateway/hive"),
        ),
        (
            "jdbc:hive2://hs:10001/;transportMode=http",
            HiveAddress("hs", 10_001, is_server=True, http_path="cliservice"),
        ),
        ("jdbc:hive2://hs:1/;transportMode=binary;httpPath=x", HiveAddress("hs", 1, is_server=True)),
    ],
)
def test_hive_is_asked_where_the_address_says(text: str, address: HiveAddress) -> None:
    assert parse_hive_address(text) == address


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "  - {type: hive, database: shop}",
            "catalogs[0].address: missing; `type: hive` requires an address",
        ),
        (
            "  - {type: hive, database: shop, address: 'metastore:9083'}",
            "is not a valid address; `type: hive` requires an address",
        ),
        ("  - {type: glue, database: shop, address: 'thrift://a:1'}", "catalogs[0].address: not applicable"),
        (
            "  - {type: datahub, database: shop, address: 'datahub:8080'}",
            "`type: datahub` requires an address",
        ),
        ("  - {type: glue, database: shop, table_names: {orders: 'a-b'}}", "table_names.orders: 'a-b' is no"),
        ("  - {type: glue, database: Shop}", "catalogs[0].database"),
        ("  - {type: glue, database: shop, own_tables: [event]}", "catalogs[0].own_tables[0]: 'event'"),
        ("  - {type: glue, database: shop, table_names: {events: e}}", "unknown table 'events'"),
        (
            "  - {type: glue, database: shop, own_tables: [events], table_names: {events: ORDERS}}",
            "two tables would have the name 'orders'",
        ),
        ("  - {type: glue, database: shop, tables: order}", "catalogs[0].tables: unknown table 'order'"),
        ("  - {type: glue, database: shop, databse: shop}", "databse"),
        ("  - {type: polaris, database: shop}", "Allowed: glue, hive, datahub, bigquery"),
        ("  - {type: bigquery, database: shop}", "catalogs[0].project: missing; `type: bigquery` requires"),
        ("  - {type: bigquery, project: Acme, database: shop}", "catalogs[0].project"),
        ("  - {type: hive, database: shop, project: acme-analytics}", "applies to: bigquery"),
        (
            SERVER.replace("USER", ";principal=a"),
            "unknown parameter 'principal'. Allowed: auth",
        ),
        (SERVER.replace("USER", ";ssl=yes"), "parameter 'ssl' is 'yes'. Allowed: true or false"),
        (SERVER.replace("USER", ",other:10000"), "address: the address names several servers"),
        (
            "  - {type: hive, database: shop, address: 'thrift://a:1', user: ada}",
            "catalogs[0].user: not applicable to a metastore",
        ),
        (BIGQUERY, "catalogs[0].type: BigQuery reads the lake's files: the lake must be at gs://"),
        (
            "  - {type: glue, database: shop}\n  - {type: glue, database: other}",
            "catalogs[1].name: two catalogs are named 'glue'",
        ),
        (
            "  - {type: glue, database: shop, table_names: {Orders2: ORDERS}}",
            "catalogs[0].table_names: two tables would have the name 'orders': names are case-insensitive",
        ),
    ],
)
def test_invalid_catalog_settings_are_rejected_with_their_path(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    assert said in caught.value.message


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("table_type: merge_on_read, record_key: id", "table 'visits' requires `table_type: copy_on_write`"),
        ("base_file_format: orc", "table 'visits' requires `base_file_format: parquet`"),
        (
            "partition: day, partition_style: plain, drop_partition_columns: true",
            "table 'visits' requires `partition_style: hive`",
        ),
        ("format: json, columns: {v: vector(8)}", "table 'visits' requires no `columns`"),
        ("partition: day", "table 'visits' requires `drop_partition_columns: true`"),
    ],
)
def test_a_table_that_bigquery_cannot_read_is_named_unless_it_is_left_out(
    tmp_path: Path, table: str, said: str
) -> None:
    path = tmp_path / "headwater.yaml"
    spark = "spark: {config: {spark.sql.orc.enableVectorizedReader: false}}"
    text = HEAD.replace("lake: lake", f"lake: gs://acme-lake/bronze\n{spark}")
    text = text.replace("catalogs:", f'  visits: {{path: "visits/*.json", {table}}}\ncatalogs:')
    path.write_text(text + BIGQUERY)
    with pytest.raises(ConfigError) as caught:
        load_settings(path, environ={})
    assert f"catalogs[0].exclude: {said}" in caught.value.message
    path.write_text(text + BIGQUERY.replace("shop", "shop, exclude: visits"))
    (catalog,) = load_settings(path, environ={}).catalogs
    assert catalog.project == "acme-analytics"
