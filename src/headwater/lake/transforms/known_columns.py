"""Derives a table's columns before any row is read, and finds references to unknown columns. No Spark."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from headwater.config.problems.nearest import find_nearest
from headwater.config.processing.transform import TransformStep
from headwater.config.table import TableConfig
from headwater.errors import HeadwaterError
from headwater.lake.transforms.sql.carried_columns import check_group_wise, check_origin, check_row_wise
from headwater.lake.transforms.sql.file import read_sql_file
from headwater.lake.transforms.sql.joined_tables import check_tables, find_group_columns
from headwater.lake.transforms.sql.query import list_output_columns, parse_query

Names = tuple[str, ...] | None
"""Lower-cased column names; None if unknown."""
Problem = tuple[str, str]
"""A path relative to the table, such as `transform[0].sql`, and a sentence."""

_OWN = "_headwater_"


def iter_column_problems(config: TableConfig) -> Iterator[Problem]:
    """Yield references to columns that do not exist, as far as `schema` or the transforms define them."""
    names = _list_declared(config)
    for at, step in enumerate(config.transform):
        yield from _iter_unknown(f"transform[{at}].{step.kind}", _list_wanted(step), names, config)
        names = _follow(step, names)
    if not config.transform:
        # Without transforms, the table validates its own keys, because that check knows Hudi's names.
        names = names if config.schema_ else None
    else:
        for key in ("record_key", "group_key", "ordering", "partition"):
            yield from _iter_unknown(key, getattr(config, key), names, config)
    yield from _iter_unknown("columns", tuple(config.columns), names, config)
    for at, check in enumerate(config.checks):
        yield from _iter_unknown(f"checks[{at}].{check.kind}", check.columns, names, config)


def iter_sql_problems(config: TableConfig, carried: str) -> Iterator[Problem]:
    """Yield invalid statements of transforms and checks, and missing files."""
    for at, step in enumerate(config.transform):
        try:
            if step.kind in ("sql", "sql_file"):
                text = step.sql or read_sql_file(step.sql_file or Path())
                _check_statement(text, carried, config, is_first=at == 0)
        except HeadwaterError as error:
            yield f"transform[{at}].{step.kind}", f"{error.message}; {error.hint}"
    for at, check in enumerate(config.checks):
        try:
            query = parse_query(check.sql) if check.sql is not None else None
        except HeadwaterError as error:
            yield f"checks[{at}].sql", f"{error.message}; {error.hint}"
            continue
        columns = list_output_columns(query) if query is not None else None
        if columns is not None and len(columns) != 1:
            yield f"checks[{at}].sql", f"it selects {len(columns)} columns; a check compares one value"


def _check_statement(text: str, carried: str, config: TableConfig, *, is_first: bool) -> None:
    """Raise `TransformError` for a statement with which the table cannot be updated incrementally."""
    if config.from_ is None:
        check_origin(text, carried)
    elif config.is_joined and is_first:
        check_tables(text, tuple(config.inputs))
        if config.effective_refresh == "changed_keys":
            find_group_columns(text, tuple(config.inputs), config.effective_group_key)
    elif config.effective_refresh == "full":
        parse_query(text)
    elif config.effective_refresh == "changed_keys":
        check_group_wise(text, config.effective_group_key)
    else:
        check_row_wise(text, carried)


def _iter_unknown(path: str, wanted: Sequence[str], names: Names, config: TableConfig) -> Iterator[Problem]:
    if names is None:
        return
    known = {*names, *(name.lower() for name in config.partition_columns)}
    for name in wanted:
        if name.lower() not in known and not name.lower().startswith(_OWN):
            meant = find_nearest(name.lower(), list(names))
            more = f" Did you mean {meant!r}?" if meant else ""
            yield path, f"no column {name!r}.{more} The columns are {', '.join(names)}"


def _list_declared(config: TableConfig) -> Names:
    if config.schema_ is None or config.schema_.ddl is None or config.from_ is not None:
        return None
    try:
        parsed = sqlglot.parse_one(f"create table t ({config.schema_.ddl})", dialect="spark")
    except SqlglotError:
        return None  # Spark reports the problem
    found = [column.name.lower() for column in parsed.this.expressions if isinstance(column, exp.ColumnDef)]
    rescued = config.effective_rescued_data_column
    return (*found, *([rescued.lower()] if rescued else []))


def _list_wanted(step: TransformStep) -> Sequence[str]:
    flatten = (*step.flatten.columns, *step.flatten.explode) if step.flatten else ()
    mask = step.mask.columns if step.mask else ()
    return (*step.rename, *step.cast, *step.drop, *step.keep, *step.hash, *mask, *flatten)


def _follow(step: TransformStep, names: Names) -> Names:
    """Return the columns after a transform."""
    if step.kind == "keep":
        return tuple(name.lower() for name in step.keep)
    if step.kind in ("sql", "sql_file"):
        return _follow_sql(step)
    if step.kind in ("flatten", "python", "java"):
        return None
    if names is None:
        return None
    renamed = {old.lower(): new.lower() for old, new in step.rename.items()}
    dropped = {name.lower() for name in step.drop}
    return tuple(renamed.get(name, name) for name in names if name not in dropped)


def _follow_sql(step: TransformStep) -> Names:
    try:
        text = read_sql_file(step.sql_file) if step.sql_file is not None else step.sql or ""
        columns = list_output_columns(parse_query(text))
    except HeadwaterError:
        return None  # reported by `iter_sql_problems`
    # Headwater's own columns are valid everywhere, so omit them from suggestions.
    return tuple(name for name in columns if not name.startswith(_OWN)) if columns is not None else None
