"""Computes the rows to write so that a table changes from one set of rows to another."""

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from headwater.ingest.columns.conforming import conform_frame
from headwater.lake.options import DELETED


def build_difference(new: DataFrame, old: DataFrame | None, identity: Sequence[str]) -> DataFrame:
    """Return new and changed rows of `new`, and rows of `old` without a successor, marked as deleted.

    `identity` are the key columns, unique in `new`. The result has the columns of both; a column that one
    side lacks is null there.
    """
    if old is None:
        return new.withColumn(DELETED, F.lit(None).cast("boolean"))
    old = old.drop(*(name for name in old.columns if name.startswith("_hoodie_")), DELETED)
    old = conform_frame(old, new.schema)
    new = conform_frame(new, old.schema)
    changed = _subtract(new, old, new.columns) if _are_comparable(new.schema) else new
    deleted = _subtract(old, new, identity)
    return changed.withColumn(DELETED, F.lit(None).cast("boolean")).unionByName(
        deleted.withColumn(DELETED, F.when(F.lit(True), F.lit(True)))
    )


def _subtract(rows: DataFrame, others: DataFrame, names: Sequence[str]) -> DataFrame:
    """Return the rows without an equal row in `others` on these columns; null equals null."""
    renamed = others.select(*(_at(others, name).alias(f"_other_{at}") for at, name in enumerate(names)))
    same: list[Column] = [_at(rows, name).eqNullSafe(F.col(f"_other_{at}")) for at, name in enumerate(names)]
    return rows.join(renamed, on=reduce(lambda left, right: left & right, same), how="left_anti")


def _at(frame: DataFrame, name: str) -> Column:
    """Return a comparable form of a column, because Spark cannot compare maps."""
    value = F.col(f"`{name}`")
    return F.array_sort(F.map_entries(value)) if isinstance(frame.schema[name].dataType, MapType) else value


def _are_comparable(schema: StructType) -> bool:
    """True if maps occur only as top-level columns."""
    inner = [
        part
        for field in schema
        for part in (
            (field.dataType.keyType, field.dataType.valueType)
            if isinstance(field.dataType, MapType)
            else (field.dataType,)
        )
    ]
    return not any(_has_map(part) for part in inner)


def _has_map(kind: DataType) -> bool:
    if isinstance(kind, ArrayType):
        return _has_map(kind.elementType)
    if isinstance(kind, StructType):
        return any(_has_map(field.dataType) for field in kind)
    return isinstance(kind, MapType)
