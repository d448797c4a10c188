"""`catalogs:` of the configuration."""

from pathlib import Path

import pytest

from headwater.config.loader import load_settings
from headwater.config.settings import Settings
from headwater.errors import ConfigError

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


def test_a_catalog_takes_all_tables_unless_it_is_told_which(tmp_path: Path) -> None:
    settings = load(
        tmp_path,
        "  - {type: glue, database: shop, region: eu-central-1, exclude: Orders2}\n"
        "  - {type: hive, database: shop, address: 'thrift://metastore:9083', tables: [Orders2]}\n"
        "  - {type: hive, name: other, database: shop, address: 'thrift://other:9083'}\n",
    )
    taken = {c.label: [name for name in settings.tables if c.takes(name)] for c in settings.catalogs}
    assert taken == {"glue": ["orders"], "hive": ["Orders2"], "other": ["orders", "Orders2"]}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("  - {type: hive, database: shop}", "catalogs[0].address: missing; `type: hive` needs its URI"),
        (
            "  - {type: hive, database: shop, address: 'metastore:9083'}",
            "is not one; `type: hive` needs its URI",
        ),
        ("  - {type: glue, database: shop, address: 'thrift://a:1'}", "catalogs[0].address: has no meaning"),
        ("  - {type: datahub, database: shop, address: 'datahub:8080'}", "`type: datahub` needs its URI"),
        ("  - {type: glue, database: shop, table_names: {orders: 'a-b'}}", "table_names.orders: 'a-b' is no"),
        ("  - {type: glue, database: Shop}", "catalogs[0].database"),
        ("  - {type: glue, database: shop, tables: order}", "catalogs[0].tables: no table 'order'"),
        ("  - {type: glue, database: shop, databse: shop}", "databse"),
        ("  - {type: polaris, database: shop}", "Allowed: glue, hive, datahub"),
        (
            "  - {type: glue, database: shop}\n  - {type: glue, database: other}",
            "catalogs[1].name: there are two catalogs 'glue'",
        ),
        (
            "  - {type: glue, database: shop, table_names: {Orders2: ORDERS}}",
            "catalogs[0].table_names: two tables would be 'orders' there",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_its_path(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, text)
    assert said in caught.value.message
