"""Whether a statement makes the rows of each group of the rows of that group, whatever others there are.

A table that follows another one by the groups that changed gives a statement the rows of those groups only. A
group is what has the same values in some columns, which have to come out as they went in. No Spark.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from sqlglot import exp

from headwater.config.processing.transform import INPUT_VIEW
from headwater.errors import TransformError
from headwater.lake.transforms.sql.carrying import parse_query

_HINT = "the statement gets the rows of groups that changed, not all; it gets all with `refresh: full`"


def check_group_wise(text: str, keys: Sequence[str]) -> None:
    """Raise `TransformError` for a statement that looks at rows of several groups at once, or changes `keys`.

    Functions that it calls, and tables that it joins, are not looked at: nobody follows their changes.
    """
    query = parse_query(text)
    for clause, what in ((exp.Limit, "LIMIT"), (exp.Offset, "OFFSET"), (exp.TableSample, "TABLESAMPLE")):
        if query.find(clause) is not None:
            raise _refuse(f"{what} depends on how many rows there are")
    if query.find(exp.Pivot) is not None:
        raise _refuse("PIVOT groups by columns that it does not name")
    names = Counter(table.name.lower() for table in query.find_all(exp.Table) if not table.db)
    own = {INPUT_VIEW, *(cte.alias.lower() for cte in query.find_all(exp.CTE))}
    unions = len(list(query.find_all(exp.Union)))
    doubled = sorted(name for name in own if names[name] > 1 + unions)
    if doubled:
        raise _refuse(f"it reads `{doubled[0]}` several times, as in a join with itself")
    if not _reads_input(query, [key.lower() for key in keys], {}):
        raise _refuse(f"its rows do not come from `{INPUT_VIEW}`")


def _reads_input(query: exp.Expr, keys: Sequence[str], known: Mapping[str, exp.Expr]) -> bool:
    """Whether the query's rows come from `input`; then they are looked at, here and below."""
    with_ = query.args.get("with_")
    if with_ is not None:
        known = {**known, **{cte.alias.lower(): cte.this for cte in with_.expressions}}
    if isinstance(query, exp.Subquery):
        return _reads_input(query.this, keys, known)
    if isinstance(query, exp.Table):
        name = query.name.lower()
        if query.db or name not in known:
            return not query.db and name == INPUT_VIEW
        # A name that leads back to itself is none of these.
        others = {other: found for other, found in known.items() if other != name}
        return _reads_input(known[name], keys, others)
    if isinstance(query, exp.SetOperation):
        sides = [_reads_input(side, keys, known) for side in (query.this, query.expression)]
        if any(sides) and not (all(sides) and isinstance(query, exp.Union)):
            raise _refuse(f"only a UNION of parts that all read `{INPUT_VIEW}` is made group by group")
        return all(sides)
    return isinstance(query, exp.Select) and _reads_in_select(query, keys, known)


def _reads_in_select(query: exp.Select, keys: Sequence[str], known: Mapping[str, exp.Expr]) -> bool:
    first, joins = query.args.get("from_"), query.args.get("joins") or ()
    if any(_reads_input(join.this, keys, known) for join in joins):
        raise _refuse(f"`{INPUT_VIEW}` has to stand first, behind FROM, and other tables behind JOIN")
    if first is None or not _reads_input(first.this, keys, known):
        return False
    if any(join.side.upper() in ("RIGHT", "FULL") for join in joins):
        raise _refuse(f"a RIGHT or FULL JOIN makes rows that come from no row of `{INPUT_VIEW}`")
    alias = first.this.alias_or_name.lower()
    for key in keys:
        _check_key(query, key, alias)
    return True


def _check_key(query: exp.Select, key: str, alias: str) -> None:
    """Of a SELECT whose rows come from `input`, under that name."""
    if not any(_lets_through(selected, key, alias) for selected in query.expressions):
        raise _refuse(f"`{key}` has to come out as it is: select it by its own name")
    for window in query.find_all(exp.Window):
        is_own = window.find_ancestor(exp.Select) is query
        parts = window.args.get("partition_by") or ()
        if is_own and not any(_is_key(part, key, alias) for part in parts):
            text = window.sql("spark")
            raise _refuse(f"{text} is a window over several groups: it lacks PARTITION BY {key}")
    group = query.args.get("group")
    if group is None:
        found = next(_iter_aggregates(query), None)
        if found is not None or query.args.get("having"):
            what = found.sql("spark") if found is not None else "HAVING"
            raise _refuse(f"{what} without GROUP BY {key} is over all groups")
        return
    if group.find(exp.Rollup, exp.Cube, exp.GroupingSets):
        raise _refuse("totals over groups (ROLLUP, CUBE, GROUPING SETS) look at several groups")
    grouped = [_resolve(part, query) for part in group.expressions]
    if not group.args.get("all") and not any(_is_key(part, key, alias) for part in grouped):
        raise _refuse(f"GROUP BY lacks `{key}`")


def _iter_aggregates(query: exp.Select) -> Iterator[exp.Expr]:
    for found in query.find_all(exp.AggFunc):
        is_own = found.find_ancestor(exp.Select) is query
        if is_own and not isinstance(found.find_ancestor(exp.Window, exp.Select), exp.Window):
            yield found


def _resolve(part: exp.Expr, query: exp.Select) -> exp.Expr:
    """`group by 1` is by the first column that is selected."""
    if isinstance(part, exp.Literal) and part.is_int and 0 < int(part.this) <= len(query.expressions):
        selected: exp.Expr = query.expressions[int(part.this) - 1].unalias()
        return selected
    return part


def _lets_through(selected: exp.Expr, key: str, alias: str) -> bool:
    of_table = selected if isinstance(selected, exp.Column) else None
    star = of_table.this if of_table else selected
    if isinstance(star, exp.Star):
        is_whole = not any(star.args.get(name) for name in ("except_", "except", "replace", "rename"))
        return is_whole and (of_table is None or of_table.table.lower() == alias)
    return selected.alias_or_name.lower() == key and _is_key(selected.unalias(), key, alias)


def _is_key(part: exp.Expr, key: str, alias: str) -> bool:
    return isinstance(part, exp.Column) and part.name.lower() == key and part.table.lower() in ("", alias)


def _refuse(text: str) -> TransformError:
    return TransformError(f"SQL: {text}", hint=_HINT)
