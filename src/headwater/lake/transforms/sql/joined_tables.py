"""Verifies a SELECT over several tables, and finds the group columns of each of them. No Spark.

The rows of some groups are computed from the rows of these groups in each table. That is right only if no
part of the statement combines rows of different groups. What this module cannot prove is refused.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sqlglot import exp

from headwater.config.problems.nearest import find_nearest
from headwater.errors import TransformError
from headwater.lake.transforms.sql.clauses import iter_aggregates, resolve_ordinal
from headwater.lake.transforms.sql.join_keys import JoinKey, iter_first_keys, join_keys
from headwater.lake.transforms.sql.query import parse_query

GroupColumns = Mapping[str, tuple[str, ...]]
"""The group columns of each table, in the order of the result's group columns."""

_FULL = "with `refresh: full`, the statement receives all rows of the tables"

# Other clauses may combine rows of different groups.
_SELECT = frozenset(
    {"with_", "hint", "distinct", "expressions", "from_", "joins", "laterals", "where", "group", "having"}
    | {"windows", "qualify", "order"}
)
_SET_OPERATION = frozenset({"with_", "this", "expression", "distinct", "order"})
_TABLE = frozenset({"this", "alias"})
_SUBQUERY = frozenset({"this", "alias", "with_"})

Known: TypeAlias = Mapping[str, "_Named"]


@dataclass(frozen=True, slots=True)
class _Named:
    """A query of a WITH clause, and the names that it can read."""

    query: exp.Expr
    known: Known


def check_tables(text: str, names: Sequence[str]) -> None:
    """Raise `TransformError` unless the statement is a SELECT that reads exactly the tables `names`.

    Tables with a qualified name are not checked: their changes are not followed.
    """
    query = parse_query(text)
    own = {cte.alias.lower() for cte in query.find_all(exp.CTE)}
    read = {
        table.name.lower(): table.name
        for table in query.find_all(exp.Table)
        if not table.db and isinstance(table.this, exp.Identifier) and not table.find_ancestor(exp.Hint)
    }
    known = {name.lower() for name in names}
    if hidden := sorted(own & known):
        raise TransformError(
            f"SQL: WITH {hidden[0]} has the name of a table of `from`",
            hint="choose another name for the query",
        )
    for lowered, name in read.items():
        if lowered not in known | own:
            near = find_nearest(name, names)
            meant = f" Did you mean {near!r}?" if near else ""
            raise TransformError(
                f"SQL: no table {name!r}.{meant} The tables are {', '.join(names)}",
                hint="the first transform reads the tables that `from` lists, by their names",
            )
    for name in names:
        if name.lower() not in read:
            raise TransformError(
                f"SQL: it does not read {name!r}, which `from` lists",
                hint="read the table in the statement, or remove it from `from`",
            )


def find_group_columns(text: str, names: Sequence[str], keys: Sequence[str]) -> GroupColumns:
    """Return the columns of each of the tables `names` that have the values of the result's columns `keys`.

    Raises `TransformError` unless the statement keeps `keys`, and makes all rows with equal `keys` from the
    rows with these values in each table.
    """
    check_tables(text, names)
    search = _Search({name.lower(): name for name in names}, {})
    search.follow(parse_query(text), tuple(key.lower() for key in keys), {})
    for name, columns in search.found.items():
        if len({*columns}) < len(columns):
            raise TransformError(
                f"SQL: {', '.join(keys)} are not different columns of {name!r}",
                hint="remove all but one of them from `group_key`",
            )
    return search.found


