"""Validates that an index can be created, dropped or rebuilt, before Spark starts and Hudi writes.

Hudi 1.2 writes a definition before it checks that the index can be built. It drops an index that the next
write is not configured to keep. Every function here raises `UsageError` for an invalid request.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal

from headwater.config.problems.nearest import find_nearest
from headwater.config.table import TableConfig
from headwater.errors import UsageError
from headwater.lake.auto_index import settle_index
from headwater.lake.index_definitions import (
    BLOOM_FILTERS,
    COLUMN_STATS,
    FILES,
    PARTITION_STATS,
    RECORD_INDEX,
    name_kind,
)
from headwater.lake.index_functions import FUNCTION_OPTION, iter_expression_problems
from headwater.lake.indexes.listing import TableIndex, TableIndexes, name_partition
from headwater.lake.options import (
    BLOOM_FILTERS_OPTION,
    has_timeline_server,
    keeps_global_record_index,
    list_column_stats,
    list_kept_partitions,
    owner_options,
)

IndexType = Literal[
    "secondary", "expression", "column_stats", "partition_stats", "bloom_filters", "record_level"
]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SINGLE: Mapping[IndexType, str] = {
    "column_stats": COLUMN_STATS,
    "partition_stats": PARTITION_STATS,
    "bloom_filters": BLOOM_FILTERS,
    "record_level": RECORD_INDEX,
}
_ASKED_BY = {
    COLUMN_STATS: "`column_stats: [{columns}]`",
    PARTITION_STATS: "`column_stats: [{columns}]`, which includes them",
    BLOOM_FILTERS: f'`hoodie: {{{{{BLOOM_FILTERS_OPTION}: "true"}}}}`',
    RECORD_INDEX: "`index: {{type: global_record_level}}`",
    FILES: "`metadata_table: true`",
}
_SECONDARY_TYPES = frozenset({"string", "int", "bigint", "float", "double", "date", "timestamp"})


@dataclass(frozen=True, slots=True)
class IndexRequest:
    """The requested index. `function` and `options` belong to an expression index, which stores the minimum
    and maximum per file."""

    name: str
    type: IndexType
    columns: tuple[str, ...] = ()
    function: str = ""
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PlannedIndex:
    """The index to build. `options` are in Hudi's form: the given ones and the function."""

    name: str
    type: IndexType
    partition: str
    columns: tuple[str, ...]
    options: Mapping[str, str]
    statistics: str


def plan_creation(found: TableIndexes, config: TableConfig | None, request: IndexRequest) -> PlannedIndex:
    """Return the index to build."""
    owner = _check_writers(found, config)
    partition = name_partition(request.type, request.name)
    _check_name(found, request, partition)
    _check_kept(found, request, owner)
    if request.type in _SINGLE:
        return _plan_single(owner, request)
    problems = list(_iter_column_problems(found, request))
    if problems:
        raise UsageError(
            f"index {request.name} on table {found.table}: {'; '.join(problems)}", hint=_list(found)
        )
    options = dict(request.options)
    if request.type == "expression":
        options[FUNCTION_OPTION] = request.function
    return PlannedIndex(
        name=request.name,
        type=request.type,
        partition=partition,
        columns=request.columns,
        options=options,
        statistics=COLUMN_STATS if request.type == "expression" else "",
    )


def plan_drop(found: TableIndexes, config: TableConfig | None, name: str) -> TableIndex:
    """Return the index to drop, complete or broken."""
    index = find_index(found, name)
    if index.state == "broken":
        return index
    _check_under_way(found)
    if index.kind == FILES:
        raise UsageError(
            f"`files` is the metadata table itself, which contains every index of {found.table}",
            hint="remove `metadata_table` from the configuration: the next `run` deletes the metadata table",
        )
    users = [one.name for one in found.indexes if one.kind == "secondary"]
    if index.partition == RECORD_INDEX and users:
        raise UsageError(
            f"the record index of {found.table} is required by {', '.join(users)}",
            hint=f"first run `headwater table {found.table} index drop {users[0]}`",
        )
    owned = index.kind in ("secondary", "expression")
    settled = settle_index(config, found.record_index) if config else None
    if not owned and settled is not None and index.partition in list_kept_partitions(owner_options(settled)):
        if index.partition == RECORD_INDEX and settled is not config:
            raise UsageError(
                f"{found.table} has {index.name} because of its size: the next `run` would keep it",
                hint="set `index: {type: simple}` in the configuration: the next `run` then drops the index",
            )
        asked = _name_asker(index.partition, index.columns)
        raise UsageError(
            f"the configuration of {found.table} includes {index.name}: the next `run` would build it again",
            hint=f"remove {asked} from it: the next `run` then drops the index",
        )
    return index


