"""`headwater table NAME ...`: one table, looked at and looked after."""

from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Annotated

import typer

from headwater.cli.invocation import Invocation

if TYPE_CHECKING:
    from headwater.config.settings import Settings
    from headwater.lake.table_address import TableAddress

# A file of commands is one module with `register(group)` and one entry here, in the order of `--help`.
COMMANDS: tuple[ModuleType, ...] = ()


@dataclass(frozen=True, slots=True)
class NamedTable:
    """The NAME before the command; every command of the group gets it with `NamedTable.of`."""

    name: str
    invocation: Invocation

    @classmethod
    def of(cls, ctx: typer.Context) -> "NamedTable":
        """The table that a command is about."""
        found = ctx.find_object(cls)
        assert found is not None  # noqa: S101 - the group's callback has put it there
        return found

    def load(self) -> "tuple[Settings, TableAddress]":
        """The configuration and where the table lies. Raises `ConfigError` and `UsageError`."""
        from headwater.lake.table_address import find_address

        settings = self.invocation.load_settings()
        return settings, find_address(settings, self.name)


def register(app: typer.Typer) -> None:
    """Add the group."""
    group = typer.Typer(no_args_is_help=True, help="Look at one table, and look after it.")
    group.callback()(read_name)
    for command in COMMANDS:
        command.register(group)
    app.add_typer(group, name="table")


def read_name(
    ctx: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A table of the configuration; events, quarantine, ledger.")
    ],
) -> None:
    """Look at one table, and look after it."""
    ctx.obj = NamedTable(name, Invocation.of(ctx))
