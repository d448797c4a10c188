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
        str, typer.Option("--source", metavar="DIR", help="A folder of Parquet or ORC files, any address.")
    ],
    mode: Annotated[
        Literal["metadata-only", "full-record"],
        typer.Option(
            "--mode", help="The files stay where they are and belong to the table; or rows are written anew."
        ),
    ] = "metadata-only",
    regex: Annotated[
        str,
        typer.Option(
            "--regex", metavar="R", help="Only partitions whose path this matches; the others the other way."
        ),
    ] = ".*",
    dry_run: DryRun = False,
    as_json: JsonFlag = False,
) -> None:
    """Make the table of files that lie there; the next `run` goes on with it.

    Keys, ordering and partition are those of the configuration, the format is its `base_file_format`. Looks
    at all keys first. Not beside a running `run`.
    """
    from headwater.app.services.bootstrap import bootstrap_table
    from headwater.lake.migration.bootstrap_plan import BootstrapRequest
    from headwater.lake.migration.bootstrapping import plan_bootstrap

    request = BootstrapRequest(source, "metadata_only" if mode == "metadata-only" else "full_record", regex)
    with open_table(ctx, is_own_refused=True, is_writing=not dry_run) as table:
        named = NamedTable.of(ctx)
        config = named.load()[0].tables[named.name]
        plan = (plan_bootstrap if dry_run else bootstrap_table)(table, config, request)
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
        render_text(f"The first {len(shown)} of {len(plan.partitions):,} partitions; --json has them all.")
    files = sum(found.files for found in plan.partitions)
    verb = "would become" if dry_run else "have become"
    render_text(f"{plan.rows:,} rows in {files:,} files of {plan.source} {verb} the table")