def plan_rebuild(found: TableIndexes, config: TableConfig | None, name: str) -> PlannedIndex:
    """Return the index with its current definition, to be dropped and rebuilt."""
    owner = _check_writers(found, config)
    index = find_index(found, name)
    types: Mapping[str, IndexType] = {partition: kind for kind, partition in _SINGLE.items()}
    if index.partition in types:
        _check_kept(found, IndexRequest(index.name, types[index.partition]), owner)
        users = [one.name for one in found.indexes if one.kind == "secondary"]
        if index.partition == RECORD_INDEX and users:
            raise UsageError(
                f"the record index of {found.table} is required by {', '.join(users)}",
                hint=f"drop them first, and re-create them afterwards: `index drop {users[0]}`",
            )
        return PlannedIndex(index.name, types[index.partition], index.partition, index.columns, {}, "")
    if index.kind not in ("secondary", "expression"):
        raise UsageError(f"{index.name} cannot be rebuilt on its own", hint=_list_names(found))
    if index.problem:
        raise UsageError(
            f"index {index.name} cannot be built: {index.problem}",
            hint=f"`headwater table {found.table} index repair` removes it",
        )
    type_: IndexType = "secondary" if index.kind == "secondary" else "expression"
    return PlannedIndex(index.name, type_, index.partition, index.columns, index.options, index.statistics)


def plan_repair(found: TableIndexes) -> tuple[TableIndex, ...]:
    """Return the indexes to remove: those that make writes fail, and leftovers of aborted builds."""
    # With a broken index, every write fails, and failed writes look like pending ones.
    broken = tuple(one for one in found.indexes if one.state == "broken")
    if not broken:
        _check_under_way(found)
    # Definitions of column statistics outlive a disabled metadata table and are harmless.
    unfinished = (one for one in found.indexes if one.state in ("building", "not built"))
    return (*broken, *(one for one in unfinished if one.kind in ("secondary", "expression")))


def find_index(found: TableIndexes, name: str) -> TableIndex:
    """Return the index of that name."""
    index = found.find(name)
    if index is None:
        near = find_nearest(name, (one.name for one in found.indexes))
        meant = f"did you mean {near}? " if near else ""
        raise UsageError(f"table {found.table} has no index {name}", hint=meant + _list_names(found))
    return index


def _check_writers(found: TableIndexes, config: TableConfig | None) -> TableConfig:
    if config is None:
        raise UsageError(
            f"{found.table} is one of headwater's own tables, which are written without a metadata table",
            hint="indexes are for data tables",
        )
    broken = [one for one in found.indexes if one.state == "broken"]
    if broken:
        raise UsageError(
            f"table {found.table} has a broken index, which blocks building another one: "
            f"{broken[0].name}: {broken[0].problem}",
            hint=f"`headwater table {found.table} index repair` removes it",
        )
    _check_under_way(found)
    return settle_index(config, found.record_index)


def _check_under_way(found: TableIndexes) -> None:
    if found.under_way:
        raise UsageError(
            f"table {found.table}: the write started at {found.under_way[0]} is in progress, or was killed",
            hint="stop the writer; after a kill, `headwater run --once` rolls the write back",
        )


