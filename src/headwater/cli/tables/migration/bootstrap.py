"""`headwater table NAME bootstrap`."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from headwater.cli.invocation import JsonFlag
from headwater.cli.rendering import render_json, render_table, render_text
from headwater.cli.tables.named_table import NamedTable
from headwater.cli.tables.services import DryRun, open_table

if TYPE_CHECKING:
    from headwater.lake.migration.bootstrap_plan import BootstrapPlan

_SHOWN_PARTITIONS = 50


def register(group: typer.Typer) -> None:
    """Add the command."""
    group.command("bootstrap")(bootstrap)


def bootstrap(
    ctx: typer.Context,
    source: Annotated[
        str, typer.Option("--source", metavar="DIR", help="Path of a folder with Parquet or ORC files.")
    ],
    mode: Annotated[
        Literal["metadata-only", "full-record"],
        typer.Option("--mode", help="Reference the existing files, or rewrite all rows."),
    ] = "metadata-only",
    regex: Annotated[
        str,
        typer.Option(
            "--regex",
            metavar="R",
            help="Apply the mode to partitions whose path matches, the other mode to the rest.",
        ),
    ] = ".*",
    dry_run: DryRun = False,
    as_json: JsonFlag = False,
) -> None:
    """Create the table from existing files. The next `run` continues to write it.

    Keys, ordering, partition and `base_file_format` come from the configuration. All keys are validated
    first. Rejected while a run is active.
    """
    from headwater.app.services.bootstrap import bootstrap_table
    from headwater.lake.migration.bootstrap_plan import BootstrapRequest
    from headwater.lake.migration.bootstrapping import plan_bootstrap

    request = BootstrapRequest(source, "metadata_only" if mode == "metadata-only" else "full_record", regex)
    with open_table(ctx, is_own_refused=True, is_writing=not dry_run) as table:
        named = NamedTable.of(ctx)
        settings = named.load()[0]
        config = settings.tables[named.name]
        if dry_run:
            plan = plan_bootstrap(table, config, request)
        else:
            plan = bootstrap_table(table, config, request, settings.lake)
    render_plan(plan, dry_run=dry_run, as_json=as_json)


def render_plan(plan: "BootstrapPlan", *, dry_run: bool, as_json: bool) -> None:
    """Print the mode of each partition."""
    if as_json:
        render_json({"dry_run": dry_run, **asdict(plan)})
        return
    shown = plan.partitions[:_SHOWN_PARTITIONS]
    rows = [(found.path or "(the folder itself)", found.files, found.mode) for found in shown]
    render_table(("partition", "files", "mode"), rows)
    if len(plan.partitions) > len(shown):
        render_text(f"{len(shown)} of {len(plan.partitions):,} partitions shown; --json prints all")
    files = sum(found.files for found in plan.partitions)
    verb = "would be bootstrapped from" if dry_run else "bootstrapped from"
    render_text(f"{plan.rows:,} rows {verb} {files:,} files in {plan.source}")
