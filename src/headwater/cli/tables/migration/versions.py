"""`headwater table NAME upgrade | downgrade`."""

from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.invocation import JsonFlag
from headwater.cli.rendering import render_json, render_table, render_text
from headwater.cli.tables.named_table import NamedTable
from headwater.cli.tables.services import DryRun, open_table

if TYPE_CHECKING:
    from headwater.lake.migration.versions import Direction, VersionPlan

To = Annotated[int | None, typer.Option("--to", metavar="N", help="Target table version.")]


def register(group: typer.Typer) -> None:
    """Add the commands."""
    group.command("upgrade")(upgrade)
    group.command("downgrade")(downgrade)


def upgrade(ctx: typer.Context, to: To = None, dry_run: DryRun = False, as_json: JsonFlag = False) -> None:
    """Upgrade the table version, by default to the newest.

    Also rewrites files whose lists have the structure of older releases of headwater. Prints the plan first.
    Rejected while a run is active. Older readers cannot read the table afterwards.
    """
    change(ctx, "upgrade", to, dry_run=dry_run, as_json=as_json)


def downgrade(ctx: typer.Context, to: To = None, dry_run: DryRun = False, as_json: JsonFlag = False) -> None:
    """Downgrade the table version, by default to the previous one.

    Prints the plan first. Rejected while a run is active.
    """
    change(ctx, "downgrade", to, dry_run=dry_run, as_json=as_json)


def change(
    ctx: typer.Context, direction: "Direction", to: int | None, *, dry_run: bool, as_json: bool
) -> None:
    """Report the plan, then execute it unless it is a dry run. The report needs no JVM."""
    from headwater.lake.migration.old_lists import find_old_lists, rewrite_lists
    from headwater.lake.migration.upgrading import change_version
    from headwater.lake.migration.versions import plan_versions
    from headwater.lake.table_folder import TableFolder

    _, address = NamedTable.of(ctx).load()
    plan = plan_versions(address.name, TableFolder(address).properties, direction, to)
    lists = find_old_lists(address) if direction == "upgrade" and not plan.steps else ()
    if not as_json:
        render_plan(plan)
        if lists:
            render_text(f"{len(lists)} files with lists in the structure of older releases to rewrite")
    if dry_run or not (plan.steps or lists):
        if as_json:
            render_json({"dry_run": dry_run, "plan": plan, "properties": [], "old_lists": lists})
        return
    with open_table(ctx, direction) as table:
        done = change_version(table, direction, to)
        if lists:
            rewrite_lists(table)
    if as_json:
        render_json({"dry_run": False, "plan": done.plan, "properties": done.properties, "old_lists": lists})
        return
    render_text("")
    render_table(("property", "before", "after"), [(p.name, p.before, p.after) for p in done.properties])
    render_text(f"table version is now {done.plan.after}")


def render_plan(plan: "VersionPlan") -> None:
    """Print the steps in words."""
    if not plan.steps:
        render_text(f"table version is already {plan.before}")
        return
    render_text(f"table version {plan.before} to {plan.after}")
    for text in plan.first:
        render_text(f"  first: {text}")
    for step in plan.steps:
        render_text(f"  {step.before} to {step.after}: {step.changes}")
