"""The command line's frame: global options, the list of commands, what an error looks like.

A command's file imports nothing heavy at its top, so that `headwater --help` stays quick.
"""

import gc
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from headwater import __version__
from headwater.cli import config, demo, doctor, init, prepare, run, sql, status
from headwater.cli.invocation import Invocation
from headwater.cli.objects import clean_source, explain, quarantine, reconcile, routing, verify
from headwater.cli.rendering import render_error, render_text
from headwater.cli.search import index, serve
from headwater.cli.source import resources
from headwater.cli.tables import changes, group, lineage, schema, services_run, transform
from headwater.errors import HeadwaterError

# Imports make tens of thousands of objects that stay; looking for garbage among them every 700 is a twentieth
# of a short command.
_NEW_OBJECTS_A_COLLECTION = 100_000
# In the order of `--help`. A new command is one file with `register(app)` and one entry here.
COMMANDS = (
    demo,
    init,
    resources,
    run,
    status,
    verify,
    explain,
    routing,
    sql,
    changes,
    reconcile,
    clean_source,
    schema,
    transform,
    lineage,
    group,
    services_run,
    quarantine,
    index,
    serve,
    config,
    doctor,
    prepare,
)


class HeadwaterGroup(TyperGroup):
    """Turns errors that a user can meet into a message and an exit code; all else is a traceback."""

    def main(  # type: ignore[override]  # noqa: D102 - typer's own words are on the method it overrides
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> Any:
        words = sys.argv[1:] if args is None else list(args)
        try:
            return super().main(args=words, prog_name=prog_name or "headwater", **extra)
        except HeadwaterError as error:
            # From the words, not from the command's parameter: an error can come before it is parsed.
            render_error(error, as_json="--json" in words)
            sys.exit(error.exit_code)


def build_app() -> typer.Typer:
    """The typer application with all commands."""
    app = typer.Typer(
        name="headwater",
        cls=HeadwaterGroup,
        no_args_is_help=True,
        # Typer's tracebacks show local variables, and those can hold secrets.
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="Keeps Apache Hudi tables equal to what lies in a bucket, seconds after it changes.",
        epilog="Exit codes: 0 good, 1 failed, 2 bad input, 3 finished with quarantined or missing objects.",
    )
    app.callback()(read_global_options)
    for command in COMMANDS:
        command.register(app)
    return app


def _print_version(asked: bool) -> None:
    if asked:
        render_text(f"headwater {__version__}")
        raise typer.Exit


def read_global_options(
    ctx: typer.Context,
    config_file: Annotated[
        Path | None,
        typer.Option(
            "--config",
            "-c",
            metavar="FILE",
            help="Configuration. Default: HEADWATER_CONFIG, else headwater.yaml here.",
        ),
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Set a key, such as lake=/data/lake. Repeatable."),
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log debug lines.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Read the options before the command into `ctx.obj`."""
    del version
    from headwater.config.environment import find_config_path, split_assignments
    from headwater.observability.logging import configure_logging

    configure_logging(verbose, json=False)
    ctx.obj = Invocation(find_config_path(config_file), split_assignments(assignments or ()), verbose)


app = build_app()


def main() -> None:
    """Console entry point; the exit code is the process's."""
    gc.set_threshold(_NEW_OBJECTS_A_COLLECTION)
    app()


if __name__ == "__main__":
    main()
