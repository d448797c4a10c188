"""Adds to a query the column that tells which row of `input` each of its rows comes from. No Spark.

The text stays what its author wrote: the column is put in after each SELECT that needs it.
"""

import logging
from collections.abc import Sequence

import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.errors import ParseError, SqlglotError

from headwater.config.processing.transform import INPUT_VIEW
from headwater.errors import TransformError

_DIALECT = "spark"
_HINT = "each row has to come from one row of `input`, so that it goes when its object is replaced or removed"

# It warns of statements it knows only by their first word; those are refused here with an error.
logging.getLogger("sqlglot").setLevel(logging.ERROR)


def parse_query(text: str) -> exp.Query:
    """The one SELECT in the text. Raises `TransformError` for bad syntax, a write, or several statements."""
    try:
        parsed = sqlglot.parse(text, dialect=_DIALECT)
    except ParseError as error:
        first = error.errors[0]
        where = f"line {first.get('line')}, column {first.get('col')}"
        what = str(first.get("description")).partition(" for <class")[0].rstrip(".")
        near = f", near {first.get('highlight')!r}" if first.get("highlight") else ""
        raise TransformError(f"SQL: {where}: {what}{near}", hint="correct the statement") from error
    except SqlglotError as error:
        raise TransformError(f"SQL: {str(error).splitlines()[0]}", hint="is a quote open?") from error
    # A comment behind the last semicolon is parsed as a statement, too.
    found = [part for part in parsed if part is not None and not isinstance(part, exp.Semicolon)]
    if len(found) != 1:
        what = f"{len(found)} statements" if found else "there is no statement"
        raise TransformError(f"SQL: {what}; it has to be one", hint="make each statement a step of its own")
    statement = found[0]
    if not isinstance(statement, exp.Query) or statement.find(exp.Into, exp.DML, exp.DDL):
        raise TransformError("SQL: only a SELECT is allowed here", hint=f"write a SELECT over `{INPUT_VIEW}`")
    return statement


def list_output_columns(query: exp.Query) -> list[str] | None:
    """Names of the columns that come out, lower-cased; None where the text does not tell them all."""
    if any(isinstance(found, exp.Star) or found.is_star for found in query.selects):
        return None
    return [name.lower() for name in query.named_selects]


def carry_column(text: str, column: str) -> str:
    """The text with `column` of `input` among what it selects.

    Raises `TransformError` when it has bad syntax, does not read `input`, or makes one row of several.
    """
    query = parse_query(text)
    carrying = _Carrying(text, column)
    if not carrying.carry(query, {}):
        raise TransformError(f"SQL: it does not read `{INPUT_VIEW}`", hint=_HINT)
    return carrying.build()


