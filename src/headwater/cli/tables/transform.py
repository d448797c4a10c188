"""`headwater transform`: runs a table's transforms on a sample."""

from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.invocation import Invocation, JsonFlag
from headwater.cli.rendering import format_json, render_json, render_table, render_text
from headwater.cli.table_names import TableArgument

if TYPE_CHECKING:
    from headwater.app.processing import TransformReport
    from headwater.config.settings import Settings


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("transform")(transform)


def transform(
    ctx: typer.Context,
    name: TableArgument,
    sample: Annotated[
        str | None,
        typer.Option(
            "--sample", metavar="FILE", help="File or key to read. Default: the table's newest object."
        ),
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1000, help="Number of records to read.")] = 10,
    step: Annotated[
        int | None,
        typer.Option(
            "--step", metavar="N", help="Show only the input and output of this transform, counted from 1."
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Show a sample after each transform of a table, without writing."""
    report = run_transform(Invocation.of(ctx).load_settings(), name, sample, limit=limit, step=step)
    if as_json:
        render_json(report)
    else:
        render_report(report)


def run_transform(
    settings: "Settings", name: str, sample: str | None, *, limit: int, step: int | None
) -> "TransformReport":
    """Check, then start Spark and transform. Raises `HeadwaterError`."""
    from headwater.app.processing.sample import check_transform_number, try_transform
    from headwater.app.scope import build_scope
    from headwater.config.environment import read_environment
    from headwater.lake.storage_options import build_storage_options
    from headwater.lake.transforms.checking import check_processing

    environ = read_environment()
    build_scope(settings, name)
    check_transform_number(name, settings.tables[name], step)
    check_processing(settings, environ, only=name)
    from headwater.app import App

    app = App(settings, environ=environ)
    try:
        options = build_storage_options(settings.lake, settings.lake_storage)
        return try_transform(app, options, name, sample=sample, limit=limit, step=step)
    finally:
        app.close()


def render_report(report: "TransformReport") -> None:
    """Print the records as text."""
    bad = f", {report.bad_rows:,} do not fit the columns" if report.bad_rows else ""
    render_text(f"table {report.table}, {report.sample} ({report.format}): {report.rows:,} records{bad}")
    for part in report.steps:
        render_text("")
        render_text(part.name if part.step else "input: the records as read")
        titles = [f"{column.name} {column.type}" for column in part.columns]
        render_table(titles, [[_format(value) for value in row.values()] for row in part.rows])


def _format(value: object) -> object:
    return format_json(value) if isinstance(value, (dict, list)) else value
