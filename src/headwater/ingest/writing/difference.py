"""Computes the rows to write so that a table changes from one set of rows to another."""

from collections.abc import Collection, Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from headwater.ingest.columns.conforming import conform_frame
from headwater.lake.options import DELETED

# All digits, and nulls: two values are only equal if their texts are.
_JSON_OPTIONS = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS", "ignoreNullFields": "false"}


def build_difference(
    new: DataFrame, old: DataFrame | None, identity: Sequence[str], ignored: Collection[str] = ()
) -> DataFrame:
    """Return new and changed rows of `new`, and rows of `old` without a successor, marked as deleted.

    `identity` are the key columns, unique in `new`. The result has the columns of both; a column that one
    side lacks is null there. A row that differs only in `ignored` columns is unchanged.
    """
    if old is None:
        return new.withColumn(DELETED, F.lit(None).cast("boolean"))
    new, old = align(new, old)
    changed = subtract_equal(new, old, ignored)
    deleted = subtract(old, new, identity)
    return changed.withColumn(DELETED, F.lit(None).cast("boolean")).unionByName(
        deleted.withColumn(DELETED, F.when(F.lit(True), F.lit(True)))
    )


def align(new: DataFrame, old: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Return both with the data columns of both; a column that one side lacks is null there."""
    old = old.drop(*(name for name in old.columns if name.startswith("_hoodie_")), DELETED)
    old = conform_frame(old, new.schema)
    return conform_frame(new, old.schema), old


def subtract_equal(new: DataFrame, old: DataFrame, ignored: Collection[str] = ()) -> DataFrame:
    """Return the rows of `new` without an equal row in `old`, whatever the `ignored` columns.

    Both have the same columns.
    """
    return subtract(new, old, [name for name in new.columns if name not in ignored])


def subtract(rows: DataFrame, others: DataFrame, names: Sequence[str]) -> DataFrame:
    """Return the rows without an equal row in `others` on these columns; null equals null."""
    renamed = others.select(
        *(build_comparable(others, name).alias(f"_other_{at}") for at, name in enumerate(names))
    )
    same: list[Column] = [
        build_comparable(rows, name).eqNullSafe(F.col(f"_other_{at}")) for at, name in enumerate(names)
    ]
    return rows.join(renamed, on=reduce(lambda left, right: left & right, same), how="left_anti")


def build_comparable(frame: DataFrame, name: str) -> Column:
    """Return a form of a column that Spark can compare and group by, which maps are not."""
    value, kind = F.col(f"`{name}`"), frame.schema[name].dataType
    if not _has_map(kind):
        return value
    if isinstance(kind, MapType) and not (_has_map(kind.keyType) or _has_map(kind.valueType)):
        return F.array_sort(F.map_entries(value))
    return F.to_json(F.struct(value), _JSON_OPTIONS)


def _has_map(kind: DataType) -> bool:
    if isinstance(kind, ArrayType):
        return _has_map(kind.elementType)
    if isinstance(kind, StructType):
        return any(_has_map(field.dataType) for field in kind)
    return isinstance(kind, MapType)
