"""Parses a SQL text before execution: whether it is read-only, and which tables and columns it references."""

import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import sqlglot
from sqlglot import exp, tokens
from sqlglot.errors import ParseError, SqlglotError
from sqlglot.optimizer.scope import traverse_scope

from headwater.errors import UsageError

ALLOWED = "SELECT, WITH, EXPLAIN, DESCRIBE and SHOW TABLES"

# sqlglot warns about statements of which it knows only the first word; those are rejected here with an error.
logging.getLogger("sqlglot").setLevel(logging.ERROR)

_EXPLAIN = re.compile(r"\s*explain\s+((analyze|verbose)\s+)*", re.IGNORECASE)
_SHOW_TABLES = re.compile(r"\s*show\s+tables\s*;?\s*", re.IGNORECASE)
_DESCRIBE = re.compile(
    r"\s*(describe|desc|show\s+columns\s+(from|in))\s+(table\s+)?(?P<quote>[`\"]?)(?P<name>\w+)(?P=quote)\s*;?\s*",
    re.IGNORECASE,
)
_OPERATORS: Mapping[type, str] = {
    exp.EQ: "=",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
}
# The positions of arguments that name tables.
_SPARK_FUNCTIONS: Mapping[str, tuple[int, ...]] = {
    "read_blob": (),
    "hudi_vector_search": (0,),
    "hudi_vector_search_batch": (0, 2),
}


class _Sql(sqlglot.Dialect):
    """Standard SQL that also accepts names in backticks, as DataFusion and Spark do."""

    class Tokenizer(tokens.Tokenizer):
        IDENTIFIERS = ['"', "`"]  # noqa: RUF012 - sqlglot's metaclass reads it as it is


@dataclass(frozen=True, slots=True)
class TableName:
    """A table as the statement spells it; `position` is `line 1, column 15`."""

    name: str
    quoted: bool
    position: str


@dataclass(frozen=True, slots=True)
class Condition:
    """`column operator literal`, which holds for every row of the result."""

    column: str
    quoted: bool
    operator: str
    literal: str
    is_text: bool


@dataclass(frozen=True, slots=True)
class Statement:
    """A parsed statement; `column_names` are all names in the text, lower-cased.

    They are a superset of the columns; None stands for any column. `conditions` are only set for a query of
    one table. `has_union`: the engine reads in parallel. `spark_function` is the first function that only
    Spark with Hudi supports.
    """

    kind: Literal["query", "explain", "describe", "show_tables"]
    text: str
    tables: tuple[TableName, ...] = ()
    column_names: frozenset[str] | None = None
    conditions: tuple[Condition, ...] = ()
    has_union: bool = False
    spark_function: str = ""


def parse_statement(text: str) -> Statement:
    """Parse a statement. Raises `UsageError` for a syntax error (with position), several statements, a
    write."""
    if _SHOW_TABLES.fullmatch(text):
        return Statement("show_tables", text)
    if found := _DESCRIBE.fullmatch(text):
        name = TableName(found["name"], bool(found["quote"]), f"line 1, column {found.start('name') + 1}")
        return Statement("describe", f"DESCRIBE {_quote(name)}", (name,))
    query = _parse_query(_blank_explain(text))
    return Statement(
        "explain" if _EXPLAIN.match(text) else "query",
        text,
        tuple(_iter_tables(query)),
        _collect_names(query),
        tuple(_iter_conditions(query)),
        query.find(exp.Union) is not None,
        next((function.name.lower() for function in _iter_spark_functions(query)), ""),
    )


def _blank_explain(text: str) -> str:
    """Replace the words before the query with blanks, so that positions stay correct."""
    found = _EXPLAIN.match(text)
    return re.sub(r"\S", " ", text[: found.end()]) + text[found.end() :] if found else text


def _parse_query(text: str) -> exp.Query:
    try:
        found = [statement for statement in sqlglot.parse(text, dialect=_Sql) if statement is not None]
    except ParseError as error:
        raise _explain_syntax(error) from error
    except SqlglotError as error:
        raise UsageError(f"SQL: {str(error).splitlines()[0]}", hint="check for an unclosed quote") from error
    if len(found) != 1:
        what = "there is no statement" if not found else f"{len(found)} statements"
        raise UsageError(
            f"SQL: {what}; exactly one is allowed", hint='headwater sql "select * from events limit 10"'
        )
    statement = found[0]
    if not isinstance(statement, exp.Query) or statement.find(exp.Into, exp.DML):
        word = "SELECT INTO" if isinstance(statement, exp.Select) else _first_word(statement, text)
        raise UsageError(f"SQL: {word} is not allowed; use {ALLOWED}", hint="`headwater run` writes tables")
    return statement


