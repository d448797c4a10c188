"""`columns:` of a table: those of Hudi's own types, which no file and no DDL has a word for."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import AfterValidator

if TYPE_CHECKING:
    from headwater.config.table import TableConfig

Problem = tuple[tuple[str, ...], str]

_ALLOWED = "Allowed: vector(384), vector(384, double), blob"
_VECTOR = re.compile(r"vector\s*\(\s*(\d+)\s*(?:,\s*(\w+)\s*)?\)", re.IGNORECASE)
_MAX_DIMENSION = 65_536
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_OWN_PREFIXES = ("_hoodie_", "_headwater_")
# Of the others no field is an array of numbers, or bytes, before a step has made it so.
_FORMATS = {
    "vector": frozenset({"json", "json_array", "parquet", "avro", "orc"}),
    "blob": frozenset({"json", "json_array", "parquet", "avro", "orc", "binary"}),
}
_STEPS = {
    "vector": "transform: [{sql: \"select *, from_json(text, 'array<double>') as NAME from input\"}]",
    "blob": 'transform: [{sql: "select *, unbase64(text) as NAME from input"}]',
}


@dataclass(frozen=True, slots=True)
class VectorType:
    """So many numbers, of 32 bits (`float`) or 64."""

    dimension: int
    element: Literal["float", "double"] = "float"
    name = "vector"

    def __str__(self) -> str:
        return f"vector({self.dimension})" if self.element == "float" else f"vector({self.dimension}, double)"

    @property
    def hudi_type(self) -> str:
        """As Hudi spells it in a column's metadata."""
        return str(self).upper()


@dataclass(frozen=True, slots=True)
class BlobType:
    """Bytes that a query reads only when it asks for them."""

    name = "blob"
    hudi_type = "BLOB"

    def __str__(self) -> str:
        return self.name


ColumnType = VectorType | BlobType


def parse_column_type(text: str) -> ColumnType:
    """Raises `ValueError` that says what is allowed."""
    word = text.strip().lower()
    if word == "blob":
        return BlobType()
    if word == "variant":
        raise ValueError(
            "'variant' needs Spark 4, and headwater runs Hudi 1.2 on Spark 3.5, which has no such type: keep "
            "the JSON in a `string` column, and take values out of it with `get_json_object`"
        )
    found = _VECTOR.fullmatch(word)
    if found is None:
        raise ValueError(f"{text!r} is none of Hudi's own types; others belong in `schema_hints`. {_ALLOWED}")
    dimension, element = int(found[1]), found[2] or "float"
    if not 1 <= dimension <= _MAX_DIMENSION:
        raise ValueError(f"{text!r}: a vector has 1 to {_MAX_DIMENSION} numbers. {_ALLOWED}")
    if element not in ("float", "double"):
        raise ValueError(f"{text!r}: numbers of a vector are float or double. {_ALLOWED}")
    return VectorType(dimension, "double" if element == "double" else "float")


def _normalise(text: str) -> str:
    return str(parse_column_type(text))


ColumnTypes = dict[str, Annotated[str, AfterValidator(_normalise)]]


def list_column_types(table: "TableConfig") -> Mapping[str, ColumnType]:
    """By the names of the table's columns."""
    return {name: parse_column_type(text) for name, text in table.columns.items()}


def iter_column_type_problems(table: "TableConfig") -> Iterator[Problem]:
    """What such columns cannot be, or be beside. The table's format is known."""
    types = list_column_types(table)
    used = {
        key: {name.lower() for name in getattr(table, key)}
        for key in ("record_key", "ordering", "partition", "partition_columns")
    }
    if isinstance(table.column_stats, tuple):
        used["column_stats"] = {name.lower() for name in table.column_stats}
    rescued = (table.effective_rescued_data_column or "").lower() if table.from_ is None else ""
    for name, kind in types.items():
        path, folded = ("columns", name), name.lower()
        if not _NAME.fullmatch(name):
            yield path, "cannot be a column's name; allowed: letters, digits, `_`, as the table has them"
        if folded.startswith(_OWN_PREFIXES) or folded == rescued:
            yield path, "is a column of Hudi's or headwater's own; give another name"
        if [other.lower() for other in types].count(folded) > 1:
            yield path, "is there twice, in other letters"
        for key, names in used.items():
            if folded in names:
                yield (key,), f"{name!r} is a {kind.name}: no row is told, ordered or found by one"
        if table.from_ is None and not table.transform:
            yield from ((path, text) for text in _iter_format_problems(table.effective_format, name, kind))
    if table.cdc != "off" and any(isinstance(kind, VectorType) for kind in types.values()):
        yield ("cdc",), f"{table.cdc!r} cannot be with a vector: Hudi 1.2 cannot read the log. Allowed: off"
    if types and table.base_file_format == "orc":
        yield ("base_file_format",), f"'orc' cannot hold {_name_all(types)} in Hudi 1.2. Allowed: parquet"


def _iter_format_problems(file_format: str, name: str, kind: ColumnType) -> Iterator[str]:
    if file_format not in _FORMATS[kind.name]:
        step = _STEPS[kind.name].replace("NAME", name)
        yield f"`format: {file_format}` has nothing that is a {kind.name}; make it by a step: `{step}`"
    elif file_format == "binary" and name.lower() != "content":
        yield f"`format: binary` has no column {name!r}; its bytes are in `content`"


def _name_all(types: Mapping[str, ColumnType]) -> str:
    return " and ".join(sorted({f"a {kind.name}" for kind in types.values()}))
