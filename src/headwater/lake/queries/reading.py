"""Runs queries without a JVM."""

import pyarrow as pa

from headwater.errors import TableUnsupportedError
from headwater.lake.layout import TableAddress
from headwater.lake.queries.planning import plan_change_log, plan_scan
from headwater.lake.queries.query import Query
from headwater.lake.snapshot_reader import NEWEST, Scan, SnapshotReader


def read(address: TableAddress, query: Query, columns: list[str] | None = None) -> pa.Table:
    """Read the rows of a query into memory, including Hudi's own columns.

    Raises `InstantUnavailableError` if they are not completely available, `TableNotFoundError` without a
    table, and `TableUnsupportedError` if only Spark can read, as for the change log. Raises `LakeError` for
    other failures.
    """
    if query.kind == "cdc":
        raise TableUnsupportedError(
            f"{address.path}: only Spark can read the change log", hint="use queries.read_on_spark"
        )
    scan, reader = open_scan(query, SnapshotReader(address.path, address.storage_options))
    return reader.read_scan(scan, columns)


def check_change_log(query: Query, reader: SnapshotReader) -> None:
    """Check without a JVM that Spark can run a `cdc` query. Raises the errors of `plan_change_log`."""
    files = reader.open_files()
    with reader.explained():
        plan_change_log(query, reader.path, files)


def open_scan(query: Query, reader: SnapshotReader) -> tuple[Scan, SnapshotReader]:
    """Plan the scan of a query and return it with a reader that is at least as recent as the plan.

    Raises the errors of `plan_scan` and `SnapshotReader`.
    """
    if query.kind == "snapshot":
        return NEWEST, reader
    files = reader.open_files()
    with reader.explained():
        scan = plan_scan(query, reader.path, files)
    return scan, reader.reopen()
