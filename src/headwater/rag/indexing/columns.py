"""Finds the columns of a data table that can be texts or fields, nested ones included, and their kinds."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DateType,
    MapType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
)

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

    def select(self) -> Column:
        """Return the column by its path."""
        column = F.col(".".join(f"`{part.replace('`', '``')}`" for part in self.path))
        return F.map_values(column) if self.is_map else column


def list_columns(schema: StructType) -> dict[str, IndexedColumn]:
    """Return the columns by name. That of a nested one is its path with dots, unless a top-level column has
    this name."""
    found: dict[str, IndexedColumn] = {}
    for column in sorted(_iter_columns(schema, (), in_list=False), key=lambda one: len(one.path)):
        found.setdefault(".".join(column.path), column)
    return found


def select_column(columns: Mapping[str, IndexedColumn], name: str) -> Column:
    """Return a column of the table by name, also one whose type has no kind, such as a binary key."""
    return columns[name].select() if name in columns else F.col(f"`{name}`")


def list_kinds(columns: Mapping[str, IndexedColumn], names: tuple[str, ...]) -> dict[str, str]:
    """Return the kinds of the named columns."""
    return {name: columns[name].kind for name in names}


def find_kind(data_type: DataType) -> str | None:
    """Return `keyword`, `number` or `bool`; None for a type that cannot be a field."""
    if isinstance(data_type, ArrayType):
        return "keyword" if find_kind(data_type.elementType) in ("keyword", "number") else None
    if isinstance(data_type, BooleanType):
        return "bool"
    if isinstance(data_type, NumericType):
        return "number"
    if isinstance(data_type, (StringType, DateType, TimestampType, TimestampNTZType)):
        return "keyword"
    return None


def _iter_columns(schema: StructType, above: tuple[str, ...], *, in_list: bool) -> Iterator[IndexedColumn]:
    for field in schema:
        path, data_type = (*above, field.name), field.dataType
        inner = data_type.elementType if isinstance(data_type, ArrayType) else data_type
        if isinstance(inner, StructType):
            # A list below a list would need a path that Spark does not have.
            if not (in_list and inner is not data_type):
                yield from _iter_columns(inner, path, in_list=in_list or inner is not data_type)
        elif isinstance(data_type, MapType):
            if not in_list and find_kind(data_type.valueType) in ("keyword", "number"):
                yield IndexedColumn(path, "keyword", is_map=True)
        elif in_list:
            # All values of a list of structs: a list of words.
            if find_kind(data_type) in ("keyword", "number") and not isinstance(data_type, ArrayType):
                yield IndexedColumn(path, "keyword")
        elif (kind := find_kind(data_type)) is not None:
            yield IndexedColumn(path, kind)
