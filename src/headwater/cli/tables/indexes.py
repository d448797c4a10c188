"""`headwater table NAME index [show | create | drop | rebuild | repair]` and `... advise`."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from headwater.cli.invocation import JsonFlag
from headwater.cli.rendering import render_json, render_text
from headwater.cli.tables import indexes_text
from headwater.cli.tables.named_table import NamedTable
from headwater.cli.tables.services import DryRun, open_table
from headwater.errors import UsageError

if TYPE_CHECKING:
    from headwater.config.table import TableConfig
    from headwater.lake.indexes import TableIndexes

Name = Annotated[str, typer.Argument(metavar="INDEX", help="Index name, as in `index show`.")]


def register(group: typer.Typer) -> None:
    """Add the commands."""
    index = typer.Typer(invoke_without_command=True, help="Show, create, drop, rebuild or repair indexes.")
    index.callback()(show_by_default)
    for command in (show, create, drop, rebuild, repair):
        index.command(command.__name__)(command)
    group.add_typer(index, name="index")
    group.command("advise")(advise)


def show_by_default(ctx: typer.Context, as_json: JsonFlag = False) -> None:
    """Show the table's indexes, or run one of the commands below."""
    if ctx.invoked_subcommand is None:
        show(ctx, as_json)


def show(ctx: typer.Context, as_json: JsonFlag = False) -> None:
    """Show the write index and the indexes in the metadata table. No JVM."""
    found, _ = list_indexes(ctx)
    if as_json:
        render_json(found)
    else:
        indexes_text.render_indexes(found)


def create(  # noqa: PLR0913, PLR0917 - one for each option of the command
    ctx: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="INDEX", help="Index name; the type's name if a table can have only one.")
    ],
    index_type: Annotated[
        Literal[
            "secondary", "expression", "column_stats", "partition_stats", "bloom_filters", "record_level"
        ],
        typer.Option("--type", help="Index type."),
    ] = "secondary",
    columns: Annotated[
        list[str] | None,
        typer.Option(
            "--columns", "-c", metavar="COLUMN", help="Indexed column. Repeatable, or comma-separated."
        ),
    ] = None,
    function: Annotated[
        str, typer.Option("--function", help="Function of an expression index: from_unixtime or date_format.")
    ] = "",
    options: Annotated[
        list[str] | None,
        typer.Option("--option", metavar="KEY=VALUE", help="Option of the function. Repeatable."),
    ] = None,
    dry_run: DryRun = False,
    as_json: JsonFlag = False,
) -> None:
    """Build an index from the table's files. Unsupported indexes are rejected before anything is written.

    Rejected while a run is active.
    """
    from headwater.lake.indexes import IndexRequest, plan_creation

    found, config = list_indexes(ctx)
    named = tuple(word.strip() for text in columns or () for word in text.split(",") if word.strip())
    request = IndexRequest(name, index_type, named, function, _parse_options(options or ()))
    plan = plan_creation(found, config, request)
    if dry_run:
        render_json({"dry_run": True, "index": plan}) if as_json else indexes_text.render_plan(plan, "built")
        return
    with open_table(ctx, f"index {ctx.info_name}") as table:
        from headwater.lake.indexes.building import build_index

        done = build_index(table, plan)
    render_json(done) if as_json else indexes_text.render_built(done)


def drop(ctx: typer.Context, name: Name, dry_run: DryRun = False, as_json: JsonFlag = False) -> None:
    """Drop an index, complete or broken. Rows stay unchanged.

    Rejected while a run is active.
    """
    from headwater.lake.indexes import plan_drop

    found, config = list_indexes(ctx)
    index = plan_drop(found, config, name)
    _drop(ctx, [index.partition], dry_run=dry_run, as_json=as_json)


def rebuild(ctx: typer.Context, name: Name, dry_run: DryRun = False, as_json: JsonFlag = False) -> None:
    """Rebuild an index from the table's files with its current definition.

    Rejected while a run is active.
    """
    from headwater.lake.indexes import plan_rebuild

    found, config = list_indexes(ctx)
    plan = plan_rebuild(found, config, name)
    if dry_run:
        render_json({"dry_run": True, "index": plan}) if as_json else indexes_text.render_plan(
            plan, "rebuilt"
        )
        return
    with open_table(ctx, f"index {ctx.info_name}") as table:
        from headwater.lake.indexes.building import rebuild_index

        done = rebuild_index(table, plan)
    render_json(done) if as_json else indexes_text.render_built(done)


def repair(ctx: typer.Context, dry_run: DryRun = False, as_json: JsonFlag = False) -> None:
    """Remove indexes that make writes fail: those that cannot be built, and remains of unfinished builds.

    Rejected while a run is active.
    """
    from headwater.lake.indexes import plan_repair

    found, _ = list_indexes(ctx)
    broken = plan_repair(found)
    if not as_json:
        for one in broken:
            render_text(f"{one.name}: {one.problem or one.state}")
    _drop(ctx, [one.partition for one in broken], dry_run=dry_run, as_json=as_json)


def advise(ctx: typer.Context, as_json: JsonFlag = False) -> None:
    """Recommend an index and statistics for the table, with reasons. Read-only; no JVM."""
    from headwater.lake import indexes

    named = NamedTable.of(ctx)
    settings, address = named.load()
    config = settings.tables.get(named.name)
    if config is None:
        raise UsageError(
            f"{named.name} is one of headwater's own tables; their indexes are fixed",
            hint=f"specify one of: {', '.join(settings.tables)}",
        )
    profile = indexes.read_profile(address, config)
    advice = indexes.advise(profile)
    if as_json:
        render_json({"table": named.name, "advice": advice, "profile": profile})
    else:
        indexes_text.render_advice(profile, advice)


def list_indexes(ctx: typer.Context) -> "tuple[TableIndexes, TableConfig | None]":
    """Return the table's indexes and its configuration; None for headwater's own tables."""
    from headwater.lake import indexes

    named = NamedTable.of(ctx)
    settings, address = named.load()
    config = settings.tables.get(named.name)
    return indexes.list_indexes(address, config), config


def _drop(ctx: typer.Context, partitions: list[str], *, dry_run: bool, as_json: bool) -> None:
    if partitions and not dry_run:
        with open_table(ctx, f"index {ctx.info_name}") as table:
            from headwater.lake.indexes.building import drop_indexes

            drop_indexes(table, partitions)
    if as_json:
        render_json({"dry_run": dry_run, "dropped": partitions})
    elif not partitions:
        render_text("nothing to do")
    else:
        render_text(f"{'would drop' if dry_run else 'dropped'}: {', '.join(partitions)}")


def _parse_options(texts: "list[str] | tuple[()]") -> dict[str, str]:
    found = {}
    for text in texts:
        key, separator, value = text.partition("=")
        if not separator or not key.strip():
            raise UsageError(
                f"--option {text} is not KEY=VALUE", hint="write, for example, --option format=yyyy-MM-dd"
            )
        found[key.strip()] = value
    return found
