"""Rows of an inventory's data files as Arrow batches: current objects only, keys decoded."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote_plus

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.orc
import pyarrow.parquet as pq

from headwater.errors import SourceError
from headwater.sources.external_sort import ROW_SCHEMA
from headwater.sources.s3.inventory.manifest import InventoryManifest, check_columns

_CSV_TYPES = {
    "is_latest": pa.bool_(),
    "is_delete_marker": pa.bool_(),
    "size": pa.int64(),
    "last_modified": pa.timestamp("ms", "UTC"),
}
_BATCH_ROWS = 50_000
_CSV_BLOCK_BYTES = 4 * 1024 * 1024


def iter_rows(path: Path, manifest: InventoryManifest, name: str) -> Iterator[pa.RecordBatch]:
    """Yield batches of `ROW_SCHEMA` in the file's order. Raises `SourceError` for an unreadable file."""
    readers = {"CSV": _iter_csv, "Parquet": _iter_parquet, "ORC": _iter_orc}
    try:
        for batch in readers[manifest.format](path, manifest, name):
            yield _to_rows(batch, is_csv=manifest.format == "CSV")
    except (pa.ArrowException, OSError) as error:
        raise SourceError(
            f"{name} cannot be read as {manifest.format}: {error}",
            hint="check that it is a file of this inventory",
        ) from error


def _iter_csv(path: Path, manifest: InventoryManifest, name: str) -> Iterator[pa.RecordBatch]:
    columns = check_columns(manifest.csv_columns, 0, name)
    theirs = {spelled: ours for ours, spelled in columns.items()}
    # Unused columns keep the names of the manifest.
    names = [theirs.get(column, column) for column in manifest.csv_columns]
    types = {ours: _CSV_TYPES.get(ours, pa.string()) for ours in columns}
    compression = "gzip" if path.suffix == ".gz" else None
    with pa.input_stream(str(path), compression=compression) as stream:
        try:
            reader = pa.csv.open_csv(
                stream,
                read_options=pa.csv.ReadOptions(column_names=names, block_size=_CSV_BLOCK_BYTES),
                convert_options=pa.csv.ConvertOptions(column_types=types, include_columns=list(columns)),
            )
        except pa.ArrowInvalid as error:
            if "Empty CSV" in str(error):
                return
            raise
        yield from reader


def _iter_parquet(path: Path, manifest: InventoryManifest, name: str) -> Iterator[pa.RecordBatch]:
    del manifest
    with pq.ParquetFile(path) as file:
        columns = check_columns(file.schema_arrow.names, 1, name)
        for batch in file.iter_batches(_BATCH_ROWS, columns=list(columns.values())):
            yield _rename(batch, columns)


def _iter_orc(path: Path, manifest: InventoryManifest, name: str) -> Iterator[pa.RecordBatch]:
    del manifest
    with path.open("rb") as stream:
        file = pa.orc.ORCFile(stream)
        columns = check_columns(file.schema.names, 1, name)
        for stripe in range(file.nstripes):
            yield _rename(file.read_stripe(stripe, columns=list(columns.values())), columns)


def _rename(batch: pa.RecordBatch, columns: dict[str, str]) -> pa.RecordBatch:
    arrays = [batch.column(batch.schema.get_field_index(theirs)) for theirs in columns.values()]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _to_rows(batch: pa.RecordBatch, *, is_csv: bool) -> pa.RecordBatch:
    """Return current versions without delete markers."""
    names = batch.schema.names
    if "is_latest" in names:
        batch = batch.filter(pc.fill_null(batch.column("is_latest"), True))
    if "is_delete_marker" in names:
        batch = batch.filter(pc.invert(pc.fill_null(batch.column("is_delete_marker"), False)))
    columns = []
    for field in ROW_SCHEMA:
        if field.name == "key" and is_csv:
            # CSV files hold form-encoded keys; other formats hold them raw.
            keys = batch.column("key").to_pylist()
            columns.append(pa.array([unquote_plus(key) for key in keys], pa.string()))
        elif field.name in names:
            columns.append(_convert(batch.column(field.name), field.type))
        else:
            columns.append(pa.nulls(len(batch), field.type))
    return pa.RecordBatch.from_arrays(columns, schema=ROW_SCHEMA)


def _convert(column: pa.Array, wanted: pa.DataType) -> pa.Array:
    if pa.types.is_timestamp(wanted) and pa.types.is_timestamp(column.type) and column.type.tz is None:
        # Without a zone it is UTC; ORC has nanoseconds, but only whole microseconds are ever set.
        column = column.cast(pa.timestamp("us"), safe=False)
        return pc.assume_timezone(column, "UTC")
    return column.cast(wanted, safe=not pa.types.is_timestamp(wanted))
