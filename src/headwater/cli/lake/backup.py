"""`headwater backup`: copies a lake as one consistent set."""

from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.invocation import Invocation, JsonFlag
from headwater.cli.lake.location import DEFAULT_THREADS, Endpoint, Region, Threads
from headwater.cli.rendering import render_json, render_table, render_text

if TYPE_CHECKING:
    from headwater.app.backup.backup import BackupReport
    from headwater.app.backup.manifest import Manifest


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("backup")(backup)


def backup(
    ctx: typer.Context,
    destination: Annotated[
        str,
        typer.Argument(
            metavar="DESTINATION", help="A folder or URL outside the lake: s3://, gs://, abfss://."
        ),
    ],
    threads: Threads = DEFAULT_THREADS,
    region: Region = None,
    endpoint: Endpoint = None,
    as_json: JsonFlag = False,
) -> None:
    """Copy all tables to another location as one consistent set, also while a run is active.

    Only reads the lake, and starts no Spark. Each table is copied as of one commit. A second backup to the
    same DESTINATION copies only new files, and replaces the first when it is complete. An interrupted one can
    be repeated. `restore` writes it into an empty lake.
    """
    from headwater.app.backup.backup import back_up_lake
    from headwater.app.backup.locations import choose_storage
    from headwater.config.environment import read_environment
    from headwater.observability.crash_points import CRASH_POINT_VARIABLE, arm_crash_point

    settings = Invocation.of(ctx).load_settings()
    arm_crash_point(read_environment().get(CRASH_POINT_VARIABLE))
    report = back_up_lake(settings, destination, choose_storage(settings, region, endpoint), threads)
    if as_json:
        render_json(report)
    else:
        render_report(report)


def render_report(report: "BackupReport") -> None:
    """Print a line per table, and what was copied."""
    manifest = report.manifest
    render_tables(manifest)
    for name in manifest.skipped:
        render_text(f"not copied: the table in folder {name}, which is not configured")
    render_text(
        f"{report.destination}: complete, {report.files:,} files, {report.bytes:,} bytes; "
        f"{report.copied_files:,} files, {report.copied_bytes:,} bytes copied in {report.seconds:.1f} s"
    )
    render_text(f"restore it with: headwater --set lake=LOCATION restore {report.destination}")


def render_tables(manifest: "Manifest") -> None:
    """Print a line per table of a backup."""
    render_table(
        ("table", "type", "as of commit", "files", "bytes"),
        [
            (table.name, table.table_type, table.instant, table.files, table.bytes)
            for table in manifest.tables
        ],
    )
