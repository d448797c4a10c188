"""What a table says of its indexes: the file of definitions, and which partitions of the metadata table are
built."""

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from headwater.errors import LakeError
from headwater.lake.indexes.functions import (
    FUNCTION_OPTION,
    ColumnType,
    iter_expression_problems,
    name_column_type,
)
from headwater.lake.options import TABLE_METADATA_FOLDER

if TYPE_CHECKING:
    from headwater.lake.inspection.timeline import TableTimeline

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


@dataclass(frozen=True, slots=True)
class IndexDefinition:
    """An index of the metadata table; `function` is the expression's, or the kind again. One that is not
    built has a definition and nothing else: its making failed or goes on, or the metadata table was switched
    off. `problem` says why it cannot be built: then every write of the table fails."""

    name: str
    kind: str
    function: str
    columns: tuple[str, ...]
    is_built: bool
    options: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""


def name_kind(partition: str) -> IndexKind:
    """What a partition of the metadata table holds."""
    if partition.startswith(SECONDARY_PREFIX):
        return "secondary"
    if partition.startswith((EXPRESSION_PREFIX, "func_index_")):
        return "expression"
    return _KINDS.get(partition, "other")


def shorten(partition: str) -> str:
    """The name that its owner gave an index: without Hudi's prefix."""
    return partition.removeprefix(SECONDARY_PREFIX).removeprefix(EXPRESSION_PREFIX)


def parse_index_definitions(text: str, built: Collection[str] = ()) -> tuple[IndexDefinition, ...]:
    """Hudi's file of index definitions; `built` are the partitions of the metadata table. Raises `ValueError`
    for what is none."""
    definitions: dict[str, dict[str, Any]] = json.loads(text).get("indexDefinitions") or {}
    return tuple(
        IndexDefinition(
            name=name,
            kind=told.get("indexType") or "",
            function=told.get("indexFunction") or "",
            columns=tuple(told.get("sourceFields") or ()),
            is_built=name in built,
            options=told.get("indexOptions") or {},
        )
        for name, told in sorted(definitions.items())
    )


def find_problem(
    definition: IndexDefinition, columns: Mapping[str, ColumnType], built: Collection[str]
) -> str:
    """Why an index that is not built never will be; empty when nothing speaks against it.

    `columns` are the table's by name (none where they cannot be read), `built` the partitions of its
    metadata table.
    """
    kind = name_kind(definition.name)
    if definition.is_built and kind != "secondary":
        return ""
    if kind == "secondary" and RECORD_INDEX not in built:
        return "a secondary index needs the record index, which the table does not have"
    if kind not in ("secondary", "expression") or definition.is_built or not columns:
        return ""
    missing = [name for name in definition.columns if name not in columns]
    if missing:
        return f"the table has no column {', '.join(missing)}"
    if kind == "secondary":
        return ""
    options = {name: value for name, value in definition.options.items() if name != FUNCTION_OPTION}
    column = definition.columns[0]
    with_bloom = definition.kind == BLOOM_FILTERS
    found = iter_expression_problems(
        definition.function, column, columns[column], options, with_bloom=with_bloom
    )
    return "; ".join(found)


def describe_problem(name: str, problem: str) -> str:
    """One sentence: what is wrong, and what it does."""
    return f"index {name} is broken: {problem}; writes fail until `index repair` removes it"


def read_definitions(timeline: "TableTimeline", problems: list[str]) -> tuple[IndexDefinition, ...]:
    """What Hudi has written down about each index. A damaged file is told in `problems`."""
    default = f"{TABLE_METADATA_FOLDER}/.index_defs/index.json"
    path = timeline.folder.properties.read("index_definitions", default)
    content = timeline.folder.read_if_there(path)
    if not content:
        return ()
    try:
        built = timeline.folder.properties.read_list("metadata_partitions")
        return parse_index_definitions(content.decode("utf-8"), built)
    except ValueError as error:
        problems.append(f"the file of index definitions is damaged, and writes fail of it: {path}: {error}")
        return ()


def read_column_types(timeline: "TableTimeline", problems: list[str]) -> dict[str, ColumnType]:
    """Of all columns, Hudi's own included. What cannot be read is told in `problems`."""
    try:
        schema = timeline.folder.reader.schema
    except LakeError as error:
        problems.append(error.message)
        return {}
    return {column.name: name_column_type(column.type) for column in schema}
