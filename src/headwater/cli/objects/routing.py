"""`headwater routing`, `replay` and `skip-to`: which objects go to which table, again or not at all."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.app.since import parse_since
from headwater.cli.invocation import JsonFlag, open_app
from headwater.cli.rendering import render_json, render_table, render_text
from headwater.cli.table_names import TableOption

if TYPE_CHECKING:
    from headwater.app.objects.routing import Routing, RoutingReport


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command("routing")(routing)
    app.command("replay")(replay)
    app.command("skip-to")(skip_to)


def routing(
    ctx: typer.Context,
    apply: Annotated[
        bool,
        typer.Option(
            "--apply",
            help="Ingest and retract objects as the changed rules require. Rejected while a run is active.",
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Confirm a change that empties a table.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Show objects matched by no table or by several, and the effect of changed paths and filters."""
    with _open(ctx, "routing --apply" if apply else "") as found:
        report = found.apply(yes=yes) if apply else found.read()
    if as_json:
        render_json(report)
    else:
        render_report(report, applied=apply)


def replay(
    ctx: typer.Context,
    table: TableOption,
    since: Annotated[
        str, typer.Option("--since", help="A time (2026-01-31T12:00) or an age (90m, 7d) of the events.")
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count the objects without re-ingesting them.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Re-ingest every object with an event since INSTANT.

    Rejected while a run is active.
    """
    after = parse_since(since, datetime.now(timezone.utc))
    with _open(ctx, "" if dry_run else "replay") as found:
        count = found.replay(table, after, dry_run=dry_run)
    if as_json:
        render_json({"table": table, "objects": count, "dry_run": dry_run})
    else:
        render_text(f"{'would re-ingest' if dry_run else 're-ingested'} {count:,} objects")


def skip_to(
    ctx: typer.Context,
    point: Annotated[
        str,
        typer.Argument(metavar="INSTANT", help="latest, a time (2026-01-31T12:00) or an age (90m, 7d)."),
    ],
    table: TableOption,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Count the objects without moving the checkpoint.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Move a table's checkpoint forward to INSTANT, without processing the events before it.

    `replay` ingests skipped objects. Rejected while a run is active.
    """
    from headwater.app.objects.skipping import Point
    from headwater.app.objects.skipping import skip_to as move

    where: Point = "latest"
    if point != "latest":
        where = parse_since(point, datetime.now(timezone.utc), "INSTANT", "`latest`, ")
    with open_app(ctx, writing="" if dry_run else "skip-to") as app:
        report = move(app, table, where, dry_run=dry_run)
    if as_json:
        render_json({**asdict(report), "dry_run": dry_run})
        return
    render_text(f"{'would skip' if dry_run else 'skipped'} the events of {report.objects:,} objects")
    if not dry_run:
        since = f"{report.after:%Y-%m-%dT%H:%M:%SZ}" if report.after else "1970-01-01"
        render_text(f"Undo: headwater replay --table {table} --since {since}")


@contextmanager
def _open(ctx: typer.Context, writing: str) -> "Iterator[Routing]":
    from headwater.app.objects.routing import Routing

    with open_app(ctx, writing=writing) as app:
        yield Routing(app)


def render_report(report: "RoutingReport", *, applied: bool) -> None:
    """Print the report as text."""
    render_text(f"{report.keys:,} keys, {report.unclaimed:,} of them matched by no table")
    for key in report.unclaimed_examples:
        render_text(f"  {key}")
    for tables, count in report.shared.items():
        render_text(f"{count:,} matched by {tables}")
    render_text("")
    render_table(
        ("table", "keys", "rules changed", "to load", "to retract"),
        [
            (name, table.claimed, "yes" if table.rules_changed else "", table.to_load, table.to_retract)
            for name, table in report.tables.items()
        ],
    )
    for name, table in report.tables.items():
        for verb, examples in (("load", table.load_examples), ("retract", table.retract_examples)):
            for key in examples:
                render_text(f"{name}: {verb} {key}")
    if any(table.rules_changed for table in report.tables.values()):
        render_text("\nDone." if applied else "\nApply the changes: headwater routing --apply")
