"""`headwater reconcile`: lists the bucket, and backfills events of lost notifications."""

import threading
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.invocation import Invocation, JsonFlag
from headwater.cli.objects.single_pass import open_pass
from headwater.cli.rendering import render_json, render_table, render_text
from headwater.cli.sources import SourceOption, choose_form
from headwater.errors import UsageError

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
    source: SourceOption = "",
    as_json: JsonFlag = False,
) -> None:
    """Compare the bucket with the events table, and add events for the differences.

    `run` reconciles on a schedule. Rejected while a run is active, because only one process writes the events
    table; --dry-run is always allowed. The next `run` ingests the added events.
    """
    settings = Invocation.of(ctx).load_settings()
    reports = run_reconcile(settings, source, dry_run=dry_run, inventory=inventory)
    if as_json:
        documents = [
            {"reconcile": one.done, "dry_run": dry_run, "waiting": one.waiting, "examples": one.examples}
            for one in reports.values()
        ]
        render_json(choose_form(settings, documents))
    else:
        for label, report in reports.items():
            if label:
                render_text(f"source {label}")
            render_report(report, dry_run=dry_run)
    if any(report.done.finished_at is None for report in reports.values()):
        raise typer.Exit(FAILED)
    if dry_run and any(report.done.differences for report in reports.values()):
        raise typer.Exit(INCOMPLETE)


def run_reconcile(
    settings: "Settings", only: str, *, dry_run: bool, inventory: str | None
) -> "dict[str, ReconcileReport]":
    """Check, wire and run one pass over each source, or over the source `only`; return the reports by name.

    Raises `HeadwaterError`.
    """
    from headwater.app import App
    from headwater.app.reconcile import Reconcile
    from headwater.app.scope import choose_sources, label_source
    from headwater.config.environment import read_environment
    from headwater.observability.crash_points import CRASH_POINT_VARIABLE, arm_crash_point

    environ = read_environment()
    arm_crash_point(environ.get(CRASH_POINT_VARIABLE))
    stop = threading.Event()
    with closing(App(settings, environ=environ)) as app:
        chosen = choose_sources(settings, only)
        # A run compares the offsets of topics itself; for one that is named, or alone, that is explained.
        chosen = tuple(source for source in chosen if source.is_listed) or chosen
        if inventory is not None and len(chosen) > 1:
            raise UsageError("an inventory is of one bucket", hint="name its source with --source NAME")
        wanted = {label_source(settings, source): Reconcile(app, source) for source in chosen}
        for one in wanted.values():
            one.check(inventory)
        with open_pass(app, "reconcile", stop, is_writing=not dry_run):
            reports = {}
            for label, one in wanted.items():
                waiting = one.count_waiting()
                done = one.run_pass(stop, inventory=inventory, dry_run=dry_run)
                reports[label] = replace(done, waiting=waiting)
            return reports


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
