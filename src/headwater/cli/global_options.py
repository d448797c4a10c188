"""The global options also work after the command: `headwater run --once -c lake.yaml`."""

from copy import copy
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from headwater.cli.completion import complete_assignment, complete_lake
from headwater.cli.invocation import Invocation


def accept_everywhere(command: Any) -> Any:
    """Add the global options to a command, and to all commands below a group; return the command.

    Options that the command has itself stay its own.
    """
    if isinstance(command, TyperGroup):
        for below in command.commands.values():
            accept_everywhere(below)
        return command
    own = {flag for parameter in command.params for flag in parameter.opts}
    for option in _list_options():
        added = copy(option)
        added.opts = [flag for flag in option.opts if flag not in own]
        if added.opts:
            command.params.append(added)
    return command


@lru_cache
def _list_options() -> tuple[Any, ...]:
    app = typer.Typer(add_completion=False)
    app.command()(_take)
    return tuple(typer.main.get_command(app).params)


def _set_path(ctx: typer.Context, value: Path | None) -> None:
    if value is not None:
        ctx.obj = replace(Invocation.of(ctx), config_path=value.expanduser())


def _set_lake(ctx: typer.Context, value: str) -> None:
    if value:
        ctx.obj = replace(Invocation.of(ctx), lake_name=value)


def _add_overrides(ctx: typer.Context, value: list[str] | None) -> None:
    if value:
        from headwater.config.environment import split_assignments

        before = Invocation.of(ctx)
        ctx.obj = replace(before, overrides={**before.overrides, **split_assignments(value)})


def _be_verbose(ctx: typer.Context, value: bool) -> None:
    if value:
        from headwater.observability.logging import configure_logging

        configure_logging(verbose=True, json=False)
        ctx.obj = replace(Invocation.of(ctx), verbose=True)


def _be_quiet(ctx: typer.Context, value: bool) -> None:
    if value:
        from headwater.observability.logging import configure_logging

        configure_logging(verbose=False, json=False, quiet=True)
        ctx.obj = replace(Invocation.of(ctx), quiet=True)


def _take(
    global_path: Annotated[
        Path | None, typer.Option("--config", "-c", hidden=True, expose_value=False, callback=_set_path)
    ] = None,
    global_overrides: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            hidden=True,
            autocompletion=complete_assignment,
            expose_value=False,
            callback=_add_overrides,
        ),
    ] = None,
    global_lake: Annotated[
        str,
        typer.Option(
            "--lake-name", hidden=True, autocompletion=complete_lake, expose_value=False, callback=_set_lake
        ),
    ] = "",
    global_verbose: Annotated[
        bool, typer.Option("--verbose", "-v", hidden=True, expose_value=False, callback=_be_verbose)
    ] = False,
    global_quiet: Annotated[
        bool, typer.Option("--quiet", "-q", hidden=True, expose_value=False, callback=_be_quiet)
    ] = False,
) -> None:
    """Hold the options; their callbacks do the work."""
