"""Runs queries on Spark as DataFrames, for any table and location that Hudi can read."""

from collections.abc import Iterator
from datetime import datetime, timezone

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from headwater.errors import LakeError
from headwater.lake.failures import explain_lake_failure
from headwater.lake.jvm import explained_lake, list_file_sizes, read_file
from headwater.lake.queries.planning import plan_change_log, plan_scan
from headwater.lake.queries.query import Query
from headwater.lake.queries.rows import Row
from headwater.lake.snapshot_reader import COMMIT_TIME
from headwater.lake.table import Table


class SparkFiles:
    """`TableFiles` through the session's file systems. All methods raise `LakeError`."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self._spark = spark
        self._path = path

    def list_sizes(self, folder: str) -> dict[str, int]:
        """See `TableFiles.list_sizes`."""
        return list_file_sizes(self._spark, f"{self._path}/{folder}")

    def read(self, path: str) -> bytes:
        """See `TableFiles.read`."""
        return read_file(self._spark, f"{self._path}/{path}")


def read_on_spark(spark: SparkSession, path: str, query: Query) -> DataFrame:
    """Return the rows of a query lazily, including Hudi's own columns.

    A `cdc` query returns op, ts_ms (requested time of the commit), before and after (JSON). Some images
    contain Hudi's own columns, see `docs/how-to/query-a-table.md`. Raises `UsageError` for a table without a
    change log, `InstantUnavailableError` for unavailable states, and `LakeError`.
    """
    table, files = Table(spark, path), SparkFiles(spark, path)
    with explained_lake(path):
        try:
            if query.kind == "cdc":
                return read_change_log(table, *plan_change_log(query, path, files))
            scan = plan_scan(query, path, files)
        except ValueError as error:
            raise LakeError(f"{path}: cannot read a timeline file: {error}") from error
        if scan.read_optimized:
            return table.read_optimized()
        rows = table.read_as_of(scan.as_of) if scan.as_of else table.read()
        return rows.where(F.col(COMMIT_TIME) > scan.after) if scan.after else rows


def read_change_log(table: Table, after: str, upto: str) -> DataFrame:
    """Return the changes of commits completed in (after, upto]; a missing image is null."""
    # In Hudi, `0` precedes every instant. Hudi writes some missing images as a JSON null.
    log = table.read_change_log(after or "0", upto)
    images = (F.when(F.col(name) != "null", F.col(name)).alias(name) for name in ("before", "after"))
    return log.select("op", "ts_ms", *images)


def iter_rows(frame: DataFrame, paths: str) -> Iterator[Row]:
    """Yield the rows of a frame of the tables at `paths` as plain values. Raises `LakeError`."""
    try:
        for row in frame.toLocalIterator():
            yield {name: to_plain(value) for name, value in row.asDict(recursive=True).items()}
    # PySpark converts times to datetimes, which are limited to the years 1 to 9999.
    except (ValueError, OverflowError) as error:
        raise LakeError(
            f"a value cannot be shown: {error}",
            hint="`cast(COLUMN as string)` shows a time outside the years 1 to 9999",
        ) from error
    # Spark executes lazily, only here.
    except (PySparkException, Py4JError) as error:
        raise explain_lake_failure(paths, error) from error


def read_as_arrow(frame: DataFrame, paths: str) -> pa.Table:
    """Read the rows of a frame of the tables at `paths` into memory. Raises `LakeError`.

    Row by row, since PySpark 3.5 has no public way to collect Arrow batches.
    """
    return pa.Table.from_pylist(list(iter_rows(frame, paths)), schema=to_arrow_schema(frame.schema))


def to_plain(value: object) -> object:
    """Convert a value to the types that `QueryResult` promises."""
    if isinstance(value, datetime):
        # PySpark returns naive times in the local zone.
        return value.astimezone(timezone.utc)
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, list):
        return [to_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: to_plain(item) for key, item in value.items()}
    return value
