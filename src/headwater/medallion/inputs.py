"""Reads the sources of a derived table: one in its latest state, several in the states of one batch."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql.types import DataType, IntegralType

from headwater.config.table import TableConfig
from headwater.errors import ConfigError, LakeError
from headwater.lake.queries.change_plan import ChangePlan
from headwater.lake.transforms.columns import quote
from headwater.lake.transforms.sql.file import read_sql_file
from headwater.lake.transforms.sql.joined_tables import find_group_columns
from headwater.medallion.groups import check_group_columns, take_groups
from headwater.medallion.source_tables.protocol import Persist, SourceState, SourceTable

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Input:
    """One source of a derived table: a name or address in `from`, and the `name` that SQL reads it by.

    `keys` are its columns with the values of the table's group columns, in their order.
    """

    source: str
    name: str
    table: SourceTable
    keys: tuple[str, ...]


def build_inputs(config: TableConfig, tables: Mapping[str, SourceTable]) -> tuple[Input, ...]:
    """Return the inputs of a table, given its source tables by source.

    Raises `TransformError` for SQL that cannot be recomputed by group, and `ConfigError` for a missing file.
    """
    keys = config.effective_group_key
    columns = dict.fromkeys(config.inputs, keys)
    if config.is_joined and keys:
        first = config.transform[0]
        text = first.sql or read_sql_file(first.sql_file or Path())
        columns = dict(find_group_columns(text, tuple(config.inputs), keys))
    return tuple(Input(source, name, tables[source], columns[name]) for name, source in config.inputs.items())


class InputStates:
    """The rows of all inputs that one batch reads.

    A single input is read in its latest state. Several are read as of the batch's watermarks, so that the
    result is that of one state of each, whatever is committed during the batch. If such a state is
    unavailable because writers overlapped, the latest one is read, and its newer commits are processed again.
    """

    def __init__(self, table: str, inputs: Sequence[Input], as_of: Mapping[str, str]) -> None:
        self._table = table
        self._inputs = inputs
        self._states = {
            found.name: found.table.find_state(as_of[found.source]) if len(inputs) > 1 else None
            for found in inputs
        }
        self.frames = {found.name: self._read(found) for found in inputs}

    def _read(self, found: Input) -> DataFrame:
        state = self._states[found.name]
        return found.table.read_state(state) if state else found.table.read()

    def restrict(self, groups: DataFrame) -> dict[str, DataFrame]:
        """Return the rows in these groups, by the names of the inputs."""
        return {
            found.name: take_groups(
                self.frames[found.name], groups.toDF(*found.keys), found.keys, "left_semi"
            )
            for found in self._inputs
        }

    def list_groups(self, keys: Sequence[str]) -> DataFrame:
        """Return the groups of all rows, under the table's names for their columns."""
        return _unite(
            [self.frames[found.name].select(*map(quote, found.keys)) for found in self._inputs], keys
        )

    def check_columns(self) -> None:
        """Raise `ConfigError` if an input lacks a group column, or has it in another type than the others."""
        for found in self._inputs:
            check_group_columns(self._table, self.frames[found.name], found.keys, f"{found.source!r}")
        first, *others = self._inputs
        for other in others:
            for one, same in zip(first.keys, other.keys, strict=True):
                self._check_types(first, one, other, same)

    def _check_types(self, first: Input, one: str, other: Input, same: str) -> None:
        kinds = [
            self.frames[found.name].select(quote(name)).schema[0].dataType
            for found, name in ((first, one), (other, same))
        ]
        if not _is_same_kind(*kinds):
            shown = [kind.simpleString() for kind in kinds]
            raise ConfigError(
                f"tables.{self._table}.group_key: column {one!r} of {first.source!r} is {shown[0]}, and "
                f"column {same!r} of {other.source!r} is {shown[1]}: equal values may differ",
                hint="cast one of them in a table before this one, or set `refresh: full`",
            )

    def check_complete(self) -> None:
        """Raise `LakeError` if files of these states may have been cleaned during the read."""
        for found in self._inputs:
            if (state := self._states[found.name]) is not None:
                check_state(self._table, found.table, state)


def check_state(table: str, source: SourceTable, state: SourceState) -> None:
    """Raise `LakeError` if files of that state may have been cleaned during the read.

    Rows would otherwise be missing silently. The retry reads the entire source.
    """
    if not source.is_intact(state):
        raise LakeError(
            f"table {table}: files of its source were cleaned while they were read",
            hint="the batch will be retried; if this happens often, raise `keep_commits` of the source",
        )


def find_befores(
    table: str, inputs: Sequence[Input], changes: Mapping[str, ChangePlan]
) -> dict[str, SourceState] | None:
    """Return the last processed states of the changed sources; None if one is unavailable."""
    befores: dict[str, SourceState] = {}
    for found in inputs:
        if found.source not in changes:
            continue
        before = found.table.find_state(changes[found.source].after)
        if before is None:
            _log.info("table %s: reading all of %s: the changed groups are unknown", table, found.source)
            return None
        befores[found.source] = before
    return befores


def find_groups(
    inputs: Sequence[Input],
    befores: Mapping[str, SourceState],
    changes: Mapping[str, ChangePlan],
    keys: Sequence[str],
    persist: Persist,
) -> DataFrame | None:
    """Return the groups of which rows changed in any source, under the table's names, lazily.

    None if the changes of one source can no longer be read. `persist` keeps a frame until the end of the
    batch.
    """
    changed: list[DataFrame] = []
    for found in inputs:
        if found.source not in changes:
            continue
        plan, before = changes[found.source], befores[found.source]
        groups = found.table.find_changed_groups(plan, before, found.keys, persist)
        if groups is None:
            return None
        changed.append(groups)
    return _unite(changed, keys).distinct()


def _unite(groups: Sequence[DataFrame], keys: Sequence[str]) -> DataFrame:
    return reduce(DataFrame.unionByName, [frame.toDF(*keys) for frame in groups])


def _is_same_kind(one: DataType, other: DataType) -> bool:
    """True if a comparison casts neither to a type with fewer values."""
    return one == other or (isinstance(one, IntegralType) and isinstance(other, IntegralType))
