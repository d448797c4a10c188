"""The command line: global options, the list of commands, the format of errors.

`headwater --help` imports no command; a command imports nothing heavy at module level.
"""

import gc
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from headwater.cli.completion import complete_assignment, complete_lake
from headwater.cli.global_options import accept_everywhere
from headwater.cli.invocation import Invocation
from headwater.cli.rendering import render_error, render_text
from headwater.errors import HeadwaterError
from headwater.version import __version__

# Imports create tens of thousands of long-lived objects. Collecting garbage every 700 of them takes a
# twentieth of a short command.
_NEW_OBJECTS_A_COLLECTION = 100_000

COMMANDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "demo": (
            "demo",
            "Run the whole pipeline on this machine: emulators of a cloud, a sample shop, and headwater.",
        ),
        "init": (
            "init",
            "Inspect files, and write a commented headwater.yaml with a table for each kind of them.",
        ),
        "config": ("config", "Validate or convert a configuration, or print its JSON Schema."),
        "doctor": (
            "doctor",
            "Check Java, jars, credentials, bucket, notifications, queue, lake and lock, and suggest fixes.",
        ),
        "prepare": (
            "prepare",
            "Download the jars and archive Spark's classes; later starts take half as long.",
        ),
        "plan": (
            "source.resources",
            "Show what `up` would create, change and remove, attribute by attribute.",
        ),
        "up": (
            "source.resources",
            "Create or update queue or subscription, their policies and the bucket's notification.",
        ),
        "down": (
            "source.resources",
            "Remove the resources with headwater's tag or label, and its notification rules.",
        ),
        "run": ("run", "Capture events and ingest objects into every table, continuously or once."),
        "status": ("status", "Show events, lag, quarantine and the last commit of every table."),
        "services": ("tables.services_run", "Run table services alongside the writers."),
        "alerts": ("alerts", "Print Prometheus alerting rules for the objectives in `slo`, as YAML."),
        "verify": (
            "objects.verify",
            "Compare the bucket with the events, the ledger and the rows of every table.",
        ),
        "explain": (
            "objects.explain",
            "Show every event, decision, commit, row count and error of one object.",
        ),
        "quarantine": (
            "objects.quarantine",
            "List, show, retry or drop quarantined messages, objects and records.",
        ),
        "reconcile": (
            "objects.reconcile",
            "Compare the bucket with the events table, and add events for the differences.",
        ),
        "routing": (
            "objects.routing",
            "Show objects matched by no table or by several, and the effect of changed paths and filters.",
        ),
        "replay": ("objects.routing", "Re-ingest every object with an event since INSTANT."),
        "skip-to": (
            "objects.routing",
            "Move a table's checkpoint forward to INSTANT, without processing the events before it.",
        ),
        "clean-source": (
            "objects.clean_source",
            "Tag, move or delete objects that all of their tables have ingested; rows stay.",
        ),
        "forget": (
            "objects.forget",
            "Erase the rows of keys from all files of a table, keep them out, and write a signed report.",
        ),
        "sql": ("sql", "Query the configured tables, events, quarantine and ledger with SQL."),
        "spark": (
            "spark",
            "Open a shell of PySpark or Spark SQL with all tables under their names, or run a script.",
        ),
        "changes": (
            "tables.changes",
            "Show the rows inserted (i), updated (u) and deleted (d) in a table since a point in time.",
        ),
        "schema": (
            "tables.schema",
            "Show a table's columns and their history, or what given objects would change.",
        ),
        "lineage": (
            "tables.lineage",
            "Show the lineage of source, events, tables, chunks and index, with the rules in between.",
        ),
        "table": ("tables.group", "Inspect and maintain a table."),
        "transform": ("tables.transform", "Show a sample after each transform of a table, without writing."),
        "rehearse": (
            "objects.rehearse",
            "Run an edited file on a shadow of the lake, and compare its rows with the current file's.",
        ),
        "backup": (
            "lake.backup",
            "Copy all tables to another location as one consistent set, also while a run is active.",
        ),
        "restore": (
            "lake.restore",
            "Write the tables of a backup into an empty lake, or only verify the backup.",
        ),
        "adopt": (
            "lake.adopt",
            "Continue existing tables of HoodieStreamer from their checkpoints, without re-reading objects.",
        ),
        "index": ("search.index", "Build, sync, inspect and roll back the search index."),
        "serve": (
            "search.serve",
            "Serve /search, /recommend and a search page from the index, and keep the index in sync.",
        ),
        "mcp": (
            "mcp",
            "Serve the lake to assistants by the Model Context Protocol, over standard input and output.",
        ),
    }
)
"""Module below `headwater.cli` and the first line of its help, by command, in the order of `--help`.

A new command is one file with `register(app)`, one entry here, and its name in a group.
"""

