"""The table that a command of the group is about."""

from dataclasses import dataclass
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
        """The table that a command is about."""
        found = ctx.find_object(cls)
        assert found is not None  # noqa: S101 - the group's callback has put it there
        return found

    def load(self) -> "tuple[Settings, TableAddress]":
        """The configuration and where the table lies. Raises `ConfigError` and `UsageError`."""
        from headwater.lake.layout import find_address

        settings = self.invocation.load_settings()
        return settings, find_address(settings, self.name)
