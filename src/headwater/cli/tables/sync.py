"""`headwater table NAME sync`: shows and sends the table's changes to its catalogs. No JVM."""

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Annotated, Any

import typer

from headwater.cli.invocation import JsonFlag
from headwater.cli.rendering import render_error, render_json, render_text
from headwater.cli.tables.named_table import NamedTable

if TYPE_CHECKING:
    from headwater.app.catalogs import TableSync
    from headwater.lake.catalogs.planning import TableChange

FAILED = 1


def register(group: typer.Typer) -> None:
    """Add the command."""
    group.command("sync")(sync)


def sync(
    ctx: typer.Context,
    catalogs: Annotated[
        list[str] | None,
        typer.Option("--catalog", metavar="NAME", help="Restrict to this catalog. Repeatable."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the plan without sending anything.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Sync the table's columns, partitions and location to the configured catalogs.

    `run` syncs after each commit. Catalogs that are up to date receive no request.
    """
    from headwater.app.catalogs import CatalogSync

    named = NamedTable.of(ctx)
    settings, _ = named.load()
    found = CatalogSync(settings, lambda: datetime.now(timezone.utc))
    configs = found.list_catalogs(named.name, catalogs or ())
    results = [found.sync(named.name, config, dry_run=dry_run) for config in configs]
    if as_json:
        render_json({"dry_run": dry_run, "catalogs": [to_json(result) for result in results]})
    else:
        for result in results:
            render_result(result, dry_run=dry_run)
    errors = [result.error for result in results if result.error]
    for error in errors:
        render_error(error, as_json=as_json)
    if errors:
        raise typer.Exit(FAILED)


def to_json(result: "TableSync") -> dict[str, Any]:
    """Return the JSON of one catalog, for scripts."""
    return {
        "catalog": result.catalog,
        "database": result.database,
        "completed": result.completed,
        "error": result.error.message if result.error else None,
        "tables": [_change_to_json(change) for change in result.changes],
    }


def _change_to_json(change: "TableChange") -> dict[str, Any]:
    return {
        "name": change.table.name,
        "is_new": change.is_new,
        "columns": change.columns,
        "properties": change.properties,
        "added": [list(values) for values in change.added],
        "written_again": [list(values) for values in change.moved],
        "dropped": [list(values) for values in change.dropped],
        "files": len(change.table.files or ()) if change.has_new_files else None,
    }


def render_result(result: "TableSync", *, dry_run: bool) -> None:
    """Print the result as text; the error comes last."""
    if result.error:
        render_text(f"{result.catalog}: failed")
    elif not result.changes:
        render_text(f"{result.catalog}: {result.table} has no commit yet")
    for change in result.changes:
        lines = list(change.describe())
        done = "; ".join(lines) if lines else "nothing to send"
        verb = "would " if dry_run and lines else ""
        render_text(f"{result.catalog}: {result.database}.{change.table.name}: {verb}{done}")
