"""Verifies that a statement passes columns of `input` through unchanged, in the correct rows. No Spark.

The column with each row's origin must pass through, because rows are deleted with their object. So must the
group columns of a table that follows another one by changed groups.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from headwater.config.processing.transform import INPUT_VIEW
from headwater.errors import TransformError
from headwater.lake.transforms.sql.clauses import iter_aggregates, resolve_ordinal
from headwater.lake.transforms.sql.query import parse_query

_SHOWN_COLUMNS = 3
_ORIGIN_HINT = (
    "the column identifies the row of `input` that each row comes from, so that rows are deleted when their "
    "object is replaced or deleted; for groups and totals, configure a table with `from`"
)
_ROWS_HINT = (
    "the statement receives only the changed rows, and its result must identify the row that each row comes "
    "from; with `refresh: full` and a `record_key`, it receives all rows"
)
_GROUPS_HINT = (
    "the statement receives only the rows of changed groups; with `refresh: full`, it receives all rows"
)

Known = Mapping[str, exp.Expr]
"""The queries behind the names of a WITH clause."""


def check_origin(text: str, origin: str) -> None:
    """Raise `TransformError` unless each row keeps the column `origin` of its row of `input`."""
    _Rule((origin,), _ORIGIN_HINT).check(parse_query(text))


def check_row_wise(text: str, origin: str) -> None:
    """Raise the errors of `check_origin`, and for a statement that combines several rows.

    Functions and joined tables are not checked: no consumer follows their changes.
    """
    _Rule((origin,), _ROWS_HINT).check_alone(parse_query(text))


def check_group_wise(text: str, keys: Sequence[str]) -> None:
    """Raise `TransformError` for a statement that combines rows of several groups, or changes `keys`.

    Functions and joined tables are not checked: no consumer follows their changes.
    """
    _Rule(tuple(key.lower() for key in keys), _GROUPS_HINT).check_alone(parse_query(text))


@dataclass(frozen=True, slots=True)
class _Rule:
    """The columns that must pass through; `is_alone` if rows with equal values in them are isolated."""

    keys: tuple[str, ...]
    hint: str
    is_alone: bool = False

    def check(self, query: exp.Query) -> None:
        if not self._reads_input(query, {}):
            raise self._refuse(f"its rows do not come from `{INPUT_VIEW}`")

    def check_alone(self, query: exp.Query) -> None:
        """Like `check`, for a statement that receives only some of the rows."""
        for clause, what in ((exp.Limit, "LIMIT"), (exp.Offset, "OFFSET"), (exp.TableSample, "TABLESAMPLE")):
            if query.find(clause) is not None:
                raise self._refuse(f"{what} depends on the number of rows")
        if query.find(exp.Pivot) is not None:
            raise self._refuse("PIVOT groups by columns that it does not name")
        names = Counter(table.name.lower() for table in query.find_all(exp.Table) if not table.db)
        own = {INPUT_VIEW, *(cte.alias.lower() for cte in query.find_all(exp.CTE))}
        unions = len(list(query.find_all(exp.Union)))
        doubled = sorted(name for name in own if names[name] > 1 + unions)
        if doubled:
            raise self._refuse(f"it reads `{doubled[0]}` several times, as in a self-join")
        _Rule(self.keys, self.hint, is_alone=True).check(query)
        for table in query.find_all(exp.Table):
            if not table.db and table.name.lower() in own and not _is_source(table):
                raise self._refuse(f"it also reads `{table.name}` in a subquery of an expression")

    def _reads_input(self, query: exp.Expr, known: Known) -> bool:
        """True if the query's rows come from `input`; then they are validated recursively."""
        with_ = query.args.get("with_")
        if with_ is not None:
            known = {**known, **{cte.alias.lower(): cte.this for cte in with_.expressions}}
        if isinstance(query, exp.Subquery):
            return self._reads_input(query.this, known)
        if isinstance(query, exp.Table):
            name = query.name.lower()
            if query.db or name not in known:
                return not query.db and isinstance(query.this, exp.Identifier) and name == INPUT_VIEW
            # Exclude the name itself: a self-reference is not `input`.
            others = {other: found for other, found in known.items() if other != name}
            return self._reads_input(known[name], others)
        if isinstance(query, exp.SetOperation):
            sides = [self._reads_input(side, known) for side in (query.this, query.expression)]
            if any(sides) and not (all(sides) and isinstance(query, exp.Union)):
                raise self._refuse(f"only a UNION whose parts all read `{INPUT_VIEW}` is allowed")
            return all(sides)
        return isinstance(query, exp.Select) and self._reads_in_select(query, known)

    def _reads_in_select(self, query: exp.Select, known: Known) -> bool:
        first, joins = query.args.get("from_"), query.args.get("joins") or ()
        sources = [first.this, *(join.this for join in joins)] if first is not None else []
        reading = [at for at, source in enumerate(sources) if self._reads_input(source, known)]
        if not reading:
            return False
        sides = ["", *(join.side.upper() for join in joins)]
        is_outer = sides[reading[0]] in ("LEFT", "FULL") or not {"RIGHT", "FULL"}.isdisjoint(
            sides[reading[0] + 1 :]
        )
        if self.is_alone and is_outer:
            raise self._refuse(f"an outer join produces rows that do not come from `{INPUT_VIEW}`")
        names = [sources[at].alias_or_name.lower() for at in reading]
        for key in self.keys:
            self._check_key(query, _Key(key, names))
        return True

    def _check_key(self, query: exp.Select, key: "_Key") -> None:
        """Validate a SELECT whose rows come from `input`."""
        self._check_grouping(query, key)
        for window in query.find_all(exp.Window) if self.is_alone else ():
            is_own = window.find_ancestor(exp.Select) is query
            if is_own and not any(key.is_in(part) for part in window.args.get("partition_by") or ()):
                text = window.sql("spark")
                raise self._refuse(
                    f"{text} is a window over rows with different `{key.name}`: add PARTITION BY {key.name}"
                )
        if any(key.comes_out(selected) for selected in query.expressions):
            return
        if query.args.get("distinct"):
            raise self._refuse(f"DISTINCT combines rows with different `{key.name}`")
        raise self._refuse(
            f"the result must contain `{key.name}` unchanged: write {_write_select(query, key)}, or SELECT *"
        )

    def _check_grouping(self, query: exp.Select, key: "_Key") -> None:
        group = query.args.get("group")
        if group is None:
            found = next(iter_aggregates(query), None)
            if found is not None or query.args.get("having"):
                what = found.sql("spark") if found is not None else "HAVING"
                raise self._refuse(f"{what} without GROUP BY {key.name} combines all rows")
            return
        if group.find(exp.Rollup, exp.Cube, exp.GroupingSets):
            raise self._refuse("totals over groups (ROLLUP, CUBE, GROUPING SETS) combine several groups")
        grouped = [resolve_ordinal(part, query) for part in group.expressions]
        if not group.args.get("all") and not any(key.is_in(part) for part in grouped):
            raise self._refuse(f"{group.sql('spark').strip()} combines rows with different `{key.name}`")

    def _refuse(self, text: str) -> TransformError:
        return TransformError(f"SQL: {text}", hint=self.hint)


