"""What the options before the command said; every command gets it as `ctx.obj`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from headwater.config.settings import Settings

JsonFlag = Annotated[
    bool, typer.Option("--json", help="Print JSON; errors, too, as one JSON object on stderr.")
]


@dataclass(frozen=True, slots=True)
class Invocation:
    """The global options; `overrides` are the `--set` pairs by key."""

    config_path: Path = Path("headwater.yaml")
    overrides: Mapping[str, str] = field(default_factory=dict)
    verbose: bool = False

    @classmethod
    def of(cls, ctx: typer.Context) -> "Invocation":
        """The invocation that a command runs in."""
        found = ctx.find_object(cls)
        return found if found is not None else cls()

    def load_settings(self) -> "Settings":
        """The configuration. Raises `ConfigError` with every problem in it."""
        from headwater.config.loader import load_settings

        return load_settings(self.config_path, overrides=self.overrides)
