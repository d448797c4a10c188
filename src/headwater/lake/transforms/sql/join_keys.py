"""Follows one group column through the joins of a SELECT. No Spark.

A SELECT over several tables can be computed for some groups alone if each table has a column by which its
rows belong to the groups, and no row is joined with one of another group.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

Columns = frozenset[tuple[str, str]]
"""Columns of a SELECT's tables: lower-cased name of the table, and of the column."""


@dataclass(frozen=True, slots=True)
class JoinKey:
    """A group column within a SELECT: `members` is the column of each table joined so far.

    Rows have the value of their group in COALESCE over each of `carriers`, which may be a single column. An
    outer join makes some columns null, so `equal` are those that have this value or null. `merged` are
    columns of USING.
    """

    members: Mapping[str, str]
    carriers: frozenset[Columns]
    equal: Columns
    merged: frozenset[str] = field(default=frozenset())

    def is_carried_by(self, part: exp.Expr) -> bool:
        """True if the expression has the value of the row's group in every row."""
        columns = list_columns(part, self.merged if len(self.members) > 1 else frozenset(), self.equal)
        return columns is not None and columns <= self.equal and any(c <= columns for c in self.carriers)

    def describe(self) -> str:
        """Return an SQL expression that has the value of the row's group."""
        columns: Columns = min(self.carriers, key=lambda carrier: (len(carrier), sorted(carrier)))
        shown = ", ".join(f"{table}.{name}" for table, name in sorted(columns))
        return shown if len(columns) == 1 else f"coalesce({shown})"


def list_columns(
    part: exp.Expr, merged: frozenset[str] = frozenset(), equal: Columns = frozenset()
) -> Columns | None:
    """Return the columns of a column, or of COALESCE over columns; None for another expression.

    A name without a table stands for the columns of `equal` with that name, if it is one of `merged`.
    """
    if isinstance(part, exp.Coalesce):
        united: Columns = frozenset()
        for each in (part.this, *part.expressions):
            columns = list_columns(each, merged, equal)
            if columns is None:
                return None
            united |= columns
        return united
    if not isinstance(part, exp.Column) or isinstance(part.this, exp.Star) or part.args.get("db"):
        return None
    name = part.name.lower()
    if part.table:
        return frozenset({(part.table.lower(), name)})
    return frozenset(column for column in equal if column[1] == name) if name in merged else None


def iter_first_keys(table: str, query: exp.Select, wanted: Sequence[str]) -> Iterator[JoinKey]:
    """Yield each column of the first table that may be a group column."""
    named = {column.name.lower() for column in query.find_all(exp.Column)}
    used = {
        name.name.lower() for join in query.args.get("joins") or () for name in join.args.get("using") or ()
    }
    for name in sorted(named | used | {key.lower() for key in wanted}):
        column = frozenset({(table, name)})
        yield JoinKey({table: name}, frozenset({column}), column)


def join_keys(keys: Sequence[JoinKey], table: str, join: exp.Join) -> list[JoinKey]:
    """Return the group columns that still are after a join: rows of different groups are not joined."""
    if join.method:
        return []
    found = [
        _extend(key, table, column, join)
        for key in keys
        for column in dict.fromkeys(_iter_equal_columns(key, table, join))
    ]
    return [key for key in found if key is not None]


def _iter_equal_columns(key: JoinKey, table: str, join: exp.Join) -> Iterator[str]:
    """Yield the columns of the joined table that ON or USING equates with the group column."""
    for name in join.args.get("using") or ():
        own = name.name.lower()
        if any({column for _, column in carrier} == {own} for carrier in key.carriers):
            yield own
    condition = join.args.get("on")
    for part in _iter_conditions(condition) if condition is not None else ():
        if isinstance(part, exp.EQ | exp.NullSafeEQ):
            for one, other in ((part.this, part.expression), (part.expression, part.this)):
                columns = list_columns(one)
                if columns and len(columns) == 1 and key.is_carried_by(other):
                    (owner, own), *_ = columns
                    if owner == table:
                        yield own


def _iter_conditions(condition: exp.Expr) -> Iterator[exp.Expr]:
    """Yield what must hold together: the operands of AND."""
    inner = condition.unnest()
    if isinstance(inner, exp.And):
        for side in (inner.this, inner.expression):
            yield from _iter_conditions(side)
    else:
        yield inner


def _extend(key: JoinKey, table: str, column: str, join: exp.Join) -> JoinKey | None:
    """Return the group column with that of the joined table; None for an unknown kind of join."""
    new: Columns = frozenset({(table, column)})
    members = {**key.members, table: column}
    side, kind = join.side.upper(), join.kind.upper()
    if kind in ("SEMI", "ANTI") and side in ("", "LEFT"):
        return JoinKey(members, key.carriers, key.equal, key.merged)
    if kind not in ("", "INNER", "OUTER"):
        return None
    carriers = {
        "": key.carriers | {new},
        "LEFT": key.carriers,
        "RIGHT": frozenset({new}),
        "FULL": frozenset(carrier | new for carrier in key.carriers),
    }[side]
    used = {name.name.lower() for name in join.args.get("using") or ()} & {column}
    return JoinKey(members, carriers, key.equal | new, key.merged | used)