def _first_word(statement: exp.Expr, text: str) -> str:
    dml = statement.find(exp.DML)
    return dml.key.upper() if dml else text.split(maxsplit=1)[0].upper()


def _quote(table: TableName) -> str:
    return f'"{table.name}"' if table.quoted else table.name


def _explain_syntax(error: ParseError) -> UsageError:
    first = error.errors[0]
    near = str(first.get("highlight") or "").strip()
    description = str(first.get("description")).partition(" for <class")[0].rstrip(".")
    if description.startswith("Required keyword"):
        # The message would name an argument of sqlglot.
        description = "the statement is incomplete"
    where = f"line {first.get('line')}, column {_column(first.get('col'), near)}"
    return UsageError(f"SQL: {where}: {description}{f', near {near!r}' if near else ''}")


def _column(end: object, word: str) -> int:
    """Convert sqlglot's column, which is a word's end, to its start."""
    return max(1, int(str(end)) - max(0, len(word) - 1))


def position_of(identifier: exp.Expression) -> str:
    """Return `line 1, column 8`; empty if sqlglot did not record it."""
    meta = identifier.meta
    if "line" not in meta:
        return ""
    return f"line {meta['line']}, column {meta['col'] - (meta['end'] - meta['start'])}"


def find_position(statement: Statement, column: str) -> str:
    """Return the position of the first occurrence of a column; empty if absent."""
    if statement.kind not in {"query", "explain"}:
        return ""
    wanted = column.lower()
    named = (found for found in _parse_query(_blank_explain(statement.text)).find_all(exp.Column))
    return next((position_of(found.this) for found in named if found.name.lower() == wanted), "")


def _iter_tables(query: exp.Query) -> Iterator[TableName]:
    for scope in traverse_scope(query):
        for table in scope.sources.values():
            if isinstance(table, exp.Table) and isinstance(table.this, exp.Identifier):
                # `e.items` also names a database, which no headwater table has.
                name = ".".join(part.name for part in table.parts)
                yield TableName(name, bool(table.this.args.get("quoted")), position_of(table.this))
    for function in _iter_spark_functions(query):
        for at in _SPARK_FUNCTIONS[function.name.lower()]:
            given = function.expressions[at] if at < len(function.expressions) else None
            # Spark resolves paths itself.
            if isinstance(given, exp.Literal) and given.is_string and "/" not in given.name:
                yield TableName(given.name, False, "")


def _iter_spark_functions(query: exp.Query) -> Iterator[exp.Anonymous]:
    found = query.find_all(exp.Anonymous)
    return (function for function in found if function.name.lower() in _SPARK_FUNCTIONS)


def _collect_names(query: exp.Query) -> frozenset[str] | None:
    stars = (star for star in query.find_all(exp.Star) if not isinstance(star.parent, exp.Count))
    if any(stars) or any(join.method.upper() == "NATURAL" for join in query.find_all(exp.Join)):
        return None
    return frozenset(identifier.name.lower() for identifier in query.find_all(exp.Identifier))


def _iter_conditions(query: exp.Query) -> Iterator[Condition]:
    """Yield the top-level `column operator literal` conditions of a plain select from one table."""
    if len(list(query.find_all(exp.Table))) != 1 or len(list(query.find_all(exp.Query))) != 1:
        return
    where = query.args.get("where")
    if where is None:
        return
    for part in where.this.flatten() if isinstance(where.this, exp.And) else (where.this,):
        condition = part.unnest()
        operator = _OPERATORS.get(type(condition))
        column, literal = condition.this, condition.args.get("expression")
        if operator and isinstance(column, exp.Column) and isinstance(literal, exp.Literal):
            quoted = bool(column.this.args.get("quoted"))
            yield Condition(column.name, quoted, operator, literal.name, literal.is_string)
