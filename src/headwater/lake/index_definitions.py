"""The index definitions of a table, and which partitions of the metadata table are built."""

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from headwater.errors import LakeError
from headwater.lake.index_functions import (
    FUNCTION_OPTION,
    LOSS,
    LOSSY,
    ColumnType,
    iter_expression_problems,
    name_column_type,
)
from headwater.lake.options import TABLE_METADATA_FOLDER

if TYPE_CHECKING:
    from headwater.lake.table_folder import TableFolder

EXPRESSION_PREFIX = "expr_index_"
SECONDARY_PREFIX = "secondary_index_"
RECORD_INDEX = "record_index"
COLUMN_STATS = "column_stats"
PARTITION_STATS = "partition_stats"
BLOOM_FILTERS = "bloom_filters"
FILES = "files"

IndexKind = Literal[
    "files",
    "column_stats",
    "partition_stats",
    "bloom_filters",
    "record_level",
    "secondary",
    "expression",
    "other",
]
_KINDS: Mapping[str, IndexKind] = {
    FILES: "files",
    COLUMN_STATS: "column_stats",
    PARTITION_STATS: "partition_stats",
    BLOOM_FILTERS: "bloom_filters",
    RECORD_INDEX: "record_level",
}


# Before any other work, each write builds every index that is defined but not built.
_FATAL = "; every write to the table therefore fails"


@dataclass(frozen=True, slots=True)
class IndexDefinition:
    """An index of the metadata table; `function` is the expression's function, else equal to the kind.

    An index that is not built has only a definition. Its build failed or is running, or the metadata table
    was disabled. `problem` is why the index cannot be built or used.
    """

    name: str
    kind: str
    function: str
    columns: tuple[str, ...]
    is_built: bool
    options: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""


def name_kind(partition: str) -> IndexKind:
    """Return the kind of index in a partition of the metadata table."""
    if partition.startswith(SECONDARY_PREFIX):
        return "secondary"
    if partition.startswith((EXPRESSION_PREFIX, "func_index_")):
        return "expression"
    return _KINDS.get(partition, "other")


def shorten(partition: str) -> str:
    """Return the user-given name of an index, without Hudi's prefix."""
    return partition.removeprefix(SECONDARY_PREFIX).removeprefix(EXPRESSION_PREFIX)


def find_index_options(definitions: Iterable[IndexDefinition], name: str) -> Mapping[str, str]:
    """Return the options of an index definition, empty without one."""
    return next((one.options for one in definitions if one.name == name), {})


def parse_index_definitions(text: str, built: Collection[str] = ()) -> tuple[IndexDefinition, ...]:
    """Parse Hudi's file of index definitions. Raises `ValueError` for invalid content.

    `built` are the existing partitions of the metadata table.
    """
    definitions: dict[str, dict[str, Any]] = json.loads(text).get("indexDefinitions") or {}
    return tuple(
        IndexDefinition(
            name=name,
            kind=definition.get("indexType") or "",
            function=definition.get("indexFunction") or "",
            columns=tuple(definition.get("sourceFields") or ()),
            is_built=name in built,
            options=definition.get("indexOptions") or {},
        )
        for name, definition in sorted(definitions.items())
    )


@dataclass(frozen=True, slots=True)
class KnownTable:
    """What decides whether an index is possible.

    `columns` are types by name, empty if unreadable. `built` are the existing partitions of the metadata
    table.
    """

    columns: Mapping[str, ColumnType]
    built: tuple[str, ...]


def read_known_table(folder: "TableFolder", problems: list[str]) -> KnownTable:
    """Read the known table from a table folder; appends what is unreadable to `problems`."""
    properties = folder.properties
    return KnownTable(
        read_column_types(folder, problems),
        properties.read_list("metadata_partitions"),
    )


def find_problem(definition: IndexDefinition, table: KnownTable) -> str:
    """Return why an index cannot be built, kept or used; empty without a problem."""
    kind = name_kind(definition.name)
    if kind == "secondary" and RECORD_INDEX not in table.built:
        return "no query can use it without the record index, which the table does not have"
    if kind == "expression" and definition.is_built:
        return _find_loss(definition)
    if kind not in ("secondary", "expression") or definition.is_built or not table.columns:
        return ""
    columns = table.columns
    missing = [name for name in definition.columns if name not in columns]
    if missing:
        return f"the table has no column {', '.join(missing)}{_FATAL}"
    if kind == "secondary":
        return ""
    options = {name: value for name, value in definition.options.items() if name != FUNCTION_OPTION}
    column = definition.columns[0]
    found = iter_expression_problems(definition.function, column, columns[column], options)
    problems = "; ".join(found)
    return f"{problems}{_FATAL}" if problems else ""


def _find_loss(definition: IndexDefinition) -> str:
    if definition.kind == BLOOM_FILTERS:
        return f"with bloom filters, {LOSS}, and writes to logs of a merge-on-read table fail"
    return f"with {definition.function}, {LOSS}" if definition.function in LOSSY else ""


def describe_problem(name: str, problem: str) -> str:
    """Return one sentence with the problem and the fix."""
    return f"index {name} is broken: {problem}; `index repair` removes it"


def read_definitions(folder: "TableFolder", problems: list[str]) -> tuple[IndexDefinition, ...]:
    """Read Hudi's index definitions; appends a corrupt file to `problems`."""
    default = f"{TABLE_METADATA_FOLDER}/.index_defs/index.json"
    path = folder.properties.read("index_definitions", default)
    content = folder.read_if_there(path)
    if not content:
        return ()
    try:
        built = folder.properties.read_list("metadata_partitions")
        return parse_index_definitions(content.decode("utf-8"), built)
    except ValueError as error:
        problems.append(
            f"the file of index definitions is corrupt, and writes therefore fail: {path}: {error}"
        )
        return ()


def read_column_types(folder: "TableFolder", problems: list[str]) -> dict[str, ColumnType]:
    """Return the types of all columns, including Hudi's own; appends what is unreadable to `problems`."""
    try:
        schema = folder.reader.schema
    except LakeError as error:
        problems.append(error.message)
        return {}
    return {column.name: name_column_type(column.type) for column in schema}
