"""`headwater spark --sql`: statements of a prompt, a file or a pipe, and their results."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headwater.cli.sql.output import Format, find_limit, list_shown, show_table, write_result
from headwater.errors import UsageError

if TYPE_CHECKING:
    from headwater.app.shell import SparkShell
    from headwater.lake.sql.engine import QueryResult

HISTORY = "spark-sql-history"


@dataclass(frozen=True, slots=True)
class Output:
    """How results are printed."""

    format: Format
    limit: int | None
    all_columns: bool


def read_statements(words: Sequence[str], file: Path | None) -> str | None:
    """Return the statements that are given or piped in; None for a prompt. Raises `UsageError`."""
    from headwater.cli.sql.command import read_query

    if len(words) > 1:
        raise UsageError("--sql takes one argument", hint="quote it: headwater spark --sql 'show tables'")
    return read_query(words[0] if words else None, file)


def run_statements(shell: "SparkShell", text: str | None, output: Output, greeting: str) -> None:
    """Run the statements in order, up to the first error; without a text, those of a prompt."""

    def execute(statements: str) -> None:
        for one in split_statements(statements):
            _run_statement(shell, one, output)

    if text is not None:
        execute(text)
        return
    from headwater.cli.sql.prompt import run_prompt

    run_prompt(execute, shell.tables.present, shell.tables.list_columns, history=HISTORY, greeting=greeting)


def split_statements(text: str) -> Iterator[str]:
    """Yield the statements between semicolons; those in texts and comments do not count."""
    from sqlglot import Dialect, TokenType
    from sqlglot.errors import SqlglotError

    try:
        found = Dialect.get_or_raise("spark").tokenize(text)
    except SqlglotError:
        # Spark's own error names the position.
        yield text
        return
    start, has_words = 0, False
    for token in found:
        if token.token_type is not TokenType.SEMICOLON:
            has_words = True
            continue
        if has_words:
            yield text[start : token.start].strip()
        start, has_words = token.end + 1, False
    if has_words:
        yield text[start:].strip()


def _run_statement(shell: "SparkShell", text: str, output: Output) -> None:
    result = shell.query(text, find_limit(output.format, output.limit))
    if not result.columns:
        return
    _print(result, text, output)


def _print(result: "QueryResult", text: str, output: Output) -> None:
    everything = output.all_columns or output.format is Format.JSON
    columns = list_shown(result.columns, text, all_columns=everything)
    if output.format is Format.TABLE:
        show_table(result, columns, output.limit, names_engine=False)
    else:
        write_result(result, output.format, columns, None)
        sys.stdout.flush()
