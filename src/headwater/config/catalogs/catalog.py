"""One catalog of `catalogs:`, and its conflicts with other catalogs."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, get_args
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from headwater.config.catalogs.hive_address import METASTORE_EXAMPLE, SERVER_EXAMPLE, parse_hive_address
from headwater.config.section import FieldNames, Section, SectionError, TextMap
from headwater.config.table import TableConfig

CatalogType = Literal["glue", "hive", "datahub", "bigquery"]
OwnTable = Literal["events", "quarantine", "ledger", "reconciles"]

_ALLOWED: Mapping[str, tuple[str, ...]] = {
    "glue": ("region", "endpoint", "catalog_id"),
    "hive": ("address", "user"),
    "datahub": ("address", "environment"),
    "bigquery": ("project", "region", "endpoint"),
}
_EXAMPLES = {"hive": METASTORE_EXAMPLE, "datahub": "http://datahub:8080"}
_BIGQUERY_LAKES = "gs://"
_TABLE_NAME = re.compile(r"\w{1,255}", re.ASCII)


class CatalogConfig(Section):
    """A catalog to which columns, partitions and location of the data tables are synced after each commit. A
    sync never blocks a commit; failed syncs are retried."""

    type: CatalogType = Field(
        description="`glue`: the AWS Glue Data Catalog. `hive`: a Hive Metastore over Thrift, which requires "
        "`pip install 'headwater[hive]'`, or HiveServer2 with a JDBC URL, which requires `pip install "
        "'headwater[hiveserver2]'`; its password comes from the environment variable "
        "`HEADWATER_HIVE_PASSWORD`. `datahub`: DataHub's metadata service; requires `pip install "
        "'headwater[datahub]'`; its token comes from the environment variable `DATAHUB_GMS_TOKEN`. "
        "`bigquery`: Google's BigQuery, with external tables over a manifest of files; requires `pip install "
        "'headwater[bigquery]'`."
    )
    name: str | None = Field(
        None,
        pattern=r"^[a-z][a-z0-9_-]{0,62}$",
        description="Name in `status`, metrics and `sync --catalog`. Default: the type.",
    )
    database: str = Field(
        pattern=r"^[a-z0-9_]{1,255}$",
        description="Database of the tables; in BigQuery, the dataset.",
        examples=["shop"],
    )
    create_database: bool = Field(True, description="Create the database if it does not exist.")
    tables: FieldNames = Field((), description="Tables to sync. Default: all data tables.")
    exclude: FieldNames = Field((), description="Tables to exclude.")
    own_tables: tuple[OwnTable, ...] = Field(
        (),
        description="headwater's own tables to sync, too. Their names in the catalog are `headwater_events` "
        "and so on, unless `table_names` has others.",
        examples=[["events", "quarantine"]],
    )
    table_names: TextMap = Field(
        {},
        description="Names of tables in the catalog, where they differ.",
        examples=[{"orders": "shop_orders"}],
    )
    meta_columns: bool = Field(
        True, description="Include Hudi's five meta fields, as Hudi's own sync tools do."
    )
    project: str | None = Field(
        None,
        pattern=r"^([a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]$",
        description="Project of the dataset (bigquery).",
        examples=["acme-analytics"],
    )
    region: str | None = Field(
        None,
        description="Region. Default: AWS's default chain (glue). Location of a created dataset. Default: "
        "BigQuery's (bigquery).",
    )
    endpoint: str | None = Field(
        None,
        description="Endpoint of a Glue-compatible service (glue), or of a BigQuery-compatible one, which "
        "may be called without credentials (bigquery).",
    )
    catalog_id: str | None = Field(
        None,
        pattern=r"^\d{12}$",
        description="Account of the catalog. Default: that of the credentials (glue).",
    )
    address: str | None = Field(
        None,
        description="URI of the metastore or JDBC URL of HiveServer2 (hive), URI of the metadata service "
        "(datahub).",
        examples=[METASTORE_EXAMPLE, SERVER_EXAMPLE],
    )
    user: str | None = Field(
        None,
        description="User of HiveServer2. Default: the user that runs headwater (hive, with a JDBC URL).",
    )
    environment: str = Field(
        "PROD",
        pattern=r"^[A-Z_]{1,30}$",
        description="DataHub's environment of the tables, such as PROD (datahub).",
    )

    @property
    def label(self) -> str:
        """Return the catalog's name: as given, else its type."""
        return self.name or self.type

    def takes(self, table: str) -> bool:
        """True if that data table is synced to it."""
        return table not in self.exclude and (not self.tables or table in self.tables)

    def select(self, tables: Iterable[str]) -> list[str]:
        """Return what is synced to it: some of the data tables, and headwater's own."""
        return [*filter(self.takes, tables), *self.own_tables]

    def name_entry(self, table: str) -> str:
        """Return the name of a table in the catalog."""
        default = f"headwater_{table}" if table in get_args(OwnTable) else table
        return self.table_names.get(table, default)

    @model_validator(mode="after")
    def _check(self) -> "CatalogConfig":
        problems = [*self._iter_problems()]
        if problems:
            raise SectionError(problems)
        return self

    def _iter_problems(self) -> Iterator[tuple[tuple[str, ...], str]]:
        own = {name for names in _ALLOWED.values() for name in names}
        for name in sorted(self.model_fields_set & own - set(_ALLOWED[self.type])):
            have = ", ".join(kind for kind in get_args(CatalogType) if name in _ALLOWED[kind])
            yield (name,), f"not applicable with `type: {self.type}`; applies to: {have}"
        if (text := self._describe_address_problem()) is not None:
            yield (
                ("address",),
                (f"{text}; `type: {self.type}` requires an address, such as `{_EXAMPLES[self.type]}`"),
            )
        elif self.type == "hive" and self.user and not parse_hive_address(str(self.address)).is_server:
            yield ("user",), f"not applicable to a metastore; only to HiveServer2, such as `{SERVER_EXAMPLE}`"
        if self.type == "bigquery" and self.project is None:
            yield ("project",), "missing; `type: bigquery` requires the project of the dataset"
        for table, name in self.table_names.items():
            if not _TABLE_NAME.fullmatch(name):
                yield (
                    ("table_names", table),
                    (f"{name!r} is not a valid name. Allowed: letters, digits and `_`"),
                )

    def _describe_address_problem(self) -> str | None:
        if self.type not in _EXAMPLES:
            return None
        if self.address is None:
            return "missing"
        try:
            if self.type == "hive":
                parse_hive_address(self.address)
                return None
            parts = urlsplit(self.address)
            is_one = parts.scheme in ("http", "https") and bool(parts.hostname)
            return None if is_one else f"{self.address!r} is not a valid address"
        except ValueError as error:
            return str(error)


