"""Detects in Spark whether a JSON text has fields that a table has no column for: for split objects."""

from collections.abc import Iterable

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StringType, StructType

_TEXTS = MapType(StringType(), StringType())


def has_unknown_fields(
    text: Column, schema: StructType, ignored: Iterable[str] = (), *, with_values: bool = False
) -> Column:
    """Return true, false, or null if it is not a JSON object. Names in another case count as unknown.

    With `with_values` an unknown name counts only if it has a value other than null, which is slower.
    """
    names = [*schema.fieldNames(), *ignored]
    nested = [field for field in schema if _has_names(field.dataType)]
    if not nested and not with_values:
        # Reads names only; skips the values.
        return _is_any_unknown(F.json_object_keys(text), names)
    # PySpark's type stubs do not accept maps, but Spark does.
    fields = F.from_json(text, _TEXTS)  # type: ignore[arg-type]
    non_empty = (
        F.map_filter(fields, lambda _, value: ~value.isin("null", "{}", "[]")) if with_values else fields
    )
    found = _is_any_unknown(F.map_keys(non_empty), names)
    for field in nested:
        inside = _has_unknown_inside(fields.getItem(field.name), field.dataType, with_values)
        found = found | F.coalesce(inside, F.lit(False))
    return found


def _is_any_unknown(found: Column, names: Iterable[str]) -> Column:
    return F.size(F.array_except(found, F.array(*(F.lit(name) for name in names)))) > 0


def _has_unknown_inside(text: Column, kind: DataType, with_values: bool) -> Column:
    if isinstance(kind, StructType):
        return has_unknown_fields(text, kind, with_values=with_values)
    if isinstance(kind, ArrayType):
        items, inside = F.from_json(text, ArrayType(StringType())), kind.elementType
    elif isinstance(kind, MapType):
        items = F.map_values(F.from_json(text, _TEXTS))  # type: ignore[arg-type]  # the stubs know no maps
        inside = kind.valueType
    else:
        return F.lit(False)
    return F.exists(
        items, lambda item: F.coalesce(_has_unknown_inside(item, inside, with_values), F.lit(False))
    )


def _has_names(kind: DataType) -> bool:
    if isinstance(kind, StructType):
        return True
    inside = kind.elementType if isinstance(kind, ArrayType) else None
    inside = kind.valueType if isinstance(kind, MapType) else inside
    return inside is not None and _has_names(inside)
