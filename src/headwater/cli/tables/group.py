"""`headwater table NAME ...`: inspects and maintains one table."""

from types import ModuleType
from typing import Annotated

import typer

from headwater.cli.completion import complete_any_table
from headwater.cli.invocation import Invocation
from headwater.cli.tables import indexes, inspection, services, sync
from headwater.cli.tables.maintenance import check, expiry, metadata
from headwater.cli.tables.migration import bootstrap, versions
from headwater.cli.tables.named_table import NamedTable

# A file of commands is one module with `register(group)` and one entry here, in the order of `--help`.
COMMANDS: tuple[ModuleType, ...] = (
    inspection,
    check,
    indexes,
    services,
    expiry,
    metadata,
    bootstrap,
    versions,
    sync,
)


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(no_args_is_help=True, help="Inspect and maintain a table.")
    group.callback()(read_name)
    for command in COMMANDS:
        command.register(group)
    app.add_typer(group, name="table")


def read_name(
    ctx: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            autocompletion=complete_any_table,
            help="A configured table, events, quarantine or ledger.",
        ),
    ],
) -> None:
    """Inspect and maintain a table."""
    ctx.obj = NamedTable(name, Invocation.of(ctx))
