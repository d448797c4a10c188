"""Runs the same SQL on Spark, for tables and locations that hudi-rs cannot read."""

from collections.abc import Mapping

from py4j.protocol import Py4JError
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import DataFrame, SparkSession

from headwater.errors import LakeError, UsageError
from headwater.lake.failures import explain_lake_failure
from headwater.lake.properties import TableProperties
from headwater.lake.queries.query import Query
from headwater.lake.queries.rows import number_duplicates
from headwater.lake.queries.spark import iter_rows, read_as_arrow, read_on_spark
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
            check_filters_work(spark, path)
            read_on_spark(spark, path, query).createOrReplaceTempView(name)
        frame = spark.sql(sql.rstrip().rstrip(";"))
        return build_result(frame, ", ".join(tables.values()), limit)
    except (AnalysisException, ParseException) as error:
        raise UsageError(f"SQL: {' '.join(str(error).partition(';')[0].split())[:300]}") from error
    except (PySparkException, Py4JError) as error:
        raise explain_lake_failure(", ".join(tables.values()), error) from error


def build_result(frame: DataFrame, paths: str, limit: int | None) -> QueryResult:
    """Return the rows of a frame of the tables at `paths`, at most `limit`."""
    limited = frame if limit is None else frame.limit(limit)
    columns = number_duplicates(frame.columns)
    renamed = limited.toDF(*columns)
    return QueryResult(columns, iter_rows(renamed, paths), "spark", lambda: read_as_arrow(renamed, paths))


def check_filters_work(spark: SparkSession, path: str) -> None:
    """Raise `LakeError` for a table of which Spark would omit rows."""
    properties = TableProperties(load_timeline(spark, path).read_properties())
    if is_by_time(properties.read("key_generator_type")):
        raise LakeError(
            f"{path}: Spark would omit rows: Hudi 1.2 compares conditions on "
            f"{properties.read('partition_fields')} with the names of folders",
            hint="without --cdc and --read-optimized, it is read without Spark; or partition a table by a "
            "column that a transform computes: docs/how-to/write-to-a-table.md",
        )
