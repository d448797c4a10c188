"""`catalogs:` where query engines look up the tables."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, get_args
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from headwater.config.section import FieldNames, Section, SectionError, TextMap

CatalogType = Literal["glue", "hive"]

_ALLOWED: Mapping[str, tuple[str, ...]] = {
    "glue": ("region", "endpoint", "catalog_id"),
    "hive": ("address",),
}


class CatalogConfig(Section):
    """A catalog that is told of the data tables after their commits: their columns, partitions and place. It
    is never in the way of a commit: one that does not answer is tried again."""

    type: CatalogType = Field(
        description="`glue`: the AWS Glue Data Catalog. `hive`: a Hive Metastore, by Thrift."
    )
    name: str | None = Field(
        None,
        pattern=r"^[a-z][a-z0-9_-]{0,62}$",
        description="What `status`, metrics and `sync --catalog` call it; default: its type.",
    )
    database: str = Field(
        pattern=r"^[a-z0-9_]{1,255}$", description="Database of the tables there.", examples=["shop"]
    )
    create_database: bool = Field(True, description="Make the database when there is none.")
    tables: FieldNames = Field((), description="Only these tables; default: all data tables.")
    exclude: FieldNames = Field((), description="Not these tables.")
    table_names: TextMap = Field(
        {},
        description="Names there of tables that are called otherwise.",
        examples=[{"orders": "shop_orders"}],
    )
    meta_columns: bool = Field(True, description="Also show Hudi's own five columns, as its own tools do.")
    region: str | None = Field(None, description="Region; default: AWS's own chain (glue).")
    endpoint: str | None = Field(None, description="Endpoint, when it is not AWS itself (glue).")
    catalog_id: str | None = Field(
        None, pattern=r"^\d{12}$", description="Account of the catalog; default: one's own (glue)."
    )
    address: str | None = Field(
        None, description="URI of the metastore (hive).", examples=["thrift://metastore:9083"]
    )

    @property
    def label(self) -> str:
        """What it is called: as given, else its type."""
        return self.name or self.type

    def takes(self, table: str) -> bool:
        """Whether it is told of that table."""
        return table not in self.exclude and (not self.tables or table in self.tables)

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
            yield (name,), f"has no meaning with `type: {self.type}`; only {have} has it"
        if self.type == "hive" and not _is_thrift(self.address):
            text = "missing" if self.address is None else f"{self.address!r} is not one"
            yield ("address",), f"{text}; `type: hive` needs its URI, such as `thrift://metastore:9083`"


def _is_thrift(address: str | None) -> bool:
    parts = urlsplit(address or "")
    try:
        return parts.scheme == "thrift" and bool(parts.hostname) and parts.port is not None
    except ValueError:
        return False


def iter_catalog_problems(
    catalogs: Sequence[CatalogConfig], tables: Sequence[str]
) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """What only shows beside the other catalogs and the tables."""
    seen: set[str] = set()
    for number, catalog in enumerate(catalogs):
        path: tuple[str | int, ...] = ("catalogs", number)
        if catalog.label in seen:
            yield (*path, "name"), f"there are two catalogs {catalog.label!r}; give each a `name` of its own"
        seen.add(catalog.label)
        for key in ("tables", "exclude", "table_names"):
            for name in getattr(catalog, key):
                if name not in tables:
                    yield (*path, key), f"no table {name!r}; configured are: {', '.join(tables)}"
        names = [catalog.table_names.get(table, table).lower() for table in tables if catalog.takes(table)]
        for name in sorted({name for name in names if names.count(name) > 1}):
            yield (*path, "table_names"), f"two tables would be {name!r} there: case does not tell them apart"
