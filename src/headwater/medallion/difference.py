"""What has to be written so that some rows of a table become others."""

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from headwater.ingest.columns.conforming import conform_frame
from headwater.lake.options import DELETED


def build_difference(new: DataFrame, old: DataFrame | None, identity: Sequence[str]) -> DataFrame:
    """Rows of `new` that are not in `old` just so, and those of `old` without a successor, marked as deleted.

    `identity` are the columns by which a row is one row of the table; in `new` no two rows have the same. The
    columns are those of both: where one lacks a column it counts as null.
    """
    if old is None:
        return new.withColumn(DELETED, F.lit(None).cast("boolean"))
    old = old.drop(*(name for name in old.columns if name.startswith("_hoodie_")), DELETED)
    old = conform_frame(old, new.schema)
    new = conform_frame(new, old.schema)
    changed = _subtract(new, old, new.columns) if _are_comparable(new.schema) else new
    gone = _subtract(old, new, identity)
    return changed.withColumn(DELETED, F.lit(None).cast("boolean")).unionByName(
        gone.withColumn(DELETED, F.when(F.lit(True), F.lit(True)))
    )


def _subtract(rows: DataFrame, others: DataFrame, names: Sequence[str]) -> DataFrame:
    """The rows that have none of the same values in these columns among the others; null is a value."""
    renamed = others.select(*(_at(others, name).alias(f"_other_{at}") for at, name in enumerate(names)))
    same: list[Column] = [_at(rows, name).eqNullSafe(F.col(f"_other_{at}")) for at, name in enumerate(names)]
    return rows.join(renamed, on=reduce(lambda left, right: left & right, same), how="left_anti")


def _at(frame: DataFrame, name: str) -> Column:
    """A column's value as one that can be compared: Spark compares no maps."""
    value = F.col(f"`{name}`")
    return F.array_sort(F.map_entries(value)) if isinstance(frame.schema[name].dataType, MapType) else value


def _are_comparable(schema: StructType) -> bool:
    """Whether maps lie in no other column than in one of their own."""
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