@dataclass(frozen=True, slots=True)
class _Search:
    names: Mapping[str, str]
    found: dict[str, tuple[str, ...]]

    def follow(self, node: exp.Expr, keys: tuple[str, ...], known: Known) -> None:
        """Find the columns of tables from which the columns `keys` of a query or table come."""
        if isinstance(node, exp.Table):
            self._follow_table(node, keys, known)
        elif isinstance(node, exp.Subquery):
            _require(node, _SUBQUERY)
            self.follow(node.this, keys, _add_named(node, known))
        elif isinstance(node, exp.SetOperation):
            _require(node, _SET_OPERATION)
            known = _add_named(node, known)
            self.follow(node.this, keys, known)
            self.follow(node.expression, _translate(node, keys), known)
        elif isinstance(node, exp.Select):
            _require(node, _SELECT)
            self._follow_select(node, keys, _add_named(node, known))
        else:
            raise _refuse(f"{_show(node)} is not a table of `from`")

    def _follow_table(self, table: exp.Table, keys: tuple[str, ...], known: Known) -> None:
        name = table.name.lower()
        if not isinstance(table.this, exp.Identifier) or table.db or (name not in {**known, **self.names}):
            raise _refuse(f"{_show(table)} is not a table of `from`, so its changes are not followed")
        _require(table, _TABLE)
        if name in known:
            self.follow(known[name].query, keys, known[name].known)
        elif self.found.setdefault(self.names[name], keys) != keys:
            one, other = (", ".join(columns) for columns in (self.found[self.names[name]], keys))
            raise _refuse(f"it joins {self.names[name]!r} by {one}, and elsewhere by {other}")

    def _follow_select(self, query: exp.Select, keys: tuple[str, ...], known: Known) -> None:
        sources = dict(_iter_sources(query))
        _check_expressions(query)
        found = [self._find_key(query, list(sources), key) for key in keys]
        _check_grouping(query, keys, found)
        _check_windows(query, keys, found)
        for table, source in sources.items():
            self.follow(source, tuple(key.members[table] for key in found), known)

    def _find_key(self, query: exp.Select, tables: Sequence[str], key: str) -> JoinKey:
        first, *others = tables
        possible = list(iter_first_keys(first, query, [key]))
        for table, join in zip(others, query.args.get("joins") or (), strict=True):
            possible = join_keys(possible, table, join)
            if not possible:
                raise _refuse(
                    f"{table!r} is not joined on the group columns: write JOIN ... ON {table}.COLUMN = "
                    "OTHER_TABLE.COLUMN, or USING"
                )
        output = _find_output(query, tables, key)
        for join_key in possible:
            if join_key.is_carried_by(output):
                return join_key
        _refuse_output(output, key, possible)
        raise _refuse(
            f"{_show(output)} as {key!r} is not a column, unchanged, on which all tables are joined"
        )


def _iter_sources(query: exp.Select) -> Iterator[tuple[str, exp.Expr]]:
    """Yield the tables of FROM and JOIN by the names that columns have there."""
    first = query.args.get("from_")
    if first is None:
        raise _refuse("a SELECT without FROM has the same rows for all groups")
    names: set[str] = set()
    for at, source in enumerate((first.this, *(join.this for join in query.args.get("joins") or ()))):
        alias = source.args.get("alias")
        if alias is not None and alias.args.get("columns"):
            raise _refuse(f"{_show(source)} renames columns; rename them in a SELECT")
        # No column can name a query without an alias.
        name = source.alias_or_name.lower() or f"#{at}"
        if name in names:
            raise _refuse(f"{_show(source)} requires a name of its own, such as `... AS other`")
        names.add(name)
        yield name, source


def _check_expressions(query: exp.Select) -> None:
    """Raise an error for a query in an expression: it reads rows of all groups."""
    conditions = [join.args.get("on") for join in query.args.get("joins") or ()]
    clauses = [part for name, value in query.args.items() if name not in ("with_", "from_", "joins", "hint")
               for part in (value if isinstance(value, list) else [value])]  # fmt: skip
    for part in (*conditions, *clauses):
        inner = part.find(exp.Query) if isinstance(part, exp.Expr) else None
        if inner is not None:
            raise _refuse(f"{_show(inner)} is a subquery in an expression: join it instead")


def _check_grouping(query: exp.Select, keys: Sequence[str], found: Sequence[JoinKey]) -> None:
    group = query.args.get("group")
    if group is None:
        aggregate = next(iter_aggregates(query), None)
        if aggregate is not None or query.args.get("having"):
            what = _show(aggregate) if aggregate is not None else "HAVING"
            raise _refuse(f"{what} without GROUP BY {', '.join(keys)} combines all rows")
        return
    if group.find(exp.Rollup, exp.Cube, exp.GroupingSets):
        raise _refuse("totals over groups (ROLLUP, CUBE, GROUPING SETS) combine several groups")
    grouped = [resolve_ordinal(part, query) for part in group.expressions]
    for key, join_key in zip(keys, found, strict=True):
        # Spark rejects the statement if a name without a table is not the selected column.
        is_grouped = any(
            _is_name(part, key) or join_key.is_carried_by(_qualify(part, join_key)) for part in grouped
        )
        if not group.args.get("all") and not is_grouped:
            raise _refuse(f"{_show(group)} combines rows with different `{key}`")