def iter_catalog_problems(
    catalogs: Sequence[CatalogConfig], tables: Mapping[str, TableConfig], lake: str
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield conflicts with the other catalogs, the tables and the lake."""
    seen: set[str] = set()
    for number, catalog in enumerate(catalogs):
        path: tuple[str | int, ...] = ("catalogs", number)
        if catalog.label in seen:
            yield (*path, "name"), f"two catalogs are named {catalog.label!r}; set a unique `name`"
        seen.add(catalog.label)
        for key in ("tables", "exclude", "table_names"):
            for name in getattr(catalog, key):
                if name not in tables and not (key == "table_names" and name in catalog.own_tables):
                    yield (*path, key), f"unknown table {name!r}. Configured tables: {', '.join(tables)}"
        names = [catalog.name_entry(table).lower() for table in catalog.select(tables)]
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield (
                (*path, "table_names"),
                (f"two tables would have the name {name!r}: names are case-insensitive"),
            )
        if catalog.type == "bigquery":
            taken = {name: table for name, table in tables.items() if catalog.takes(name)}
            if catalog.own_tables:
                text = "not applicable with `type: bigquery`, which reads base files only"
                yield (*path, "own_tables"), text
            for key, text in _iter_bigquery_problems(taken, lake):
                yield (*path, key), text


def _iter_bigquery_problems(tables: Mapping[str, TableConfig], lake: str) -> Iterator[tuple[str, str]]:
    """Yield why BigQuery cannot read the tables, by key of the catalog: its `tables` may exclude them."""
    if not lake.startswith(_BIGQUERY_LAKES):
        yield "type", f"BigQuery reads the lake's files: the lake must be at gs://, not at {lake}"
    for name, table in tables.items():
        if table.table_type == "merge_on_read":
            needs = "`table_type: copy_on_write`: BigQuery reads base files only"
        elif table.base_file_format != "parquet":
            needs = "`base_file_format: parquet`"
        elif table.partition and table.partition_style != "hive":
            needs = "`partition_style: hive`: BigQuery reads partition values from folder names"
        elif table.partition and not table.drop_partition_columns:
            needs = (
                "`drop_partition_columns: true`: BigQuery rejects a column that is in both files and folder "
                "names"
            )
        elif table.columns:
            needs = "no `columns`: BigQuery does not support Hudi's own types"
        else:
            continue
        yield "exclude", f"table {name!r} requires {needs}; or exclude the table"
