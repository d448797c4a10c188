"""`headwater adopt`: continues tables of HoodieStreamer from their checkpoints."""

from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.invocation import JsonFlag, open_app
from headwater.cli.rendering import render_json, render_table, render_text
from headwater.errors import UsageError

if TYPE_CHECKING:
    from headwater.app.adoption.report import AdoptReport

INCOMPLETE = 3


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("adopt")(adopt)


def adopt(
    ctx: typer.Context,
    tables: Annotated[
        list[str] | None,
        typer.Argument(metavar="[TABLE]...", help="Default: all tables with a checkpoint of HoodieStreamer."),
    ] = None,
    *,
    events: Annotated[
        str,
        typer.Option(metavar="ADDRESS", help="The table that S3EventsSource or GcsEventsSource writes."),
    ] = "",
    checkpoint: Annotated[
        list[str] | None,
        typer.Option(metavar="TABLE=TEXT", help="Checkpoint to use instead of the table's own. Repeatable."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check the tables and count events, without writing.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Continue existing tables of HoodieStreamer from their checkpoints, without re-reading objects.

    Stop the old jobs first. The next `run` processes exactly what they have not. Rejected while a run is
    active.
    """
    from headwater.app.adoption.adoption import Adoption
    from headwater.app.adoption.report import AdoptRequest
    from headwater.config.environment import read_environment
    from headwater.observability.crash_points import CRASH_POINT_VARIABLE, arm_crash_point

    request = AdoptRequest(tuple(tables or ()), events, dict(map(_split, checkpoint or ())))
    arm_crash_point(read_environment().get(CRASH_POINT_VARIABLE))
    with open_app(ctx, writing="" if dry_run else "adopt") as app:
        adoption = Adoption(app, request)
        report = adoption.plan() if dry_run else adoption.run()
    if as_json:
        render_json({"dry_run": dry_run, "report": report})
    else:
        render_report(report, dry_run=dry_run)
    if report.events is not None and report.events.rejected:
        raise typer.Exit(INCOMPLETE)


def render_report(report: "AdoptReport", *, dry_run: bool) -> None:
    """Print the tables, and what was done with the events."""
    render_table(
        ("table", "status", "checkpoint", "events processed", "events pending"),
        [(one.table, one.status, one.checkpoint, one.processed, one.pending) for one in report.tables],
    )
    if dry_run:
        render_text("nothing written")
        return
    if report.events is not None:
        found = report.events
        render_text(f"imported {found.events:,} events, {found.duplicates:,} duplicates")
        if found.rejected:
            render_text(
                f"{found.rejected:,} rows cannot be parsed and are in quarantine: headwater quarantine list"
            )
    if all(one.status == "adopted before" for one in report.tables):
        render_text("nothing to do")
    else:
        render_text("next: headwater run")


def _split(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not (name and sign and value):
        raise UsageError(f"--checkpoint {text}: not of the form TABLE=TEXT", hint="orders=20260101120000000")
    return name, value
