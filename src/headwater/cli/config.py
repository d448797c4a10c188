"""`headwater config`: validates the configuration and prints its schema."""

from typing import TYPE_CHECKING

import typer

from headwater.cli.invocation import Invocation, JsonFlag
from headwater.cli.rendering import render_json, render_table, render_text

if TYPE_CHECKING:
    from headwater.config.settings import Settings


def register(app: typer.Typer) -> None:
    """Add the command group."""
    group = typer.Typer(no_args_is_help=True, help="Validate the configuration, or print its JSON Schema.")
    group.command("check")(check)
    group.command("schema")(schema)
    app.add_typer(group, name="config")


def check(ctx: typer.Context, as_json: JsonFlag = False) -> None:
    """Validate the configuration, and report all problems; --json prints the effective configuration.

    In a file with several lakes, all of them, unless --lake-name chooses one.
    """
    from headwater.config.environment import read_environment
    from headwater.lake.transforms.checking import check_processing

    for invocation in Invocation.of(ctx).iter_lakes():
        settings = invocation.load_settings()
        check_processing(settings, read_environment())
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
            else (name, f"refresh: {table.effective_refresh}", "", f"from: {table.from_}")
            for name, table in settings.tables.items()
        ],
    )


def schema() -> None:
    """Print the JSON Schema of headwater.yaml."""
    from headwater.config.json_schema import build_json_schema

    render_json(build_json_schema())
