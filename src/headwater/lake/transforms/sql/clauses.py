"""Reads clauses of one SELECT. No Spark."""

from collections.abc import Iterator

from sqlglot import exp


def iter_aggregates(query: exp.Select) -> Iterator[exp.Expr]:
    """Yield the aggregate functions of the SELECT itself, without those of windows and inner queries."""
    for found in query.find_all(exp.AggFunc):
        is_own = found.find_ancestor(exp.Select) is query
        if is_own and not isinstance(found.find_ancestor(exp.Window, exp.Select), exp.Window):
            yield found


def resolve_ordinal(part: exp.Expr, query: exp.Select) -> exp.Expr:
    """Resolve ordinals: `group by 1` groups by the first selected column."""
    if isinstance(part, exp.Literal) and part.is_int and 0 < int(part.this) <= len(query.expressions):
        selected: exp.Expr = query.expressions[int(part.this) - 1].unalias()
        return selected
    return part
