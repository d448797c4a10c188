"""`headwater changes`: past and future row changes of a table."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.app.since import spell_point
from headwater.cli.completion import complete_any_table
from headwater.cli.invocation import Invocation, JsonFlag
from headwater.cli.rendering import format_json, render_json_lines, render_text
from headwater.cli.signals import stop_on_signals
from headwater.errors import LakeError, TableNotFoundError, TableUnsupportedError

if TYPE_CHECKING:
    from headwater.config.settings import Settings
    from headwater.lake.queries.change_feed import Feed, RowChange
    from headwater.lake.queries.query import Query

_log = logging.getLogger(__name__)
# An error may be transient: a clean or an archival may just have moved files.
_MAX_FAILURES = 5

Since = Annotated[
    str,
    typer.Option(
        "--since",
        metavar="TIME",
        help="Exclusive start: an instant, a time, a date, an age such as 90m, or `earliest`.",
    ),
]
Until = Annotated[str | None, typer.Option("--until", metavar="TIME", help="Inclusive end. Default: now.")]
Follow = Annotated[bool, typer.Option("--follow", "-f", help="Follow new commits until SIGINT or SIGTERM.")]
Cdc = Annotated[
    bool,
    typer.Option(
        "--cdc",
        help="Read the table's change log (`cdc:`): every change, with before and after images. Requires "
        "Spark.",
    ),
]
Interval = Annotated[
    float, typer.Option("--interval", min=0.1, metavar="SECONDS", help="Polling interval of --follow.")
]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("changes")(changes)


def changes(  # noqa: PLR0913, PLR0917 - one parameter per option
    ctx: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", autocompletion=complete_any_table, help="A configured table, events or ledger."
        ),
    ],
    since: Since,
    until: Until = None,
    follow: Follow = False,
    cdc: Cdc = False,
    interval: Interval = 2.0,
    as_json: JsonFlag = False,
) -> None:
    """Show the rows inserted (i), updated (u) and deleted (d) in a table since a point in time.

    Without --cdc, two states of the table are compared: the changes are net. With --follow, each commit is
    compared with the previous one. The files of the state at --since must still exist; `earliest` always
    works. Requires no table setting and no JVM.

    --json prints one object per row: op, commit, completed, key, partition and row (of a delete, the last
    row); with --cdc, before and after instead of row. With --follow, a line with `"op": "position"` ends each
    commit: pass its `completed` to `--since` to resume. Rows after the last such line belong to an incomplete
    commit.
    """
    from headwater.lake.queries.query import Query

    window = (spell_point(since), spell_point(until) if until else "")
    query = Query.cdc(*window) if cdc else Query.changes(*window)
    settings = Invocation.of(ctx).load_settings()
    stop = threading.Event()
    with stop_on_signals(stop) as signals, _open_feed(settings, name, query, per_commit=follow) as feed:
        signals.arm()
        failures = 0
        while True:
            try:
                _print_feed(feed, stop, follow=follow, as_json=as_json)
                failures = 0
            except TableNotFoundError:
                if not follow:
                    raise
            except LakeError as error:
                failures += 1
                # Rows of the log are printed while they are read: a retry would repeat them.
                if not follow or cdc or failures == _MAX_FAILURES:
                    raise
                _log.warning("reading changes failed; retrying: %s", error.message)
            if not follow or stop.wait(interval):
                return


@contextmanager
def _open_feed(settings: "Settings", name: str, query: "Query", *, per_commit: bool) -> "Iterator[Feed]":
    """Yield the changes of the table. Raises `UsageError` for an unknown table or one without a log."""
    from headwater.lake.layout import find_address
    from headwater.lake.queries.change_feed import ChangeFeed
    from headwater.lake.queries.reading import check_change_log
    from headwater.lake.snapshot_reader import SnapshotReader

    address = find_address(settings, name)
    if query.kind != "cdc":
        yield ChangeFeed(address, query, per_commit=per_commit)
        return
    with suppress(TableUnsupportedError):
        check_change_log(query, SnapshotReader(address.path, address.storage_options))
    from headwater.app.application import App
    from headwater.lake.queries.change_log import ChangeLogFeed

    app = App(settings)
    try:
        yield ChangeLogFeed(app.spark, address.path, query)
    finally:
        app.close()


def _print_feed(feed: "Feed", stop: threading.Event, *, follow: bool, as_json: bool) -> None:
    """Print one feed. A started commit is completed, whatever signal arrives."""
    for step in feed.poll():
        if as_json:
            render_json_lines(step)
        else:
            for change in step:
                render_text(format_change(change))
        if follow and as_json:
            render_json_lines([{"op": "position", "completed": step.completed}])
        elif follow:
            render_text(f"position {step.completed}")
        if stop.is_set():
            return


def format_change(change: "RowChange") -> str:
    """Return one line: op, time, key, and the row as JSON; for a logged update both images."""
    return f"{change.op} {change.completed} {change.key} {' -> '.join(map(format_json, change.images))}"
