"""Maps a Hudi table to catalog entries, as Hudi's own sync tools do. Pure.

Spark, Trino, Athena, Hive and Presto therefore read them like any other Hudi table. A copy-on-write table has
one entry. A merge-on-read table has three: `NAME` and `NAME_rt` (logs merged) and `NAME_ro` (base files
only).
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote

from headwater.errors import CatalogError
from headwater.lake.catalogs.catalog_table import CatalogColumn, CatalogTable, PartitionValues, StorageFormat
from headwater.lake.catalogs.planning import LAST_COMMIT, LAST_COMPLETION, SPARK_SCHEMA
from headwater.lake.catalogs.table_state import TableState
from headwater.lake.typed_options.catalogs import QUERY_AS_READ_OPTIMIZED

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_HUDI = "org.apache.hudi.hadoop"
_HIVE = "org.apache.hadoop.hive.ql.io"
# Hive's metastore limits a property to 4,000 characters.
_SCHEMA_PART = 4_000
_META_PREFIX = "_hoodie_"


@dataclass(frozen=True, slots=True)
class EntryRules:
    """Options for entries: `name` is the table's name in the catalog, by default its own name.

    Without `meta_columns`, Hudi's five metadata columns are omitted.
    """

    name: str = ""
    meta_columns: bool = True


def build_entries(state: TableState, rules: EntryRules) -> tuple[CatalogTable, ...]:
    """Build the entries of one table. Raises `CatalogError` for a partition path that cannot be parsed."""
    name = (rules.name or state.name).lower()
    if not state.is_merge_on_read:
        return (_build_entry(state, rules, name, is_realtime=False, is_optimized=False),)
    return (
        _build_entry(state, rules, name, is_realtime=True, is_optimized=False),
        _build_entry(state, rules, f"{name}_ro", is_realtime=False, is_optimized=True),
        _build_entry(state, rules, f"{name}_rt", is_realtime=True, is_optimized=False),
    )


def _build_entry(
    state: TableState, rules: EntryRules, name: str, *, is_realtime: bool, is_optimized: bool
) -> CatalogTable:
    keys = {key.lower() for key in state.partition_fields}
    columns = {
        field.name.lower(): field.dataType.simpleString().lower()
        for field in state.columns
        if rules.meta_columns or not field.name.startswith(_META_PREFIX)
    }
    return CatalogTable(
        name=name,
        location=state.path,
        columns=tuple(CatalogColumn(column, kind) for column, kind in columns.items() if column not in keys),
        format=_build_format(state.base_file_format, is_realtime=is_realtime),
        # A partition column that the files do not contain has no declared type, so it becomes a string.
        partition_keys=tuple(
            CatalogColumn(key.lower(), columns.get(key.lower(), "string")) for key in state.partition_fields
        ),
        partitions=_build_partitions(state),
        files=None
        if state.files is None
        else tuple(f"{state.path.rstrip('/')}/{one}" for one in state.files),
        properties={
            "EXTERNAL": "TRUE",
            **_describe_for_spark(state.columns, state.partition_fields),
            LAST_COMMIT: state.requested,
            LAST_COMPLETION: state.completed,
        },
        serde_properties={"path": state.path, QUERY_AS_READ_OPTIMIZED: str(is_optimized).lower()},
    )


def _build_format(base_file_format: str, *, is_realtime: bool) -> StorageFormat:
    if base_file_format == "orc":
        return StorageFormat(
            f"{_HIVE}.orc.OrcInputFormat", f"{_HIVE}.orc.OrcOutputFormat", f"{_HIVE}.orc.OrcSerde"
        )
    inputs = "realtime.HoodieParquetRealtimeInputFormat" if is_realtime else "HoodieParquetInputFormat"
    return StorageFormat(
        f"{_HUDI}.{inputs}",
        f"{_HIVE}.parquet.MapredParquetOutputFormat",
        f"{_HIVE}.parquet.serde.ParquetHiveSerDe",
    )


def _describe_for_spark(columns: "StructType", partition_fields: tuple[str, ...]) -> Mapping[str, str]:
    """Return the properties that make Spark read the entry as a Hudi table, with case-sensitive names."""
    from pyspark.sql.types import StructType

    own = [field for field in columns if field.name not in partition_fields]
    parted = [field for field in columns if field.name in partition_fields]
    text = StructType([*own, *parted]).json()
    parts = [text[start : start + _SCHEMA_PART] for start in range(0, len(text), _SCHEMA_PART)]
    found = {"spark.sql.sources.provider": "hudi", f"{SPARK_SCHEMA}numParts": str(len(parts))}
    found |= {f"{SPARK_SCHEMA}part.{number}": part for number, part in enumerate(parts)}
    if partition_fields:
        found[f"{SPARK_SCHEMA}numPartCols"] = str(len(partition_fields))
        found |= {f"{SPARK_SCHEMA}partCol.{number}": key for number, key in enumerate(partition_fields)}
    return found


def _build_partitions(state: TableState) -> Mapping[PartitionValues, str]:
    if not state.partition_fields:
        return {}
    return {
        tuple(_iter_values(state, folder)): f"{state.path.rstrip('/')}/{folder}"
        for folder in state.partitions
        if folder
    }


def _iter_values(state: TableState, folder: str) -> Iterator[str]:
    fields = state.partition_fields
    # A single date field may contain slashes: its nested folders are one value.
    parts = [folder] if len(fields) == 1 else folder.split("/")
    if len(parts) != len(fields):
        raise CatalogError(
            f"partition {folder} of {state.name} has {len(parts)} path segments for the fields "
            f"{', '.join(fields)}: its values are ambiguous",
            hint="create the table with `url_encode_partitions: true`, which encodes slashes in values",
        )
    for field, part in zip(fields, parts, strict=True):
        value = part.removeprefix(f"{field}=")
        yield unquote(value) if state.is_url_encoded else value
