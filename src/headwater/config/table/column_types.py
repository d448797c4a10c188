"""`columns:` of a table: which columns have Hudi's own types, and what that excludes."""

import re
from collections.abc import Iterator, Mapping

from headwater.config.hudi.column_types import ColumnType, VectorType, parse_column_type
from headwater.config.own_columns import is_own_column
from headwater.config.table.fields import TableFields

Problem = tuple[tuple[str, ...], str]

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
# In other formats, no field is an array of numbers or bytes before a transform.
_FORMATS = {
    "vector": frozenset({"json", "json_array", "parquet", "avro", "orc"}),
    "blob": frozenset({"json", "json_array", "parquet", "avro", "orc", "binary"}),
}
_EXAMPLE_TRANSFORMS = {
    "vector": "transform: [{sql: \"select *, from_json(text, 'array<double>') as NAME from input\"}]",
    "blob": 'transform: [{sql: "select *, unbase64(text) as NAME from input"}]',
}


def list_column_types(table: TableFields) -> Mapping[str, ColumnType]:
    """Return the types by the table's column names."""
    return {name: parse_column_type(text) for name, text in table.columns.items()}


def iter_column_type_problems(table: TableFields) -> Iterator[Problem]:
    """Yield conflicts of such columns. The table's format is known."""
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
            yield path, "is not a valid column name. Allowed: letters, digits, `_`, as in the table"
        if is_own_column(folded) or folded == rescued:
            yield path, "is a meta field of Hudi or headwater; choose another name"
        if [other.lower() for other in types].count(folded) > 1:
            yield path, "is duplicate; names are case-insensitive"
        for key, names in used.items():
            if folded in names:
                yield (key,), f"{name!r} is a {kind.name}, which cannot identify, order or locate rows"
        if table.from_ is None and not table.transform:
            yield from ((path, text) for text in _iter_format_problems(table.effective_format, name, kind))
    if table.cdc != "off" and any(isinstance(kind, VectorType) for kind in types.values()):
        yield (
            ("cdc",),
            (f"{table.cdc!r} cannot be combined with a vector: Hudi 1.2 cannot read the log. Allowed: off"),
        )
    if types and table.base_file_format == "orc":
        yield ("base_file_format",), f"'orc' cannot store {_name_all(types)} in Hudi 1.2. Allowed: parquet"


def _iter_format_problems(file_format: str, name: str, kind: ColumnType) -> Iterator[str]:
    if file_format not in _FORMATS[kind.name]:
        step = _EXAMPLE_TRANSFORMS[kind.name].replace("NAME", name)
        yield f"`format: {file_format}` has no {kind.name}; create it with a transform: `{step}`"
    elif file_format == "binary" and name.lower() != "content":
        yield f"`format: binary` has no column {name!r}; the bytes are in `content`"


def _name_all(types: Mapping[str, ColumnType]) -> str:
    return " and ".join(sorted({f"a {kind.name}" for kind in types.values()}))
