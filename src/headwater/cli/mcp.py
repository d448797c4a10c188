"""`headwater mcp`: serve the lake to assistants by the Model Context Protocol."""

from typing import Annotated

import typer

from headwater.cli.invocation import Invocation


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("mcp")(mcp)


def mcp(
    ctx: typer.Context,
    allow_changes: Annotated[
        bool,
        typer.Option(
            "--allow-changes", help="Also offer tools that plan and apply changes, each after a preview."
        ),
    ] = False,
) -> None:
    """Serve the lake to assistants by the Model Context Protocol, over standard input and output.

    Without --allow-changes, the tools only read. Requires the extra `mcp`.
    """
    import time

    from headwater.config.extras.packages import ensure_extra

    ensure_extra("mcp", "headwater mcp")
    from headwater.mcp.command_line import ProcessCommandLine
    from headwater.mcp.plans import Plans
    from headwater.mcp.server import build_server

    invocation = Invocation.of(ctx)
    invocation.load_settings()
    command_line = ProcessCommandLine(list_options(invocation))
    build_server(command_line, Plans(time.monotonic), allows_changes=allow_changes).run("stdio")


def list_options(invocation: Invocation) -> list[str]:
    """Return the global options that give a command the same lake."""
    options = ["--config", str(invocation.config_path.absolute())]
    options += [part for key, value in invocation.overrides.items() for part in ("--set", f"{key}={value}")]
    return options + (["--lake-name", invocation.lake_name] if invocation.lake_name else [])
