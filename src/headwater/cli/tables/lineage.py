"""`headwater lineage`: which dataset is built from which."""

from typing import Annotated

import typer

from headwater.cli.invocation import Invocation, JsonFlag
from headwater.cli.rendering import render_json, render_text
from headwater.errors import UsageError


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("lineage")(lineage)


def lineage(
    ctx: typer.Context,
    mermaid: Annotated[
        bool, typer.Option("--mermaid", help="Print a Mermaid flowchart for Markdown pages (default).")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Show the lineage of source, events, tables, chunks and index, with the rules in between."""
    from headwater.app.lineage.drawing import draw_mermaid
    from headwater.app.lineage.graph import build_lineage

    if mermaid and as_json:
        raise UsageError("--mermaid and --json are mutually exclusive", hint="specify only one of them")
    found = build_lineage(Invocation.of(ctx).load_settings())
    if as_json:
        render_json(found)
    else:
        render_text(draw_mermaid(found))
