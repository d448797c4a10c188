"""Checks the values inside nested ones."""

from collections.abc import Callable
from functools import reduce
from operator import or_

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

Kinds = tuple[type[DataType], ...]


def has_kind(kind: DataType, wanted: Kinds) -> bool:
    """True if values of this type contain values of these types."""
    if isinstance(kind, StructType):
        return any(has_kind(field.dataType, wanted) for field in kind)
    if isinstance(kind, ArrayType):
        return has_kind(kind.elementType, wanted)
    if isinstance(kind, MapType):
        return has_kind(kind.keyType, wanted) or has_kind(kind.valueType, wanted)
    return isinstance(kind, wanted)


def has_leaf(value: Column, kind: DataType, wanted: Kinds, is_found: Callable[[Column], Column]) -> Column:
    """Whether `is_found` is true of a contained value of these types; never null."""
    if not has_kind(kind, wanted):
        return F.lit(False)
    if isinstance(kind, StructType):
        inside = [has_leaf(value.getField(f.name), f.dataType, wanted, is_found) for f in kind]
        return reduce(or_, inside)
    if isinstance(kind, ArrayType):
        found = F.exists(value, lambda item: has_leaf(item, kind.elementType, wanted, is_found))
        return F.coalesce(found, F.lit(False))
    if isinstance(kind, MapType):
        keys = has_leaf(F.map_keys(value), ArrayType(kind.keyType), wanted, is_found)
        return keys | has_leaf(F.map_values(value), ArrayType(kind.valueType), wanted, is_found)
    return F.coalesce(is_found(value), F.lit(False))
