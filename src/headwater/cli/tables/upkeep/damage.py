"""`headwater table NAME check`: checks every file against what its commit wrote. No JVM."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.invocation import JsonFlag
from headwater.cli.rendering import render_json, render_table, render_text
from headwater.cli.tables.named_table import NamedTable

if TYPE_CHECKING:
    from headwater.lake.damage import FileCheck

DAMAGED = 3


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
    """Compare the files of the newest state with what the commits say they wrote: is one gone, or cut short?

    It only reads. Exit code 3: rows are lost.
    """
    from headwater.lake.damage import build_damage_error, check_files

    _, address = NamedTable.of(ctx).load()
    found = check_files(address, archived=True, contents=contents)
    if as_json:
        render_json({"table": address.name, "good": found.is_good, **asdict(found)})
    else:
        render_check(found)
        if found.damaged:
            render_text(f"hint: {build_damage_error(address, found.damaged).hint}")
    if not found.is_good:
        raise typer.Exit(DAMAGED)


def render_check(found: "FileCheck") -> None:
    """Print a line per corrupt file, per compaction that skipped blocks, and per unreadable commit."""
    if found.damaged:
        rows = [(one.path, one.what, one.instant, one.rows, one.promised, one.found) for one in found.damaged]
        render_table(("file", "what", "commit", "rows", "bytes written", "bytes now"), rows)
        render_text("")
    for one in found.skipped:
        render_text(
            f"problem: compaction {one.instant} passed over {one.blocks:,} damaged blocks when it wrote "
            f"{one.path}: what they held is lost; `headwater replay` reads the objects of that time again"
        )
    for problem in found.problems:
        render_text(f"problem: {problem}")
    told = f"{len(found.damaged):,} damaged" if found.damaged else "all as the commits wrote them"
    render_text(f"{found.files:,} files of the newest state: {told}")
