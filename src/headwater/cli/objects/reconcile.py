"""`headwater reconcile`: lists the bucket, and backfills events of lost notifications."""

import threading
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.invocation import Invocation, JsonFlag
from headwater.cli.objects.single_pass import open_pass
from headwater.cli.rendering import render_json, render_table, render_text

if TYPE_CHECKING:
    from headwater.app.reconcile import ReconcileReport
    from headwater.config.settings import Settings

FAILED = 1
INCOMPLETE = 3


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("reconcile")(reconcile)


def reconcile(
    ctx: typer.Context,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Compare without writing. Exit code 3: there are differences.")
    ] = False,
    inventory: Annotated[
        str | None,
        typer.Option(
            "--inventory",
            metavar="MANIFEST",
            help="Read this manifest.json of an S3 Inventory report (s3:// or a file) instead of listing.",
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Compare the bucket with the events table, and add events for the differences.

    `run` reconciles on a schedule. Rejected while a run is active, because only one process writes the events
    table; --dry-run is always allowed. The next `run` ingests the added events.
    """
    settings = Invocation.of(ctx).load_settings()
    report = run_reconcile(settings, dry_run=dry_run, inventory=inventory)
    if as_json:
        render_json(
            {
                "reconcile": report.done,
                "dry_run": dry_run,
                "waiting": report.waiting,
                "examples": report.examples,
            }
        )
    else:
        render_report(report, dry_run=dry_run)
    if report.done.finished_at is None:
        raise typer.Exit(FAILED)
    if dry_run and report.done.differences:
        raise typer.Exit(INCOMPLETE)


def run_reconcile(settings: "Settings", *, dry_run: bool, inventory: str | None) -> "ReconcileReport":
    """Check, wire and run one pass. Raises `HeadwaterError`."""
    from headwater.app import App
    from headwater.app.reconcile import Reconcile
    from headwater.config.environment import read_environment
    from headwater.observability.crash_points import CRASH_POINT_VARIABLE, arm_crash_point

    environ = read_environment()
    arm_crash_point(environ.get(CRASH_POINT_VARIABLE))
    stop = threading.Event()
    with closing(App(settings, environ=environ)) as app:
        wanted = Reconcile(app)
        wanted.check(inventory)
        with open_pass(app, "reconcile", stop, is_writing=not dry_run):
            waiting = wanted.count_waiting()
            return replace(wanted.run_pass(stop, inventory=inventory, dry_run=dry_run), waiting=waiting)


def render_report(report: "ReconcileReport", *, dry_run: bool) -> None:
    """Print the differences."""
    done = report.done
    if report.examples:
        render_table(
            ("what", "key", "listed", "known"),
            [(item.kind, item.key, item.listed_etag, item.known_etag) for item in report.examples],
        )
        if done.differences > len(report.examples):
            render_text(f"... and {done.differences - len(report.examples):,} more")
    render_text(
        f"{done.listed:,} objects listed: {done.missing:,} missing, {done.changed:,} changed, "
        f"{done.vanished:,} absent from the listing, {done.unsettled:,} too recent to compare"
    )
    if report.waiting:
        render_text(
            f"About {report.waiting:,} notifications wait in the queue; their objects count as differences. "
            "Capture them first: headwater run --once"
        )
    if done.finished_at is None:
        render_text("stopped; the next reconcile resumes here")
    elif dry_run:
        render_text("dry run: nothing written")
    elif done.emitted:
        render_text(f"{done.emitted:,} events added; ingest them: headwater run")
