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
        bool, typer.Option("--dry-run", help="Write nothing; exit code 3 when something differs.")
    ] = False,
    inventory: Annotated[
        str | None,
        typer.Option(
            "--inventory",
            metavar="MANIFEST",
            help="Instead of listing: manifest.json of an S3 Inventory report, s3:// or a file.",
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Compare the bucket with the events table; objects missed, changed or gone become events.

    `run` does it by itself. Not beside a running `run`, which is the one writer of the events table;
    with --dry-run at any time. The next `run` brings the events into the tables.
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
        f"{done.vanished:,} vanished, {done.unsettled:,} too young to tell"
    )
    if report.waiting:
        render_text(
            f"About {report.waiting:,} notifications wait in the queue: the objects that they announce count "
            "as differences. `headwater run --once` takes them in first, and then compares."
        )
    if done.finished_at is None:
        render_text("stopped; the next reconcile goes on from there")
    elif dry_run:
        render_text("nothing was written")
    elif done.emitted:
        render_text(f"{done.emitted:,} events written; `headwater run` brings them into the tables")
