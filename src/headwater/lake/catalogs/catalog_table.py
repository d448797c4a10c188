"""`CatalogTable`: a Hudi table as a catalog tells query engines of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

PartitionValues = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CatalogColumn:
    """`name` in lower case, `type` in Hive's words (`bigint`, `array<string>`), unless a catalog has narrowed
    it: then both as that one writes them."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class StorageFormat:
    """The Java classes by which Hive, Trino and Athena know how to read the files."""

    input_format: str
    output_format: str
    serde: str


@dataclass(frozen=True, slots=True)
class CatalogTable:
    """`columns` are without the `partition_keys`. `partitions` are places by values, in the keys' order.

    `files` are the URIs of the base files of the newest state, sorted; None where these do not hold all rows,
    and in a catalog that is told of no files.

    `properties` and `serde_properties` are, of a table in a catalog, all that it has; of a wanted one, those
    that headwater answers for.
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
