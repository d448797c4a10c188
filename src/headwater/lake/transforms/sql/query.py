"""Parses the single SELECT of a transform or check. No Spark."""

import logging

import sqlglot
from sqlglot import TokenType, exp
from sqlglot.errors import ParseError, SqlglotError

from headwater.config.processing.transform import INPUT_VIEW
from headwater.errors import TransformError

_DIALECT = "spark"

# sqlglot warns about statements of which it knows only the first word; those are rejected here with an error.
logging.getLogger("sqlglot").setLevel(logging.ERROR)


def parse_query(text: str) -> exp.Query:
    """Parse the only SELECT in the text. Raises `TransformError` for anything else."""
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
    # sqlglot parses a comment after the last semicolon as a statement.
    found = [part for part in parsed if part is not None and not isinstance(part, exp.Semicolon)]
    if len(found) != 1:
        what = f"{len(found)} statements" if found else "there is no statement"
        raise TransformError(
            f"SQL: {what}; exactly one is allowed", hint="write each statement as its own transform"
        )
    statement = found[0]
    if not isinstance(statement, exp.Query) or statement.find(exp.Into, exp.DML, exp.DDL):
        raise TransformError("SQL: only a SELECT is allowed here", hint=f"write a SELECT over `{INPUT_VIEW}`")
    return statement


def cut_semicolon(text: str) -> str:
    """Return the text of one statement without its semicolon, which Spark rejects in a subquery."""
    ends = [
        token.start
        for token in sqlglot.tokenize(text, dialect=_DIALECT)
        if token.token_type is TokenType.SEMICOLON
    ]
    return text[: min(ends)] if ends else text


def list_output_columns(query: exp.Query) -> list[str] | None:
    """Return the lower-cased output columns; None if the text does not determine them all."""
    if any(isinstance(found, exp.Star) or found.is_star for found in query.selects):
        return None
    return [name.lower() for name in query.named_selects]
