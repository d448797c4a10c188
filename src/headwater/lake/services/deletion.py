"""Deletion: removes rows by a condition, or complete partitions, in one commit."""

from dataclasses import dataclass

from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from headwater.errors import UsageError
from headwater.lake.jvm import explained_lake
from headwater.lake.options import DELETED, WriteOptions
from headwater.lake.service_table import ServiceTable, build_write_options
from headwater.lake.snapshot_reader import SnapshotReader
from headwater.lake.table import Table
from headwater.lake.typed_options.services import partitions_to_delete


@dataclass(frozen=True, slots=True)
class Deletion:
    """A planned or completed deletion of `rows`; `instant` is the commit, empty if nothing was written."""

    rows: int
    instant: str = ""


def delete_rows(table: ServiceTable, where: str, *, dry_run: bool = False) -> Deletion:
    """Delete the rows that match a SQL condition; commits nothing if none match.

    Raises `UsageError` for a condition that Spark cannot parse, and `LakeError`.
    """
    rows = _find(table, where)
    with explained_lake(table.address.path):
        count = rows.count()
    if dry_run or not count:
        return Deletion(count)
    return delete_found(table, rows, count)


def delete_found(table: ServiceTable, rows: DataFrame, count: int) -> Deletion:
    """Delete rows that were read from the table, `count` of them. Raises `LakeError`."""
    options = build_write_options(table, "delete")
    return _write(table, rows.select(*options.list_delete_columns(rows.columns)), options, count)


def delete_partitions(table: ServiceTable, paths: tuple[str, ...], *, dry_run: bool = False) -> Deletion:
    """Delete complete partitions by their paths (`day=2026-05-01`).

    Raises `UsageError` for an unknown partition, and `LakeError`.
    """
    known = _list_partitions(table)
    missing = [path for path in paths if path not in known]
    if missing:
        shown = ", ".join(sorted(known)[:20])
        raise UsageError(
            f"table {table.address.name} has no partition {', '.join(missing)}", hint=f"partitions: {shown}"
        )
    rows = (
        Table(table.spark, table.address.path).read().where(F.col("_hoodie_partition_path").isin(list(paths)))
    )
    with explained_lake(table.address.path):
        count = rows.count()
    if dry_run:
        return Deletion(count)
    options = build_write_options(table, "delete_partition", partitions_to_delete(paths))
    hudi_columns = [name for name in rows.columns if name.startswith("_hoodie_") and name != DELETED]
    return _write(table, rows.limit(0).drop(*hudi_columns), options, count)


def _list_partitions(table: ServiceTable) -> set[str]:
    slices = SnapshotReader(table.address.path, table.address.storage_options).list_slices()
    return {str(found.partition_path) for found in slices}


def _find(table: ServiceTable, where: str) -> DataFrame:
    table.load_meta_client()
    try:
        return Table(table.spark, table.address.path).read().where(where)
    except (AnalysisException, ParseException) as error:
        reason = " ".join(str(error).partition(";")[0].split())[:300]
        raise UsageError(
            f"--where {where}: {reason}", hint="use a SQL condition, such as \"customer = 'c-17'\""
        ) from error


def _write(table: ServiceTable, frame: DataFrame, options: WriteOptions, count: int) -> Deletion:
    written = Table(table.spark, table.address.path)
    written.write(frame, options)
    return Deletion(count, written.load_timeline().commits[-1].requested)