@dataclass(frozen=True, slots=True)
class _Key:
    """A column of `input`, which a SELECT reads under one of these table names."""

    name: str
    tables: Sequence[str]

    def is_in(self, part: exp.Expr) -> bool:
        """True if the expression is this column."""
        return (
            isinstance(part, exp.Column)
            and part.name.lower() == self.name
            and part.table.lower() in ("", *self.tables)
        )

    def comes_out(self, selected: exp.Expr) -> bool:
        """True if the selected expression contains this column, unchanged and under its name."""
        of_table = selected if isinstance(selected, exp.Column) else None
        star = of_table.this if of_table else selected
        if isinstance(star, exp.Star):
            is_whole = not any(star.args.get(name) for name in ("except_", "except", "replace", "rename"))
            return is_whole and (of_table is None or of_table.table.lower() in self.tables)
        return selected.alias_or_name.lower() == self.name and self.is_in(selected.unalias())


def _is_source(table: exp.Expr) -> bool:
    """True if rows of the statement come from the table, rather than only values of an expression."""
    node = table
    while node.parent is not None:
        if isinstance(node.parent, exp.Select) and node.arg_key not in ("from_", "joins", "with_"):
            return False
        if isinstance(node.parent, exp.Join) and node.arg_key != "this":
            return False
        node = node.parent
    return True


def _write_select(query: exp.Select, key: _Key) -> str:
    """Return the start of the correct SELECT."""
    table = f"{key.tables[0]}." if query.args.get("joins") else ""
    others = [part.sql("spark") for part in query.expressions if part.alias_or_name.lower() != key.name]
    more = ["..."] if len(others) > _SHOWN_COLUMNS else []
    return "SELECT " + ", ".join([f"{table}{key.name}", *others[:_SHOWN_COLUMNS], *more])
