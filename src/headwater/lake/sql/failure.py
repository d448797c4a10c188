"""Converts DataFusion errors to one line with the position and the nearest valid name."""

import re

from headwater.config.problems.nearest import find_nearest
from headwater.errors import UsageError
from headwater.lake.sql.statement import Statement, find_position

_PREFIX = re.compile(
    r"^(DataFusion error|Error during planning|Schema error|SQL error|Execution error|Arrow error|"
    r"External error|Optimizer rule '\w+' failed caused by|This feature is not implemented|"
    r"Internal error): "
)
_PARSER = re.compile(r'^ParserError\("(?P<what>.*?)( at Line: (?P<line>\d+), Column: (?P<column>\d+))?"\)')
_NO_COLUMN = re.compile(
    r"No field named (?P<name>.+?)\.( Did you mean .+?\?)?( Valid fields are (?P<fields>.+)\.)?$"
)


def explain_sql_failure(statement: Statement, text: str) -> UsageError:
    """Build the error for a message of DataFusion."""
    message = " ".join(text.partition("\n\nbacktrace")[0].split())
    while found := _PREFIX.match(message):
        message = message[found.end() :]
    if no_column := _NO_COLUMN.search(message):
        return _explain_column(statement, no_column["name"], no_column["fields"] or "")
    if parser := _PARSER.match(message):
        where = f"line {parser['line']}, column {parser['column']}: " if parser["line"] else ""
        return UsageError(f"SQL: {where}{parser['what']}")
    return UsageError(f"SQL: {message[:300]}")


def _explain_column(statement: Statement, name: str, fields: str) -> UsageError:
    column = _last_part(name)
    where = find_position(statement, column)
    # DataFusion quotes a name in its message if it requires quotes.
    known = {_last_part(field): field.split(".")[-1] for field in fields.split(", ") if field}
    near = find_nearest(column, known)
    shown = ", ".join(spelled for bare, spelled in known.items() if not bare.startswith("_hoodie"))
    suggestion = f"did you mean {known[near]}? " if near else ""
    return UsageError(
        f"SQL: {where + ': ' if where else ''}there is no column {column}",
        hint=f"{suggestion}columns: {shown}" if known else "`describe TABLE` lists the columns",
    )


def _last_part(name: str) -> str:
    return name.rsplit(".", maxsplit=1)[-1].strip('"')
