"""Queries without a JVM."""

import pyarrow as pa

from headwater.errors import TableUnsupportedError
from headwater.lake.layout import TableAddress
from headwater.lake.queries.planning import plan_change_log, plan_scan
from headwater.lake.queries.query import Query
from headwater.lake.snapshot_reader import NEWEST, Scan, SnapshotReader


def read(address: TableAddress, query: Query, columns: list[str] | None = None) -> pa.Table:
    """The rows of a query in memory, Hudi's own columns included.

    Raises `InstantUnavailableError` when they cannot be told whole, `TableNotFoundError` where no table lies,
    `TableUnsupportedError` where only Spark can read, as the change log, and `LakeError` for the rest.
    """
    if query.kind == "cdc":
        raise TableUnsupportedError(
            f"{address.path}: the change log can be read by Spark only", hint="queries.read_on_spark"
        )
    scan, reader = open_scan(query, SnapshotReader(address.path, address.storage_options))
    return reader.read_scan(scan, columns)


def check_change_log(query: Query, reader: SnapshotReader) -> None:
    """Find out without a JVM whether Spark can read that `cdc` query. Raises what `plan_change_log` does."""
    files = reader.open_files()
    with reader.explained():
        plan_change_log(query, reader.path, files)


def open_scan(query: Query, reader: SnapshotReader) -> tuple[Scan, SnapshotReader]:
    """`plan_scan` for a table that can be read without a JVM, and what to read it with: a look at the table
    that is not older than what was planned by. Raises what `SnapshotReader` does, too.
    """
    if query.kind == "snapshot":
        return NEWEST, reader
    files = reader.open_files()
    with reader.explained():
        scan = plan_scan(query, reader.path, files)
    return scan, reader.reopen()
