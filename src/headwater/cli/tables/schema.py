"""`headwater schema`: a table's columns, their history, and what given objects would change."""

from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.invocation import Invocation, JsonFlag
from headwater.cli.rendering import render_json, render_table, render_text
from headwater.cli.table_names import TableArgument
from headwater.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headwater.app.schema import SchemaReport
    from headwater.config.settings import Settings
    from headwater.ingest.evolution.preview import ObjectPreview


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("schema")(schema)


def schema(
    ctx: typer.Context,
    name: TableArgument,
    objects: Annotated[
        list[str] | None, typer.Argument(metavar="[OBJECT]...", help="Keys or files for --preview.")
    ] = None,
    preview: Annotated[
        bool, typer.Option("--preview", help="Show what these objects would change, without writing.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Show a table's columns and their history, or what given objects would change."""
    if preview != bool(objects):
        raise UsageError(
            "--preview requires objects, and objects require --preview",
            hint=f"run headwater schema {name} --preview KEY..., or headwater schema {name} for the history",
        )
    settings = Invocation.of(ctx).load_settings()
    if preview:
        previews = preview_objects(settings, name, objects or ())
        if as_json:
            render_json({"table": name, "objects": previews})
        else:
            render_previews(previews)
        return
    report = read_report(settings, name)
    if as_json:
        render_json(report)
    else:
        render_report(report)


def read_report(settings: "Settings", name: str) -> "SchemaReport":
    """Read the current columns. Raises `LakeError`, and `UsageError` for an unknown table."""
    from headwater.app.schema import read_schema_report
    from headwater.lake.storage_options import build_storage_options

    return read_schema_report(settings, build_storage_options(settings.lake, settings.lake_storage), name)


def preview_objects(settings: "Settings", name: str, objects: "Sequence[str]") -> "list[ObjectPreview]":
    """Return the previews. Raises `UsageError` and `LakeError`."""
    from headwater.app.application import App
    from headwater.app.schema import preview_schema
    from headwater.lake.storage_options import build_storage_options

    app = App(settings)
    try:
        options = build_storage_options(settings.lake, settings.lake_storage)
        return preview_schema(app, options, name, objects)
    finally:
        app.close()


def render_report(report: "SchemaReport") -> None:
    """Print the columns as text."""
    render_text(f"table {report.table}, schema_evolution_mode: {report.schema_evolution_mode}")
    if report.rescued_data_column:
        render_text(f"values that fit no column are in {report.rescued_data_column}")
    if not report.versions:
        render_text("no commit with columns yet: run headwater run --once")
    render_text("")
    render_table(("column", "type"), [(column.name, column.type) for column in report.columns])
    if report.renamed:
        render_text("")
        render_table(
            ("field in objects", "column"), [(named.field, named.column) for named in report.renamed]
        )
    render_text("")
    rows: list[tuple[object, ...]] = []
    for version in report.versions:
        head = (version.version, version.commit, version.time)
        rows += [
            (*head, change.kind, change.column, change.before, change.after, change.object)
            for change in version.changes
        ] or [(*head, "first", None, None, None, None)]
    titles = ("version", "commit", "time", "change", "column", "from", "to", "by object")
    render_table(titles, [(str(row[0]), *row[1:]) for row in rows])


def render_previews(previews: "Sequence[ObjectPreview]") -> None:
    """Print the previews as text."""
    for preview in previews:
        render_text(preview.object)
        if preview.error:
            render_text(f"  cannot preview: {preview.error}")
            continue
        if not preview.columns:
            render_text("  changes nothing")
        else:
            rows = [(f"  {c.effect}", c.column, c.before, c.after) for c in preview.columns]
            render_table(("  effect", "column", "in table", "in object"), rows)
        if preview.missing:
            render_text(f"  has no {', '.join(preview.missing)}: null in its rows")