def _check_name(found: TableIndexes, request: IndexRequest, partition: str) -> None:
    single = _SINGLE.get(request.type)
    if single is not None and request.name != single:
        raise UsageError(
            f"a table has only one index of type {request.type}, named {single}, not {request.name}",
            hint=f"`headwater table {found.table} index create {single} --type {request.type}`",
        )
    if not _NAME.fullmatch(request.name):
        raise UsageError(
            f"{request.name!r} is not a valid index name",
            hint="use letters, digits and `_`, and no digit at the start",
        )
    there = found.find(partition)
    if there is not None and (single is None or there.state == "built"):
        raise UsageError(
            f"table {found.table} already has an index {request.name}: {there.kind}, {there.state}",
            hint=f"`headwater table {found.table} index rebuild {request.name}`, or drop it first",
        )


def _check_kept(found: TableIndexes, request: IndexRequest, config: TableConfig) -> None:
    wanted = _SINGLE.get(request.type, FILES)
    needed = (wanted, RECORD_INDEX) if request.type == "secondary" else (wanted,)
    kept = list_kept_partitions(owner_options(config))
    if request.type == "expression" and not has_timeline_server(config):
        kept -= {FILES}
    if request.type == "secondary" and not keeps_global_record_index(config):
        kept -= {RECORD_INDEX}
    for partition in needed:
        if partition in kept:
            continue
        asked = _name_asker(partition, request.columns)
        raise UsageError(
            f"index {request.name} on table {found.table} requires {_say(partition)}, which the "
            "configuration does not include: the next `run` would remove it, or stop maintaining it",
            hint=f"add {asked} to the table's configuration",
        )


def _plan_single(config: TableConfig, request: IndexRequest) -> PlannedIndex:
    if request.function or request.options:
        raise UsageError(
            f"--function and --option do not apply to {request.type}",
            hint="they require --type expression",
        )
    asked = list_column_stats(config) if request.type in (COLUMN_STATS, PARTITION_STATS) else ()
    if request.columns and request.type == COLUMN_STATS and set(request.columns) != set(asked):
        raise UsageError(
            f"the configuration maintains {COLUMN_STATS} of {', '.join(asked) or 'the first 32 columns'}, "
            f"not of {', '.join(request.columns)}",
            hint=f"set `column_stats: [{', '.join(request.columns)}]` in the configuration",
        )
    return PlannedIndex(request.name, request.type, _SINGLE[request.type], request.columns or asked, {}, "")


def _iter_column_problems(found: TableIndexes, request: IndexRequest) -> Iterator[str]:
    if len(request.columns) != 1:
        yield f"a {request.type} index covers one column, not {len(request.columns)}"
        return
    column = request.columns[0]
    if column not in found.columns:
        near = find_nearest(column, found.columns)
        yield f"there is no column {column}" + (f"; did you mean {near}?" if near else "")
        return
    kind = found.columns[column]
    if request.type == "secondary":
        if request.function or request.options:
            yield "a secondary index takes no function and no options"
        if kind not in _SECONDARY_TYPES:
            yield f"a secondary index does not support column {column}, which is {kind}"
        if column in found.record_keys:
            yield f"column {column} is part of the record key, which the record index covers"
        return
    if not request.function:
        yield "an expression index requires a function"
        return
    yield from iter_expression_problems(request.function, column, kind, request.options)
    same = [one.name for one in found.indexes if one.kind == "expression" and column in one.columns]
    if same:
        yield f"column {column} has the expression index {same[0]}; with a second one, queries miss rows"


def _list(found: TableIndexes) -> str:
    shown = (f"{name} {kind}" for name, kind in found.columns.items() if not name.startswith("_hoodie_"))
    return f"columns: {', '.join(shown)}"


def _list_names(found: TableIndexes) -> str:
    return f"indexes: {', '.join(one.name for one in found.indexes) or 'none'}"


def _name_asker(partition: str, columns: tuple[str, ...]) -> str:
    shown = ", ".join(name for name in columns if not name.startswith("_hoodie_")) or "COLUMN"
    return _ASKED_BY[partition].format(columns=shown)


def _say(partition: str) -> str:
    kind = name_kind(partition)
    if partition == RECORD_INDEX:
        return "the global record index"
    return "the metadata table" if kind == FILES else f"the index {partition}"
