"""`headwater table NAME check`: checks every file against what its commit wrote. No JVM."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.invocation import JsonFlag
from headwater.cli.rendering import render_json, render_table, render_text
from headwater.cli.tables.named_table import NamedTable

if TYPE_CHECKING:
    from headwater.lake.damage import FileCheck

CORRUPT = 3


def register(group: typer.Typer) -> None:
    """Add the command."""
    group.command("check")(check)


def check(
    ctx: typer.Context,
    contents: Annotated[
        bool, typer.Option("--contents", help="Also read every log file, and the footer of each base file.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Compare the files of the newest state with the sizes that their commits recorded.

    Read-only. Exit code 3: files are missing or truncated, and rows are lost.
    """
    from headwater.lake.damage import build_corruption_error, check_files

    _, address = NamedTable.of(ctx).load()
    found = check_files(address, archived=True, contents=contents)
    if as_json:
        render_json({"table": address.name, "good": found.is_good, **asdict(found)})
    else:
        render_check(found)
        if found.damaged:
            render_text(f"hint: {build_corruption_error(address, found.damaged).hint}")
    if not found.is_good:
        raise typer.Exit(CORRUPT)


def render_check(found: "FileCheck") -> None:
    """Print a line per corrupt file, per compaction that skipped blocks, and per unreadable commit."""
    if found.damaged:
        rows = [(one.path, one.what, one.instant, one.rows, one.promised, one.found) for one in found.damaged]
        render_table(("file", "what", "commit", "rows", "bytes committed", "bytes found"), rows)
        render_text("")
    for one in found.skipped:
        render_text(
            f"problem: compaction {one.instant} skipped {one.blocks:,} corrupt blocks when it wrote "
            f"{one.path}; their rows are lost. Re-ingest the objects of that time: headwater replay"
        )
    for problem in found.problems:
        render_text(f"problem: {problem}")
    result = f"{len(found.damaged):,} corrupt" if found.damaged else "all complete"
    render_text(f"{found.files:,} files in the newest state: {result}")
