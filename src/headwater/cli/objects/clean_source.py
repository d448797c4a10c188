"""`headwater clean-source`: tags, moves or deletes objects that have long been in all of their tables."""

import threading
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.invocation import Invocation, JsonFlag
from headwater.cli.objects.single_pass import open_pass
from headwater.cli.rendering import render_json, render_table, render_text
from headwater.cli.sources import SourceOption, choose_form

if TYPE_CHECKING:
    from headwater.app.cleaning import CleanReport
    from headwater.config.settings import Settings

FAILED = 1
INCOMPLETE = 3


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("clean-source")(clean_source)


def clean_source(
    ctx: typer.Context,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the due objects without changing anything.")
    ] = False,
    source: SourceOption = "",
    as_json: JsonFlag = False,
) -> None:
    """Tag, move or delete objects that all of their tables have ingested; rows stay.

    `source.clean_source` sets the action; `run` applies it on a schedule. Rejected while a run is active,
    because only one process writes the events table; --dry-run is always allowed. Exit code 3: cleaning
    failed for some objects.
    """
    settings = Invocation.of(ctx).load_settings()
    reports = run_clean(settings, source, dry_run=dry_run)
    if as_json:
        render_json({"clean_source": choose_form(settings, list(reports.values()))})
    else:
        for label, report in reports.items():
            if label:
                render_text(f"source {label}")
            render_report(report)
    if any(report.finished_at is None for report in reports.values()):
        raise typer.Exit(FAILED)
    if any(report.results["failed"] for report in reports.values()):
        raise typer.Exit(INCOMPLETE)


def run_clean(settings: "Settings", only: str, *, dry_run: bool) -> "dict[str, CleanReport]":
    """Check, wire and run one pass over each source with an action, or over the source `only`; return the
    reports by name.

    Raises `HeadwaterError`.
    """
    from headwater.app import App
    from headwater.app.cleaning import CleanSource
    from headwater.app.preflight import check_before_run
    from headwater.app.scope import choose_sources, label_source
    from headwater.config.environment import read_environment
    from headwater.observability.crash_points import CRASH_POINT_VARIABLE, arm_crash_point

    environ = read_environment()
    arm_crash_point(environ.get(CRASH_POINT_VARIABLE))
    stop = threading.Event()
    with closing(App(settings, environ=environ)) as app:
        chosen = choose_sources(settings, only)
        # If none has an action, the first one says so.
        acting = [source for source in chosen if source.clean_source != "off"] or chosen[:1]
        wanted = {label_source(settings, source): CleanSource(app, source) for source in acting}
        check_before_run(settings, environ)
        with open_pass(app, "clean-source", stop, is_writing=not dry_run):
            return {label: one.run_pass(stop, dry_run=dry_run) for label, one in wanted.items()}


def render_report(report: "CleanReport") -> None:
    """Print what was decided and done."""
    render_table(
        ("objects", "why", "examples"),
        [
            (count, reason.replace("_", " "), ", ".join(report.examples.get(reason, ())[:3]))
            for reason, count in report.objects.most_common()
        ],
    )
    render_text(describe_clean(report))


def describe_clean(report: "CleanReport") -> str:
    """Return one sentence about a pass."""
    due, action = report.objects["due"], report.action
    if report.dry_run:
        return f"{due:,} objects due for `{action}`; dry run: nothing changed"
    others = [f"{count:,} {name}" for name, count in sorted(report.results.items()) if name != "cleaned"]
    text = f"{action}: {report.results['cleaned']:,} of {due:,} due objects" + "".join(
        f", {o}" for o in others
    )
    return text if report.finished_at else f"{text}; stopped: the next pass continues"
