"""`headwater config`: validates the configuration and prints its schema."""

import typer

from headwater.cli.invocation import Invocation, JsonFlag
from headwater.cli.rendering import render_json, render_table, render_text


def register(app: typer.Typer) -> None:
    """Add the command group."""
    group = typer.Typer(no_args_is_help=True, help="Validate the configuration, or print its JSON Schema.")
    group.command("check")(check)
    group.command("schema")(schema)
    app.add_typer(group, name="config")


def check(ctx: typer.Context, as_json: JsonFlag = False) -> None:
    """Validate the configuration, and report all problems; --json prints the effective configuration."""
    from headwater.config.environment import read_environment
    from headwater.lake.transforms.checking import check_processing

    invocation = Invocation.of(ctx)
    settings = invocation.load_settings()
    check_processing(settings, read_environment())
    if as_json:
        render_json(settings.to_effective())
        return
    render_text(f"{invocation.config_path} is valid")
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
