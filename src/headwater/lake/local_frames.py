"""Converts local rows to a Spark frame through Arrow. For plain Python rows, Spark unpickles each one in a
Python worker, which takes a third of a small commit."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType


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
