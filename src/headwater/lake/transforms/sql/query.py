"""Reads the one SELECT of a step or a check. No Spark."""

import logging

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import ParseError, SqlglotError

from headwater.config.processing.transform import INPUT_VIEW
from headwater.errors import TransformError

_DIALECT = "spark"

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
        raise TransformError(
            f"SQL: {str(error).splitlines()[0]}", hint="check for an unclosed quote"
        ) from error
    # A comment behind the last semicolon is parsed as a statement, too.
    found = [part for part in parsed if part is not None and not isinstance(part, exp.Semicolon)]
    if len(found) != 1:
        what = f"{len(found)} statements" if found else "there is no statement"
        raise TransformError(f"SQL: {what}; it has to be one", hint="make each statement a step of its own")
    statement = found[0]
    if not isinstance(statement, exp.Query) or statement.find(exp.Into, exp.DML, exp.DDL):
        raise TransformError("SQL: only a SELECT is allowed here", hint=f"write a SELECT over `{INPUT_VIEW}`")
    return statement


def cut_semicolon(text: str) -> str:
    """The text of one statement up to its semicolon, which Spark takes in no subquery."""
    ends = [
        token.start
        for token in sqlglot.tokenize(text, dialect=_DIALECT)
        if token.token_type is TokenType.SEMICOLON
    ]
    return text[: min(ends)] if ends else text


def list_output_columns(query: exp.Query) -> list[str] | None:
    """Names of the columns that come out, lower-cased; None where the text does not tell them all."""
    if any(isinstance(found, exp.Star) or found.is_star for found in query.selects):
        return None
    return [name.lower() for name in query.named_selects]
