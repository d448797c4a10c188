"""Searches vectors and reads blobs of a table; on Spark."""

import math
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Literal, get_args

from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructField, StructType

from headwater.config.hudi.column_types import BlobType, VectorType
from headwater.errors import UsageError
from headwater.lake.failures import explain_lake_failure
from headwater.lake.logical_types.columns import HUDI_TYPE, parse_hudi_type
from headwater.lake.queries.query import Query
from headwater.lake.queries.spark import read_on_spark

Metric = Literal["cosine", "l2", "dot"]
DISTANCE = "_hudi_distance"
"""The distance column that Hudi adds; smaller is nearer."""

_NEWEST = Query.snapshot()
_HUDI_METRICS = {"cosine": "cosine", "l2": "l2", "dot": "dot_product"}


def search_vectors(
    spark: SparkSession,
    path: str,
    column: str,
    vector: Sequence[float],
    k: int = 10,
    metric: Metric = "cosine",
    *,
    query: Query = _NEWEST,
) -> DataFrame:
    """Return the `k` nearest rows, nearest first, with `_hudi_distance` instead of the vector.

    The distance is 1 - cosine, Euclidean, or the negated dot product. Scans all vectors and skips rows
    without one. `query` selects the table state. Raises `UsageError` for an unsupported search, and the
    errors of `read_on_spark`.
    """
    rows = read_on_spark(spark, path, query)
    field = _find_field(rows.schema, column, "vector")
    kind = parse_hudi_type(field.metadata[HUDI_TYPE])
    if metric not in _HUDI_METRICS:
        raise UsageError(f"unknown metric {metric!r}", hint=f"allowed: {', '.join(get_args(Metric))}")
    if k < 1:
        raise UsageError(f"cannot search for {k} nearest rows", hint="k must be at least 1")
    numbers = [float(number) for number in vector]
    if isinstance(kind, VectorType) and len(numbers) != kind.dimension:
        raise UsageError(
            f"the vector has {len(numbers)} numbers, but {column} is {kind}",
            hint="embed the query with the same model",
        )
    if not all(map(math.isfinite, numbers)):
        raise UsageError("the vector has a number that is NaN or infinite", hint="embed the query again")
    text = ", ".join(f"{number!r}D" for number in numbers)
    with _viewed(rows, path) as view:
        return spark.sql(
            f"select * from hudi_vector_search('{view}', '{field.name}', array({text}), {k}, "  # noqa: S608 - checked
            f"'{_HUDI_METRICS[metric]}')"
        )


def read_blobs(
    spark: SparkSession, path: str, column: str, *, where: str = "", query: Query = _NEWEST
) -> DataFrame:
    """Return the rows, including Hudi's own columns, with blob contents in the blob column.

    `where` is a SQL condition; blobs of other rows are not read. Raises the errors of `search_vectors`.
    """
    rows = read_on_spark(spark, path, query)
    found = _find_field(rows.schema, column, "blob").name
    names = [f"read_blob(`{n}`) as `{n}`" if n == found else f"`{n}`" for n in rows.columns]
    condition = f" where {where}" if where else ""
    with _viewed(rows, path) as view:
        return spark.sql(f"select {', '.join(names)} from `{view}`{condition}")  # noqa: S608 - the caller's own


def _find_field(schema: StructType, column: str, wanted: Literal["vector", "blob"]) -> StructField:
    kind = VectorType if wanted == "vector" else BlobType
    fitting = [f for f in schema if isinstance(parse_hudi_type(f.metadata.get(HUDI_TYPE, "")), kind)]
    for field in fitting:
        if field.name.lower() == column.lower():
            return field
    there = next((f for f in schema if f.name.lower() == column.lower()), None)
    what = (
        f"there is no column {column}"
        if there is None
        else f"{column} is not a {wanted}, but {there.dataType.simpleString()}"
    )
    names = ", ".join(field.name for field in fitting) or f"none; `columns: {{NAME: {wanted}}}` declares one"
    raise UsageError(what[:200], hint=f"{wanted}s of the table: {names}")


@contextmanager
def _viewed(rows: DataFrame, path: str) -> Iterator[str]:
    """Register a temporary view of the rows while a statement is planned."""
    view = f"headwater_{uuid.uuid4().hex}"
    rows.createOrReplaceTempView(view)
    try:
        yield view
    except (AnalysisException, ParseException) as error:
        raise UsageError(f"SQL: {' '.join(str(error).partition(';')[0].split())[:300]}") from error
    except PySparkException as error:
        raise explain_lake_failure(path, error) from error
    finally:
        rows.sparkSession.catalog.dropTempView(view)
