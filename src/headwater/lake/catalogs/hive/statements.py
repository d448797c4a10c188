"""HiveQL statements for HiveServer2. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import unquote

from headwater.lake.catalogs.catalog_table import CatalogColumn, CatalogTable, PartitionValues
from headwater.lake.catalogs.hive.description import Description
from headwater.lake.catalogs.planning import TableChange, iter_batches, normalize_location

_FIELD = re.compile(r"([<,])([^<>,:()`]+):")


def quote_name(*names: str) -> str:
    """Return a quoted name, such as `a`.`b`."""
    return ".".join(f"`{name.replace('`', '``')}`" for name in names)


def quote_text(text: str) -> str:
    """Return a string literal without `$`: HiveServer2 substitutes variables before it parses a statement."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("$", "\\u0024")
    return f"'{escaped}'"


def create_database(database: str) -> str:
    """Return the statement that creates the database if it does not exist."""
    return f"CREATE DATABASE IF NOT EXISTS {quote_name(database)}"


def create_table(database: str, table: CatalogTable) -> str:
    """Return the statement that creates an external table without partitions; a drop keeps its files."""
    keys = f" PARTITIONED BY ({_columns(table.partition_keys)})" if table.partition_keys else ""
    return (
        f"CREATE EXTERNAL TABLE IF NOT EXISTS {quote_name(database, table.name)} "
        f"({_columns(table.columns)}){keys} "
        f"ROW FORMAT SERDE {quote_text(table.format.serde)} "
        f"WITH SERDEPROPERTIES ({_properties(table.serde_properties)}) "
        f"STORED AS {_file_format(table)} LOCATION {quote_text(table.location)} "
        f"TBLPROPERTIES ({_properties(table.properties)})"
    )


def iter_alterations(database: str, table: CatalogTable, held: Description) -> Iterator[str]:
    """Yield the statements that turn the existing entry `held` into `table`; omits what is already equal."""
    alter = f"ALTER TABLE {quote_name(database, table.name)}"
    # Set the properties first: they make the table external, so that dropped partitions keep their files.
    changed = _find_changed(held.properties, table.properties)
    if changed:
        yield f"{alter} SET TBLPROPERTIES ({_properties(changed)})"
    removed = sorted(set(held.properties) - set(table.properties))
    if removed:
        yield f"{alter} UNSET TBLPROPERTIES IF EXISTS ({', '.join(map(quote_text, removed))})"
    if held.format != table.format:
        yield f"{alter} SET FILEFORMAT {_file_format(table)} SERDE {quote_text(table.format.serde)}"
    changed = _find_changed(held.serde_properties, table.serde_properties)
    if changed:
        yield f"{alter} SET SERDEPROPERTIES ({_properties(changed)})"
    if held.columns != table.columns:
        cascade = " CASCADE" if table.partition_keys else ""
        yield f"{alter} REPLACE COLUMNS ({_columns(table.columns, held.comments)}){cascade}"


def iter_partition_changes(database: str, change: TableChange, held: Description) -> Iterator[str]:
    """Yield idempotent statements that add and drop partitions. Column types follow those of the table.

    A partition with another location or format is dropped and added. `SET LOCATION` accepts no path with a
    blank, and Hive 2.3 cannot set a partition's format in a named database.
    """
    table, keys = change.table, change.table.partition_keys
    again = {
        values: location
        for values, location in change.moved.items()
        if held.format != table.format
        or normalize_location(held.partitions.get(values, "")) != normalize_location(location)
    }
    alter = f"ALTER TABLE {quote_name(database, table.name)}"
    for removed in iter_batches([*change.dropped, *again]):
        yield f"{alter} DROP IF EXISTS {', '.join(_partition(keys, values) for values in removed)}"
    for some in iter_batches([*change.added.items(), *again.items()]):
        locations = (
            f"{_partition(keys, values)} LOCATION {quote_text(location)}" for values, location in some
        )
        yield f"{alter} ADD IF NOT EXISTS {' '.join(locations)}"


def describe(database: str, name: str) -> str:
    """Return the statement that describes a table without its partitions."""
    return f"DESCRIBE FORMATTED {quote_name(database, name)}"


def describe_partition(
    database: str, name: str, keys: Sequence[CatalogColumn], values: PartitionValues
) -> str:
    """Return the statement that describes a partition, including its location."""
    return f"{describe(database, name)} {_partition(keys, values)}"


def list_partitions(database: str, name: str) -> str:
    """Return the statement that lists partitions as rows of `key=value/key=value`."""
    return f"SHOW PARTITIONS {quote_name(database, name)}"


def parse_partition(text: str) -> PartitionValues:
    """Parse a row of `list_partitions`."""
    return tuple(unquote(part.partition("=")[2]) for part in text.split("/"))


def _partition(keys: Sequence[CatalogColumn], values: PartitionValues) -> str:
    pairs = zip(keys, values, strict=True)
    return f"PARTITION ({', '.join(f'{quote_name(key.name)}={quote_text(value)}' for key, value in pairs)})"


def _columns(columns: Sequence[CatalogColumn], comments: Mapping[str, str] | None = None) -> str:
    found = comments or {}
    return ", ".join(
        f"{quote_name(column.name)} {_quote_fields(column.type)}"
        + (f" COMMENT {quote_text(found[column.name])}" if column.name in found else "")
        for column in columns
    )


def _quote_fields(kind: str) -> str:
    """Quote field names: Hive rejects `struct<date:string>`, because `date` is a reserved word."""
    return _FIELD.sub(r"\1`\2`:", kind)


def _file_format(table: CatalogTable) -> str:
    formats = table.format
    return f"INPUTFORMAT {quote_text(formats.input_format)} OUTPUTFORMAT {quote_text(formats.output_format)}"


def _properties(properties: Mapping[str, str]) -> str:
    return ", ".join(f"{quote_text(name)}={quote_text(value)}" for name, value in properties.items())


def _find_changed(held: Mapping[str, str], wanted: Mapping[str, str]) -> Mapping[str, str]:
    return {name: value for name, value in wanted.items() if held.get(name) != value}
