"""`headwater table NAME describe`, `timeline`, `commits`, `commit`, `files`, `partitions`, `size`: no JVM."""

from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.invocation import JsonFlag
from headwater.cli.rendering import render_json, render_text
from headwater.cli.tables import inspection_text
from headwater.cli.tables.named_table import NamedTable

if TYPE_CHECKING:
    from headwater.lake.layout import TableAddress


def register(group: typer.Typer) -> None:
    """Add the commands."""
    for command in (describe, timeline, commits, commit, files, partitions, size):
        group.command(command.__name__)(command)


def describe(ctx: typer.Context, as_json: JsonFlag = False) -> None:
    """Describe the table: type, keys, columns, properties and size."""
    from headwater.lake import inspection

    address, limit = load_table(ctx)
    found = inspection.describe(address, read_clock(), small_file_limit=limit)
    if as_json:
        render_json(found)
    else:
        inspection_text.render_description(found)


def timeline(
    ctx: typer.Context,
    archived: Annotated[bool, typer.Option("--archived", help="Include archived instants.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Show the timeline: commits, compactions, cleans, rollbacks and other actions, oldest first."""
    from headwater.lake import inspection

    address, _ = load_table(ctx)
    found = inspection.list_actions(address, read_clock(), archived=archived)
    if as_json:
        render_json({"table": address.name, "actions": found})
    else:
        inspection_text.render_actions(found)


def commits(
    ctx: typer.Context,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Number of commits to show.")] = 20,
    as_json: JsonFlag = False,
) -> None:
    """Show the completed writes, newest first."""
    from headwater.lake import inspection

    address, _ = load_table(ctx)
    found = inspection.list_commits(address, read_clock(), limit=limit)
    if as_json:
        render_json({"table": address.name, "commits": found})
    else:
        inspection_text.render_actions(found)


def commit(
    ctx: typer.Context,
    instant: Annotated[
        str, typer.Argument(metavar="INSTANT", help="Instant, as in `commits` or `timeline`.")
    ],
    as_json: JsonFlag = False,
) -> None:
    """Show one commit: its files, their rows, and its extra metadata."""
    from headwater.lake import inspection

    address, _ = load_table(ctx)
    found = inspection.load_commit(address, instant, read_clock())
    if as_json:
        render_json(found)
    else:
        inspection_text.render_commit(found)


def files(
    ctx: typer.Context,
    older: Annotated[bool, typer.Option("--all", help="Include older and replaced file slices.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Show the file groups: base file, log files, sizes, small files, and superseded slices."""
    from headwater.lake import inspection

    address, limit = load_table(ctx)
    found = inspection.read_layout(address, older=older, rows=True, small_file_limit=limit)
    if as_json:
        render_json(found)
    else:
        inspection_text.render_layout(found)


def partitions(
    ctx: typer.Context,
    count: Annotated[bool, typer.Option("--count", help="Also read log files, to count their rows.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Show each partition: rows, bytes, file groups, small files, and time of the last write."""
    from headwater.lake import inspection

    address, limit = load_table(ctx)
    found = inspection.list_partitions(address, merged=count, small_file_limit=limit)
    if as_json:
        render_json({"table": address.name, "small_file_limit": limit, "partitions": found})
    else:
        inspection_text.render_partitions(found)


def size(
    ctx: typer.Context,
    plot: Annotated[
        Path | None,
        typer.Option(
            "--plot",
            metavar="FILE",
            help="Write a chart to this file (.svg, .png, .pdf). Requires headwater[plot].",
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Show the growth in bytes and rows by commit, including archived commits."""
    from headwater.lake import inspection

    address, _ = load_table(ctx)
    if plot is not None:
        inspection.check_plot(plot)
    found = inspection.read_growth(address)
    if plot is not None:
        inspection.write_plot(found, address.name, plot)
    if as_json:
        render_json({"table": address.name, "points": found.points, "problems": found.problems})
        return
    inspection_text.render_growth(found)
    if plot is not None:
        render_text(f"wrote {plot}")


def load_table(ctx: typer.Context) -> "tuple[TableAddress, int]":
    """Return the table's address, and the size in bytes below which a file is small."""
    from headwater.lake.inspection import parse_small_file_limit

    settings, address = NamedTable.of(ctx).load()
    config = settings.tables.get(address.name)
    return address, parse_small_file_limit(config.hoodie if config else {})


def read_clock() -> datetime:
    """Return the current time."""
    return datetime.now(timezone.utc)
