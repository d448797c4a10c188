"""Which tables can have an Iceberg view: all rows and columns must be in Parquet files."""

from collections.abc import Iterator

from headwater.config.hudi.checking import PREFIX
from headwater.config.table.fields import TableFields

_VERSION = f"{PREFIX}write.table.version"
_OLDEST_VERSION = 8


def iter_iceberg_problems(table: TableFields) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield what conflicts with `iceberg`, by key."""
    if not table.iceberg:
        return
    if table.base_file_format != "parquet":
        yield ("iceberg",), "requires `base_file_format: parquet`"
    if table.drop_partition_columns:
        text = (
            "cannot be combined with `drop_partition_columns`: Iceberg reads partition values from the files"
        )
        yield ("iceberg",), text
    for name, kind in table.columns.items():
        yield (
            ("iceberg",),
            f"cannot be combined with `columns`: Iceberg has no type for {kind} (column {name})",
        )
    version = table.hoodie.get(_VERSION, "")
    if version.isdecimal() and int(version) < _OLDEST_VERSION:
        yield ("iceberg",), f"requires table version {_OLDEST_VERSION} or later, not `{_VERSION}: {version}`"
