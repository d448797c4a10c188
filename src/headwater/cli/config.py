"""`headwater config`: validates the configuration, prints its schema, and converts HoodieStreamer's."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.invocation import Invocation, JsonFlag
from headwater.cli.rendering import render_json, render_table, render_text

if TYPE_CHECKING:
    from headwater.config.settings import Settings


def register(app: typer.Typer) -> None:
    """Add the command group."""
    group = typer.Typer(
        no_args_is_help=True, help="Validate or convert a configuration, or print its JSON Schema."
    )
    group.command("check")(check)
    group.command("schema")(schema)
    group.command("import")(import_)
    app.add_typer(group, name="config")


def check(ctx: typer.Context, as_json: JsonFlag = False) -> None:
    """Validate the configuration, and report all problems; --json prints the effective configuration.

    In a file with several lakes, all of them, unless --lake-name chooses one.
    """
    from headwater.app.schema_check import check_schemas
    from headwater.config.environment import read_environment
    from headwater.lake.transforms.checking import check_processing

    for invocation in Invocation.of(ctx).iter_lakes():
        settings = invocation.load_settings()
        check_processing(settings, read_environment())
        check_schemas(settings)
        if as_json:
            render_json(settings.to_effective())
        else:
            name = f", lake {invocation.lake_name}" if invocation.lake_name else ""
            render_text(f"{invocation.config_path}{name} is valid")
            render_tables(settings)


def render_tables(settings: "Settings") -> None:
    """Print the tables with what follows from their configuration."""
    render_table(
        ("table", "mode", "format", "path"),
        [
            (name, table.effective_mode, table.effective_format, ", ".join(table.path))
            if table.from_ is None
            else (name, f"refresh: {table.effective_refresh}", "", f"from: {table.from_text}")
            for name, table in settings.tables.items()
        ],
    )


def schema() -> None:
    """Print the JSON Schema of headwater.yaml."""
    from headwater.config.json_schema import build_json_schema

    render_json(build_json_schema())


def import_(
    files: Annotated[
        list[Path],
        typer.Argument(metavar="FILE...", help="Files with spark-submit commands, and properties files."),
    ],
    *,
    bucket: Annotated[
        str | None, typer.Option(metavar="B", help="Bucket of the objects, if the files do not name it.")
    ] = None,
    lake: Annotated[
        str | None, typer.Option(metavar="DIR", help="Location of the tables. Default: next to the old ones.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File to write. Default: print the configuration.")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Convert the commands and properties of Hudi's HoodieStreamer to a headwater.yaml.

    The result names the origin of each value, and lists whatever has no equivalent, with the reason.
    """
    from headwater.config.streamer import convert, read_jobs, render_conversion, write_conversion

    conversion = convert(read_jobs(files), bucket=bucket, lake=lake)
    if as_json:
        render_json({"config": conversion.data, "left_out": conversion.left_out, "to_do": conversion.notes})
        return
    text = render_conversion(conversion, " ".join(file.name for file in files))
    if output is None:
        render_text(text.rstrip("\n"))
        return
    write_conversion(output, text)
    render_text(
        f"Wrote {output}. Settings without an equivalent: {len(conversion.left_out)}; they are at its end."
    )
    render_text(f"Next: headwater --config {output} config check")
