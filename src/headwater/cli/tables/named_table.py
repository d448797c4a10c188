"""The table of a command in the group `table`."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import typer

from headwater.cli.invocation import Invocation

if TYPE_CHECKING:
    from headwater.config.settings import Settings
    from headwater.lake.layout import TableAddress


@dataclass(frozen=True, slots=True)
class NamedTable:
    """The NAME before the command; every command of the group gets it with `NamedTable.of`."""

    name: str
    invocation: Invocation

    @classmethod
    def of(cls, ctx: typer.Context) -> "NamedTable":
        """Return the table of a command."""
        found = ctx.find_object(cls)
        assert found is not None  # noqa: S101 - the group's callback has set it
        # Global options after the command.
        return replace(found, invocation=Invocation.of(ctx))

    def load(self) -> "tuple[Settings, TableAddress]":
        """Return the configuration and the table's location. Raises `ConfigError` and `UsageError`."""
        from headwater.lake.layout import find_address

        settings = self.invocation.load_settings()
        return settings, find_address(settings, self.name)
