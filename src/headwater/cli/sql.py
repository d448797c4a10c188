"""`headwater sql`: queries any table, without a JVM where the table allows it."""

import logging
from itertools import islice
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.app.since import spell_point
from headwater.cli.invocation import Invocation, JsonFlag
from headwater.cli.rendering import format_json, render_json_lines, render_table, render_text

if TYPE_CHECKING:
    from headwater.app import App
    from headwater.config.settings import Settings
    from headwater.lake.queries.query import Query
    from headwater.lake.sql.engine import QueryResult

_log = logging.getLogger(__name__)
SHOWN_ROWS = 100
SHOWN_CHARS = 300
HIDDEN_PREFIX = "_hoodie_"

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
    query: Annotated[str, typer.Argument(help='SQL query, such as "select * from events limit 10".')],
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", "-n", min=1, help=f"Maximum number of rows. Default: {SHOWN_ROWS}; with --json: all."
        ),
    ] = None,
    all_columns: Annotated[
        bool, typer.Option("--all-columns", help="Include Hudi's meta fields (`_hoodie_*`).")
    ] = False,
    as_of: AsOf = None,
    changes_since: ChangesSince = None,
    cdc: Cdc = False,
    read_optimized: ReadOptimized = False,
    as_json: JsonFlag = False,
) -> None:
    """Query the configured tables, events, quarantine and ledger with SQL.

    --json prints one object per row: times as ISO 8601 in UTC, decimals as text (exact), binary as base64,
    NaN and infinities as text.
    """
    from headwater.lake.queries.query import choose_query

    since = None if changes_since is None else spell_point(changes_since)
    asked = choose_query(as_of=as_of, changes_since=since, cdc=cdc, read_optimized=read_optimized)
    shown = limit or SHOWN_ROWS
    # One row more than shown reveals whether there are more.
    result = run(Invocation.of(ctx).load_settings(), query, limit if as_json else shown + 1, asked)
    _log.debug("query executed by %s", result.engine)
    if as_json:
        render_json_lines(result.rows)
        return
    columns = [name for name in result.columns if all_columns or not _is_hidden(name, query)]
    rows = list(islice(result.rows, shown + 1))
    render_table(columns, [[_format(row[name]) for name in columns] for row in rows[:shown]])
    if len(rows) > shown:
        render_text(f"First {shown} rows; show more with --limit N, or all with --json")
    else:
        render_text(f"{len(rows)} row{'' if len(rows) == 1 else 's'}")
    render_text(f"read by {result.engine}")


def run(settings: "Settings", query: str, limit: int | None, asked: "Query") -> "QueryResult":
    """Run the query on the tables of a configuration. Raises `UsageError` and `LakeError`."""
    from headwater.lake.sql.arrow_start import start_without_pandas

    start_without_pandas()  # before DataFusion, whose import converts something
    from headwater.app.sql import run_sql

    return run_sql(settings, query, asked, lambda: _build_app(settings), limit)


def _build_app(settings: "Settings") -> "App":
    from headwater.lake.sql.arrow_start import find_pandas

    find_pandas()
    from headwater.app.application import App

    # The session must outlive the reading of the rows: it ends with the process.
    return App(settings)


def _is_hidden(column: str, query: str) -> bool:
    return column.startswith(HIDDEN_PREFIX) and column not in query.lower()


def _format(value: object) -> str:
    """Format a cell: NULL differs from an empty text, numbers without separators, nested values as JSON."""
    if value is None:
        return "NULL"
    if isinstance(value, bool | list | dict):
        text = format_json(value)
    elif isinstance(value, str | int | float):
        text = str(value)
    else:
        text = format_json(value).strip('"')
    return text if len(text) <= SHOWN_CHARS else f"{text[:SHOWN_CHARS]}… ({len(text):,} characters)"
