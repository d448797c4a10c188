"""Rows of this process as a frame. Through Arrow: of Python's own rows Spark has a Python worker unpickle
each, which is a third of a small commit."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType


def build_frame(spark: SparkSession, rows: Sequence[Sequence[Any]], schema: StructType) -> DataFrame:
    """Flat rows, each in the order of the schema; times know their zone.

    Raises `pyarrow.ArrowInvalid` or `ArrowTypeError` for a value that is none of its column.
    """
    arrow_schema = to_arrow_schema(schema)
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, arrow_schema, strict=True)]
    return load_arrow(spark, pa.Table.from_arrays(arrays, schema=arrow_schema), schema)


def load_arrow(spark: SparkSession, table: pa.Table, schema: StructType) -> DataFrame:
    """A table whose columns are those of the schema."""
    # Arrow's columns inside: Spark takes them as they are if each is one chunk; others it converts by value.
    frame = table.combine_chunks().to_pandas(types_mapper=pd.ArrowDtype)
    return spark.createDataFrame(frame, schema=schema)