GROUPS: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "Start": ("demo", "init", "config", "doctor", "prepare"),
        "Set up a bucket": ("plan", "up", "down"),
        "Run": ("run", "status", "services", "alerts"),
        "Objects": (
            "verify",
            "explain",
            "quarantine",
            "reconcile",
            "routing",
            "replay",
            "skip-to",
            "clean-source",
            "forget",
        ),
        "Query": ("sql", "spark", "changes", "schema", "lineage"),
        "Change tables": ("table", "transform", "rehearse"),
        "Copy and adopt lakes": ("backup", "restore", "adopt"),
        "Search and assistants": ("index", "serve", "mcp"),
    }
)
"""Names of commands, by their heading in `--help`."""


class HeadwaterGroup(TyperGroup):
    """Imports a command when it is called. Converts errors of `HeadwaterError`, and the end of the JVM, to a
    message and an exit code; other exceptions give a traceback."""

    def main(  # type: ignore[override]  # noqa: D102 - typer documents the overridden method
        self, args: Sequence[str] | None = None, prog_name: str | None = None, **extra: Any
    ) -> Any:
        words = sys.argv[1:] if args is None else list(args)
        try:
            return super().main(args=words, prog_name=prog_name or "headwater", **extra)
        except Exception as error:
            # Whatever fails in a command that has lost its JVM fails for that reason.
            cause = _find_end_of_session() or error
            if not isinstance(cause, HeadwaterError):
                raise
            # From the arguments, not the parsed parameter: an error can occur before parsing.
            render_error(cause, as_json="--json" in words)
            sys.exit(cause.exit_code)

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: D102 - as above
        return [*COMMANDS, *super().list_commands(ctx)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: D102 - as above
        return _load_command(cmd_name) if cmd_name in COMMANDS else super().get_command(ctx, cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: D102 - as above
        del ctx
        width = max(map(len, COMMANDS))
        for heading, names in GROUPS.items():
            with formatter.section(heading):
                formatter.write_dl([(name.ljust(width), COMMANDS[name][1]) for name in names])


def _find_end_of_session() -> HeadwaterError | None:
    if "headwater.lake.session" not in sys.modules:
        return None
    from headwater.lake.session import find_end

    return find_end()


def _load_command(name: str) -> Any:
    module, _ = COMMANDS[name]
    holder = typer.Typer()
    import_module(f"headwater.cli.{module}").register(holder)
    return accept_everywhere(typer.main.get_group(holder).commands[name])


def build_app() -> typer.Typer:
    """Build the typer application with all commands."""
    app = typer.Typer(
        name="headwater",
        cls=HeadwaterGroup,
        no_args_is_help=True,
        # Rich would double the CPU of `--help`.
        rich_markup_mode=None,
        # Typer's tracebacks show local variables, and those can hold secrets.
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        help="Keeps Apache Hudi tables in sync with the objects in a bucket, within seconds of each change. "
        "All options below, except --version, also work after the command.",
        epilog="Exit codes: 0 success, 1 failure, 2 invalid input, 3 finished with quarantined or missing "
        "objects.",
    )
    app.callback()(read_global_options)
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
            help="Configuration file. Default: $HEADWATER_CONFIG, then ./headwater.yaml.",
        ),
    ] = None,
    assignments: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="KEY=VALUE",
            autocompletion=complete_assignment,
            help="Override a key, such as lake=/data/lake. Repeatable.",
        ),
    ] = None,
    lake_name: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            autocompletion=complete_lake,
            help="The lake, in a file with several `lakes`. Default: $HEADWATER_LAKE_NAME.",
        ),
    ] = "",
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log at debug level.")] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Log warnings only, and show no progress.")
    ] = False,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
) -> None:
    """Read the options before the command into `ctx.obj`."""
    del version
    from headwater.config.environment import find_config_path, split_assignments
    from headwater.observability.logging import configure_logging

    configure_logging(verbose, json=False, quiet=quiet)
    overrides = split_assignments(assignments or ())
    ctx.obj = Invocation(find_config_path(config_file), overrides, verbose, lake_name, quiet)


app = build_app()


def main() -> None:
    """Run the command line; exits with its exit code."""
    gc.set_threshold(_NEW_OBJECTS_A_COLLECTION)
    app()


if __name__ == "__main__":
    main()
