"""Finds the columns of a data table that can be texts or fields, nested ones included, and their kinds.
Pure."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyarrow import types

DOT = "\x1f"
"""Stands for the dot in the name of a nested column: PySpark's `mapInArrow` would read it as a path."""


@dataclass(frozen=True, slots=True)
class IndexedColumn:
    """A column of texts, numbers, times or booleans, or of lists of them.

    `path` leads to it through structs and lists of structs; `kind` is `keyword`, `number` or `bool`. Of a
    map, the values are taken.
    """

    path: tuple[str, ...]
    kind: str
    is_map: bool = False

    def pick(self, row: Mapping[str, object]) -> object:
        """Return the value of a row, as Spark selects it."""
        found = _walk(row, self.path)
        # Arrow gives the entries of a map as pairs.
        return [value for _, value in found] if self.is_map and isinstance(found, list) else found


def list_columns(schema: pa.Schema) -> dict[str, IndexedColumn]:
    """Return the columns by name. That of a nested one is its path with dots, unless a top-level column has
    this name."""
    found: dict[str, IndexedColumn] = {}
    for column in sorted(_iter_columns(schema, (), in_list=False), key=lambda one: len(one.path)):
        found.setdefault(".".join(column.path), column)
    return found


def list_kinds(columns: Mapping[str, IndexedColumn], names: tuple[str, ...]) -> dict[str, str]:
    """Return the kinds of the named columns."""
    return {name: columns[name].kind for name in names}


def find_kind(data_type: pa.DataType) -> str | None:
    """Return `keyword`, `number` or `bool`; None for a type that cannot be a field."""
    if _is_list(data_type):
        return "keyword" if find_kind(data_type.value_type) in ("keyword", "number") else None
    if types.is_boolean(data_type):
        return "bool"
    if types.is_integer(data_type) or types.is_floating(data_type) or types.is_decimal(data_type):
        return "number"
    is_text = types.is_string(data_type) or types.is_large_string(data_type)
    if is_text or types.is_date(data_type) or types.is_timestamp(data_type):
        return "keyword"
    return None


def _is_list(data_type: pa.DataType) -> bool:
    return bool(
        types.is_list(data_type) or types.is_large_list(data_type) or types.is_fixed_size_list(data_type)
    )


def _iter_columns(
    fields: Iterable[pa.Field], above: tuple[str, ...], *, in_list: bool
) -> Iterator[IndexedColumn]:
    for field in fields:
        path, data_type = (*above, field.name), field.type
        is_list = _is_list(data_type)
        inner = data_type.value_type if is_list else data_type
        if types.is_struct(inner):
            # A list below a list would need a path that Spark does not have.
            if not (in_list and is_list):
                yield from _iter_columns(inner.fields, path, in_list=in_list or is_list)
        elif types.is_map(data_type):
            if not in_list and find_kind(data_type.item_type) in ("keyword", "number"):
                yield IndexedColumn(path, "keyword", is_map=True)
        elif in_list:
            # All values of a list of structs: a list of words.
            if find_kind(data_type) in ("keyword", "number") and not is_list:
                yield IndexedColumn(path, "keyword")
        elif (kind := find_kind(data_type)) is not None:
            yield IndexedColumn(path, kind)


def _walk(value: object, path: tuple[str, ...]) -> object:
    """Follow a path through structs; of a list of structs, the values of all are taken."""
    if not path or value is None:
        return value
    if isinstance(value, list):
        return [_walk(one, path) for one in value]
    return _walk(value[path[0]], path[1:]) if isinstance(value, Mapping) else None