class _Carrying:
    """The places where the column goes in, found from the outermost SELECT inwards."""

    def __init__(self, text: str, column: str) -> None:
        self._text = text
        self._column = column
        self._tokens: Sequence[Token] = sqlglot.tokenize(text, dialect=_DIALECT)
        self._inserts: dict[int, str] = {}
        self._seen: dict[int, bool] = {}

    def build(self) -> str:
        """The text with all of them."""
        ends = [token.start for token in self._tokens if token.token_type is TokenType.SEMICOLON]
        text = self._text[: min(ends)] if ends else self._text
        for at in sorted(self._inserts, reverse=True):
            text = text[:at] + self._inserts[at] + text[at:]
        return text

    def carry(self, query: exp.Expr, known: dict[str, exp.Query]) -> bool:
        """Whether the query's rows come from `input`, so that it has the column now."""
        if id(query) not in self._seen:
            # False meanwhile: a recursive name would lead back to itself.
            self._seen[id(query)] = False
            self._seen[id(query)] = self._carry(query, known)
        return self._seen[id(query)]

    def _carry(self, query: exp.Expr, known: dict[str, exp.Query]) -> bool:
        with_ = query.args.get("with_")
        if with_ is not None:
            known = {**known, **{cte.alias.lower(): cte.this for cte in with_.expressions}}
        if isinstance(query, exp.Subquery):
            return self.carry(query.this, known)
        if isinstance(query, exp.SetOperation):
            sides = [self.carry(side, known) for side in (query.this, query.expression)]
            if any(sides) and (not isinstance(query, exp.Union) or query.args.get("distinct")):
                raise TransformError(
                    f"SQL: {query.key.upper()} makes one row of several equal ones", hint=_HINT
                )
            if any(sides) and not all(sides):
                raise TransformError(f"SQL: one side of the UNION does not read `{INPUT_VIEW}`", hint=_HINT)
            return all(sides)
        return isinstance(query, exp.Select) and self._carry_select(query, known)

    def _carry_select(self, query: exp.Select, known: dict[str, exp.Query]) -> bool:
        source = next((found for found in _list_sources(query) if self._carries(found, known)), None)
        if source is None:
            return False
        _refuse_grouping(query)
        if not self._has_column(query, source):
            alias = source.alias_or_name
            name = f"`{self._column}`"
            at = self._find_select(query)
            self._inserts[at] = f" `{alias}`.{name}," if alias else f" {name},"
        return True

    def _carries(self, source: exp.Expr, known: dict[str, exp.Query]) -> bool:
        if not isinstance(source, exp.Table):
            return self.carry(source, known)
        name = source.name.lower()
        if source.db or not isinstance(source.this, exp.Identifier):
            return False
        return self.carry(known[name], known) if name in known else name == INPUT_VIEW

    def _has_column(self, query: exp.Select, source: exp.Expr) -> bool:
        for found in query.expressions:
            if isinstance(found, exp.Star) or found.alias_or_name.lower() == self._column:
                return True
            if isinstance(found, exp.Column) and found.is_star and found.table == source.alias_or_name:
                return True
        return False

    def _find_select(self, query: exp.Select) -> int:
        """Offset after the query's SELECT and its hint."""
        at = self._find_token(query)
        while self._tokens[at + 1].token_type in (TokenType.HINT, TokenType.ALL):
            at += 1
        return self._tokens[at].end + 1

    def _find_token(self, query: exp.Select) -> int:
        """The query's SELECT: the last one before what it reads from that is in no parentheses."""
        depth, at = 0, self._find_inside(query.args["from_"].this)
        while at > 0:
            at -= 1
            kind = self._tokens[at].token_type
            if kind is TokenType.SELECT and depth == 0:
                return at
            # Leaving the parentheses that one stands in is no depth.
            depth += (kind is TokenType.R_PAREN) - (kind is TokenType.L_PAREN and depth > 0)
        raise TransformError("SQL: its SELECT cannot be found", hint=self._say_by_hand())

    def _find_inside(self, source: exp.Expr) -> int:
        """A token of the source that stands in none of its inner parentheses."""
        if isinstance(source, exp.Table) and isinstance(source.this, exp.Identifier):
            start = source.this.meta.get("start")
            return next(at for at, token in enumerate(self._tokens) if token.start == start)
        first = source.find(exp.Select)
        if first is None:
            raise TransformError("SQL: what it reads from cannot be told", hint=self._say_by_hand())
        return self._find_token(first)

    def _say_by_hand(self) -> str:
        return f"select the column `{self._column}` of `{INPUT_VIEW}` yourself"


def _list_sources(query: exp.Select) -> list[exp.Expr]:
    first = query.args.get("from_")
    joined = [join.this for join in query.args.get("joins") or ()]
    return [first.this, *joined] if first is not None else []


def _refuse_grouping(query: exp.Select) -> None:
    for key, what in (("group", "GROUP BY"), ("distinct", "DISTINCT"), ("having", "HAVING")):
        if query.args.get(key):
            raise TransformError(f"SQL: {what} makes one row of several", hint=_HINT)
    for selected in query.expressions:
        for found in selected.find_all(exp.AggFunc):
            is_own = found.find_ancestor(exp.Select) is query
            if is_own and found.find_ancestor(exp.Window, exp.Select) is query:
                raise TransformError(f"SQL: {found.sql(_DIALECT)} makes one row of several", hint=_HINT)
