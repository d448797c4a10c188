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
    """Show what the table is: its type, keys, columns and properties, and how much of it there is."""
    from headwater.lake import inspection

    address, limit = load_table(ctx)
    found = inspection.describe(address, read_clock(), small_file_limit=limit)
    if as_json:
        render_json(found)
    else:
        inspection_text.render_description(found)


def timeline(
    ctx: typer.Context,
    archived: Annotated[
        bool, typer.Option("--archived", help="Also what has left the active timeline.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Show every action, from the oldest to those under way: commits, compactions, cleans, rollbacks, ..."""
    from headwater.lake import inspection

    address, _ = load_table(ctx)
    found = inspection.list_actions(address, read_clock(), archived=archived)
    if as_json:
        render_json({"table": address.name, "actions": found})
    else:
        inspection_text.render_actions(found)


def commits(
    ctx: typer.Context,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="So many, the newest.")] = 20,
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
    instant: Annotated[str, typer.Argument(metavar="INSTANT", help="As `commits` or `timeline` show it.")],
    as_json: JsonFlag = False,
) -> None:
    """Show everything about one commit: its files, their rows, and what it carries."""
    from headwater.lake import inspection

    address, _ = load_table(ctx)
    found = inspection.load_commit(address, instant, read_clock())
    if as_json:
        render_json(found)
    else:
        inspection_text.render_commit(found)


def files(
    ctx: typer.Context,
    older: Annotated[bool, typer.Option("--all", help="Also older and replaced slices.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Show the file groups: base file, logs, sizes, which are small, and what nobody reads any more."""
    from headwater.lake import inspection

    address, limit = load_table(ctx)
    found = inspection.read_layout(address, older=older, rows=True, small_file_limit=limit)
    if as_json:
        render_json(found)
    else:
        inspection_text.render_layout(found)


def partitions(
    ctx: typer.Context,
    count: Annotated[
        bool, typer.Option("--count", help="Also count rows under logs, by reading them.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Show each partition: rows, bytes, file groups, small files, and when it was written last."""
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
        typer.Option("--plot", metavar="FILE", help="Draw it: .svg, .png, .pdf ... Needs headwater[plot]."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Show how bytes and rows grew, commit by commit, archived ones included."""
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
        render_text(f"drawn: {plot}")


def load_table(ctx: typer.Context) -> "tuple[TableAddress, int]":
    """Return the table's address, and the size in bytes below which a file is small."""
    from headwater.lake.inspection import parse_small_file_limit

    settings, address = NamedTable.of(ctx).load()
    config = settings.tables.get(address.name)
    return address, parse_small_file_limit(config.hoodie if config else {})


def read_clock() -> datetime:
    """Return the current time."""
    return datetime.now(timezone.utc)
