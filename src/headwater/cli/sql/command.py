"""`headwater sql`: queries any table, without a JVM where the table allows it."""

import logging
import sys
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.app.since import spell_point
from headwater.cli.invocation import Invocation, JsonFlag
from headwater.cli.sql.output import (
    SHOWN_ROWS,
    Format,
    choose_format,
    find_limit,
    list_shown,
    show_table,
    write_result,
)
from headwater.errors import UsageError

if TYPE_CHECKING:
    from headwater.app import App
    from headwater.config.settings import Settings
    from headwater.lake.queries.query import Query
    from headwater.lake.sql.engine import QueryResult

_log = logging.getLogger(__name__)

AsOf = Annotated[
    str | None,
    typer.Option("--as-of", metavar="TIME", help="Query the tables as of an instant, a time or a date."),
]
ChangesSince = Annotated[
    str | None,
    typer.Option(
        "--changes-since",
        metavar="TIME",
        help="Query only existing rows written since this time (or an age, `90m`); `earliest` for all.",
    ),
]
Cdc = Annotated[
    bool,
    typer.Option(
        "--cdc",
        help="With --changes-since: columns op, ts_ms, before, after, of tables with `cdc`. Requires Spark.",
    ),
]
ReadOptimized = Annotated[
    bool, typer.Option("--read-optimized", help="Read base files only: faster, as of the last compaction.")
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("sql")(sql)


def sql(  # noqa: PLR0913, PLR0917 - one parameter per option
    ctx: typer.Context,
    query: Annotated[
        str | None,
        typer.Argument(
            help='SQL query, such as "select * from events". Without it: a prompt, or what is piped in.'
        ),
    ] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", metavar="FILE", help="Read the query from this file.")
    ] = None,
    output_format: Annotated[
        Format | None,
        typer.Option("--format", help="Output format. Default: table, or that of the output's extension."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the rows to this file.")
    ] = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            "-n",
            min=1,
            help=f"Maximum number of rows. Default: {SHOWN_ROWS} in a table; else all.",
        ),
    ] = None,
    all_columns: Annotated[
        bool,
        typer.Option(
            "--all-columns", help="Include the columns of Hudi and of lineage (`_hoodie_*`, `_headwater_*`)."
        ),
    ] = False,
    as_of: AsOf = None,
    changes_since: ChangesSince = None,
    cdc: Cdc = False,
    read_optimized: ReadOptimized = False,
    as_json: JsonFlag = False,
) -> None:
    """Query the configured tables, events, quarantine and ledger with SQL.

    --json and --format json print one object per row: times as ISO 8601 in UTC, decimals as text (exact),
    binary as base64, NaN and infinities as text. Parquet keeps all types.
    """
    from headwater.lake.queries.query import choose_query

    since = None if changes_since is None else spell_point(changes_since)
    asked = choose_query(as_of=as_of, changes_since=since, cdc=cdc, read_optimized=read_optimized)
    chosen = choose_format(output_format, as_json=as_json, file=output)
    settings = Invocation.of(ctx).load_settings()
    find_app = lru_cache(partial(_build_app, settings))

    def execute(text: str) -> None:
        result = run(settings, text, find_limit(chosen, limit), asked, find_app)
        _log.debug("query executed by %s", result.engine)
        # Programs read JSON, and get all that they ask for.
        everything = all_columns or chosen is Format.JSON
        columns = list_shown(result.columns, text, all_columns=everything)
        if chosen is Format.TABLE:
            show_table(result, columns, limit)
        else:
            write_result(result, chosen, columns, output)

    text = read_query(query, file)
    if text is not None:
        execute(text)
        return
    from headwater.cli.sql.prompt import run_prompt
    from headwater.lake.layout import list_tables

    run_prompt(execute, list(list_tables(settings)), lambda name: _list_columns(settings, name))


def read_query(query: str | None, file: Path | None) -> str | None:
    """Return the query that is given or piped in; None for a prompt. Raises `UsageError`."""
    if query is not None and file is not None:
        raise UsageError("both a query and --file are given", hint="specify one of them")
    if query is not None:
        return query
    try:
        if file is not None:
            return file.read_text("utf-8")
        return None if sys.stdin.isatty() else sys.stdin.read()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file or 'input'}: cannot read the query: {error}") from error


def _list_columns(settings: "Settings", name: str) -> Sequence[str]:
    from headwater.lake.layout import find_address
    from headwater.lake.snapshot_reader import SnapshotReader

    address = find_address(settings, name)
    return list(SnapshotReader(address.path, address.storage_options).schema.names)


def run(
    settings: "Settings", query: str, limit: int | None, asked: "Query", find_app: "Callable[[], App]"
) -> "QueryResult":
    """Run the query on the tables of a configuration. Raises `UsageError` and `LakeError`."""
    from headwater.lake.sql.arrow_start import start_without_pandas

    start_without_pandas()  # before DataFusion, whose import converts something
    from headwater.app.sql import run_sql

    return run_sql(settings, query, asked, find_app, limit)


def _build_app(settings: "Settings") -> "App":
    from headwater.lake.sql.arrow_start import find_pandas

    find_pandas()
    from headwater.app.application import App

    # The session must outlive the reading of the rows: it ends with the process.
    return App(settings)