def _check_windows(query: exp.Select, keys: Sequence[str], found: Sequence[JoinKey]) -> None:
    for window in query.find_all(exp.Window):
        if window.find_ancestor(exp.Select) is not query:
            continue
        parts = [_qualify(part, found[0]) for part in window.args.get("partition_by") or ()]
        for key, join_key in zip(keys, found, strict=True):
            if not any(join_key.is_carried_by(part) for part in parts):
                raise _refuse(
                    f"{_show(window)} is a window over rows with different `{key}`: add PARTITION BY "
                    f"{join_key.describe()}"
                )


def _find_output(query: exp.Select, tables: Sequence[str], key: str) -> exp.Expr:
    """Return the expression over the tables that is the output column `key`. Raises `TransformError`."""
    is_single = len(tables) == 1 and not query.args.get("laterals")
    named = [part for part in query.expressions if part.alias_or_name.lower() == key and not part.is_star]
    if named:
        return _name_table(named[0].unalias(), tables[0]) if is_single else named[0].unalias()
    stars = [part for part in query.expressions if _is_whole_star(part)]
    owners = [part.table.lower() if isinstance(part, exp.Column) else "" for part in stars]
    if len(owners) == 1 and (owners[0] or is_single):
        return exp.column(key, table=owners[0] or tables[0])
    if len(owners) == 1:
        return exp.column(key)  # a column of USING
    raise _refuse(
        f"the result must contain `{key}`, a column on which the tables are joined: select it by name"
    )


def _refuse_output(output: exp.Expr, key: str, possible: Sequence[JoinKey]) -> None:
    """Raise a more exact error for an output column that outer joins make null, or without a table."""
    if isinstance(output, exp.Column) and not output.table:
        raise _refuse(
            f"`{output.name}` as {key!r} may be a column of several tables: write TABLE.{output.name}"
        )
    for join_key in possible:
        if isinstance(output, exp.Column) and (output.table.lower(), output.name.lower()) in join_key.equal:
            raise _refuse(f"an outer join makes {_show(output)} null: select {join_key.describe()} as {key}")


def _translate(operation: exp.SetOperation, keys: tuple[str, ...]) -> tuple[str, ...]:
    """Return the columns of the right side that are at the positions of `keys` on the left side."""
    sides = (operation.this, operation.expression)
    if any(part.is_star for side in sides for part in side.selects):
        raise _refuse("a UNION matches columns by position: select columns by name instead of *")
    left, right = ([name.lower() for name in side.named_selects] for side in sides)
    found = []
    for key in keys:
        if left.count(key) != 1 or left.index(key) >= len(right) or right.count(right[left.index(key)]) != 1:
            raise _refuse(f"both sides of a UNION must have one column at the position of `{key}`")
        found.append(right[left.index(key)])
    return tuple(found)


def _add_named(node: exp.Expr, known: Known) -> Known:
    """Return the names with those of a WITH clause, each of which reads only the names before it."""
    with_ = node.args.get("with_")
    if with_ is None:
        return known
    if with_.args.get("recursive"):
        raise _refuse("WITH RECURSIVE combines rows of several groups")
    for cte in with_.expressions:
        if cte.args["alias"].args.get("columns"):
            raise _refuse(f"WITH {_show(cte.args['alias'])} renames columns; rename them in its SELECT")
        known = {**known, cte.alias.lower(): _Named(cte.this, known)}
    return known


def _require(node: exp.Expr, allowed: frozenset[str]) -> None:
    """Raise an error for clauses that may combine rows of different groups."""
    for name, value in node.args.items():
        if value and name not in allowed:
            shown = value.sql("spark").strip() if isinstance(value, exp.Expr) else name.upper()
            raise _refuse(f"{shown} may depend on rows of other groups")


def _is_name(part: exp.Expr, key: str) -> bool:
    return isinstance(part, exp.Column) and not part.table and part.name.lower() == key


def _qualify(part: exp.Expr, key: JoinKey) -> exp.Expr:
    return _name_table(part, next(iter(key.members))) if len(key.members) == 1 else part


def _name_table(part: exp.Expr, table: str) -> exp.Expr:
    """Return a column without a table as one of the only table."""
    is_plain = isinstance(part, exp.Column) and not part.table and not isinstance(part.this, exp.Star)
    return exp.column(part.name, table=table) if is_plain else part


def _is_whole_star(part: exp.Expr) -> bool:
    star = part.this if isinstance(part, exp.Column) else part
    cut = ("except_", "except", "replace", "rename")
    return isinstance(star, exp.Star) and not any(star.args.get(name) for name in cut)


def _show(part: exp.Expr) -> str:
    return part.sql("spark").strip()


def _refuse(text: str) -> TransformError:
    return TransformError(f"SQL: {text}", hint=_FULL)
