"""Runs the same SQL on Spark, for tables and locations that hudi-rs cannot read."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timezone

from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from headwater.errors import LakeError, UsageError
from headwater.lake.failures import explain_lake_failure
from headwater.lake.properties import TableProperties
from headwater.lake.queries.query import Query
from headwater.lake.queries.rows import Row, number_duplicates
from headwater.lake.queries.spark import read_on_spark
from headwater.lake.snapshot_reader import is_by_time
from headwater.lake.sql.engine import NEWEST, QueryResult
from headwater.lake.timeline.jvm import load_timeline


def run_on_spark(
    spark: SparkSession,
    sql: str,
    tables: Mapping[str, str],
    limit: int | None = None,
    query: Query = NEWEST,
) -> QueryResult:
    """Run a statement that was validated as read-only; `query` selects the rows of each table.

    Raises `UsageError` and `LakeError`.
    """
    try:
        for name, path in tables.items():
            _check_filters_work(spark, path)
            read_on_spark(spark, path, query).createOrReplaceTempView(name)
        frame = spark.sql(sql.rstrip().rstrip(";"))
        limited = frame if limit is None else frame.limit(limit)
        columns = number_duplicates(frame.columns)
        paths = ", ".join(tables.values())
        return QueryResult(columns, _iter_rows(limited.toDF(*columns), paths), "spark")
    except (AnalysisException, ParseException) as error:
        raise UsageError(f"SQL: {' '.join(str(error).partition(';')[0].split())[:300]}") from error
    except (PySparkException, Py4JError) as error:
        raise explain_lake_failure(", ".join(tables.values()), error) from error


def _iter_rows(frame: DataFrame, paths: str) -> Iterator[Row]:
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


def _check_filters_work(spark: SparkSession, path: str) -> None:
    properties = TableProperties(load_timeline(spark, path).read_properties())
    if is_by_time(properties.read("key_generator_type")):
        raise LakeError(
            f"{path}: Spark would omit rows: Hudi 1.2 compares conditions on "
            f"{properties.read('partition_fields')} with the names of folders",
            hint="without --cdc and --read-optimized, it is read without Spark; or partition a table by a "
            "column that a transform computes: docs/how-to/write-to-a-table.md",
        )


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
