"""`headwater table NAME metadata validate | rebuild`."""

from dataclasses import asdict

import typer

from headwater.cli.invocation import JsonFlag
from headwater.cli.rendering import render_json, render_text
from headwater.cli.tables.named_table import NamedTable
from headwater.cli.tables.services import DryRun, open_table
from headwater.errors import UsageError

FAILED = 1
_SHOWN = 20


def register(group: typer.Typer) -> None:
    """Add the commands."""
    metadata = typer.Typer(no_args_is_help=True, help="Validate or rebuild Hudi's metadata table.")
    metadata.callback()(describe)
    metadata.command("validate")(validate)
    metadata.command("rebuild")(rebuild)
    group.add_typer(metadata, name="metadata")


def describe() -> None:
    """Validate or rebuild Hudi's metadata table."""


def validate(ctx: typer.Context, as_json: JsonFlag = False) -> None:
    """Compare the metadata table with the table's files. Exit code 1 if they differ.

    Read-only.
    """
    from headwater.lake.services.metadata_table import validate_metadata

    with open_table(ctx, is_writing=False) as table:
        found = validate_metadata(table)
    if as_json:
        render_json({"good": found.is_good, **asdict(found)})
    else:
        for difference, paths in (
            ("in the metadata table only", found.lost),
            ("in storage only", found.unknown),
            ("different size", found.resized),
        ):
            for path in paths[:_SHOWN]:
                render_text(f"{difference}: {path}")
        wrong = len(found.lost) + len(found.unknown) + len(found.resized)
        result = (
            f"{wrong:,} differ; rebuild it: metadata rebuild" if wrong else ("identical to the table's files")
        )
        render_text(f"{found.files:,} files in the metadata table: {result}")
    if not found.is_good:
        raise typer.Exit(FAILED)


def rebuild(ctx: typer.Context, dry_run: DryRun = False, as_json: JsonFlag = False) -> None:
    """Build the metadata table and its indexes from the table's files, also if there is none yet.

    Rejected while a run is active.
    """
    from headwater.lake.services.metadata_table import rebuild_metadata

    named = NamedTable.of(ctx)
    settings, _ = named.load()
    config = settings.tables.get(named.name)
    if config is None:
        raise UsageError(
            f"{named.name} is one of headwater's own tables and has no metadata table",
            hint=f"specify one of: {', '.join(settings.tables)}",
        )
    with open_table(ctx, "metadata rebuild", is_writing=not dry_run) as table:
        done = rebuild_metadata(table, dry_run=dry_run)
    if as_json:
        render_json({"dry_run": dry_run, **asdict(done)})
        return
    verb = "would be built" if dry_run else f"built in {done.seconds:.1f} s"
    render_text(f"{', '.join(done.after)} {verb}; before: {', '.join(done.before) or 'none'}")
