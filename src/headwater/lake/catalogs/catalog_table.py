"""`CatalogTable`: a Hudi table as a catalog presents it to query engines."""

from collections.abc import Mapping
from dataclasses import dataclass, field

PartitionValues = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CatalogColumn:
    """A column: `name` in lower case and `type` in Hive's notation (`bigint`, `array<string>`).

    After `Catalog.narrow`, both use the catalog's own notation.
    """

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class StorageFormat:
    """The Java classes with which Hive, Trino and Athena read the files."""

    input_format: str
    output_format: str
    serde: str


@dataclass(frozen=True, slots=True)
class CatalogTable:
    """A table in a catalog; `columns` exclude the `partition_keys`.

    `partitions` maps values, in key order, to locations. `files` are the sorted URIs of the latest base
    files. It is None if they do not hold all rows, and for catalogs that list no files.

    For a table read from a catalog, `properties` and `serde_properties` hold everything. For a desired table,
    they hold only what headwater manages.
    """

    name: str
    location: str
    columns: tuple[CatalogColumn, ...]
    format: StorageFormat
    partition_keys: tuple[CatalogColumn, ...] = ()
    partitions: Mapping[PartitionValues, str] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)
    serde_properties: Mapping[str, str] = field(default_factory=dict)
    files: tuple[str, ...] | None = None
