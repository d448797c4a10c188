"""`headwater restore`: writes the tables of a backup into an empty lake."""

from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.invocation import Invocation, JsonFlag
from headwater.cli.lake.backup import render_tables
from headwater.cli.lake.location import DEFAULT_THREADS, Endpoint, Region, Threads
from headwater.cli.rendering import render_json, render_text

if TYPE_CHECKING:
    from headwater.app.backup.restore import RestoreReport


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("restore")(restore)


def restore(
    ctx: typer.Context,
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="The folder or URL that `headwater backup` wrote.")
    ],
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Only verify that the backup is complete; the lake need not be empty."
        ),
    ] = False,
    threads: Threads = DEFAULT_THREADS,
    region: Region = None,
    endpoint: Endpoint = None,
    as_json: JsonFlag = False,
) -> None:
    """Write the tables of a backup into an empty lake, or only verify the backup.

    Verifies the backup in SOURCE first. The lake may be at another path or in another store than before.
    Starts no Spark. The next `run` continues from the checkpoints of the backup.
    """
    from headwater.app.backup.locations import choose_storage
    from headwater.app.backup.restore import iter_next_steps, restore_lake
    from headwater.config.environment import read_environment
    from headwater.observability.crash_points import CRASH_POINT_VARIABLE, arm_crash_point

    settings = Invocation.of(ctx).load_settings()
    arm_crash_point(read_environment().get(CRASH_POINT_VARIABLE))
    store = choose_storage(settings, region, endpoint)
    report = restore_lake(settings, source, store, threads, dry_run=dry_run)
    steps = () if dry_run else tuple(iter_next_steps(settings, report.manifest))
    if as_json:
        render_json({"dry_run": dry_run, "report": report, "next": steps})
    else:
        render_report(report, steps, dry_run=dry_run)


def render_report(report: "RestoreReport", steps: tuple[str, ...], *, dry_run: bool) -> None:
    """Print a line per table, and what to do next."""
    render_tables(report.manifest)
    for name in report.missing:
        render_text(f"table {name} is not in the backup: the next run creates it from the events")
    size = f"{report.files:,} files, {report.bytes:,} bytes"
    if dry_run:
        render_text(f"{report.source}: complete, {size}; nothing written")
        return
    render_text(f"{report.lake}: restored {size} in {report.seconds:.1f} s")
    for step in steps:
        render_text(f"next: {step}")
