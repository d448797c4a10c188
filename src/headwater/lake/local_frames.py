"""Converts local rows, and frames of other libraries, to a Spark frame through Arrow.

For plain Python rows, Spark unpickles each one in a Python worker, which takes a third of a small commit.
"""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, to_arrow_schema
from pyspark.sql.types import StructType

from headwater.errors import UsageError


def build_frame(spark: SparkSession, rows: Sequence[Sequence[Any]], schema: StructType) -> DataFrame:
    """Build a frame of flat rows in schema order; times must be timezone-aware.

    Raises `pyarrow.ArrowInvalid` or `ArrowTypeError` for a value that does not fit its column.
    """
    arrow_schema = to_arrow_schema(schema)
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, arrow_schema, strict=True)]
    return load_arrow(spark, pa.Table.from_arrays(arrays, schema=arrow_schema), schema)


def load_arrow(spark: SparkSession, table: pa.Table, schema: StructType) -> DataFrame:
    """Load an Arrow table whose columns match the schema."""
    # Keep Arrow columns of one chunk each: Spark takes those as they are, and converts others value by value.
    frame = table.combine_chunks().to_pandas(types_mapper=pd.ArrowDtype)
    return spark.createDataFrame(frame, schema=schema)


def convert_frame(spark: SparkSession, rows: object, schema: pa.Schema) -> DataFrame:
    """Convert a frame of Spark, pandas or Polars, an Arrow table or a list of dicts.

    The values of dicts, such as times as text, are cast to the types of the `schema`. Raises `UsageError` for
    anything else, and for values that Arrow cannot convert.
    """
    if isinstance(rows, DataFrame):
        return rows
    try:
        table = _to_arrow(rows, schema)
        return load_arrow(spark, table, from_arrow_schema(table.schema))
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise UsageError(
            f"the rows cannot be converted to a Spark frame: {error}",
            hint="pass a DataFrame of Spark, pandas or Polars, a pyarrow.Table, or a list of dicts",
        ) from error


def _to_arrow(rows: Any, schema: pa.Schema) -> pa.Table:
    if isinstance(rows, pa.Table):
        return rows
    if hasattr(rows, "to_arrow"):  # Polars
        return pa.table(rows.to_arrow())
    if isinstance(rows, Sequence) and not isinstance(rows, str | bytes):
        table = pa.Table.from_pylist(list(rows))
        known = {field.name: field.type for field in schema}
        types = [field.with_type(known.get(field.name, field.type)) for field in table.schema]
        return table.cast(pa.schema(types))
    if not isinstance(rows, pd.DataFrame):
        raise TypeError(f"unknown type {type(rows).__name__}")
    return pa.Table.from_pandas(rows, preserve_index=False)
