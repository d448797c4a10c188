"""The global options before the command; every command gets them as `ctx.obj`."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from headwater.app import App
    from headwater.config.settings import Settings

JsonFlag = Annotated[
    bool, typer.Option("--json", help="Print JSON, and errors as one JSON object on stderr.")
]


@dataclass(frozen=True, slots=True)
class Invocation:
    """The global options; `overrides` are the `--set` pairs by key, `lake_name` one of several lakes."""

    config_path: Path = Path("headwater.yaml")
    overrides: Mapping[str, str] = field(default_factory=dict)
    verbose: bool = False
    lake_name: str = ""
    quiet: bool = False

    @property
    def shows_progress(self) -> bool:
        """True if a person watches the terminal, and has asked neither for silence nor for all log lines."""
        return sys.stderr.isatty() and not self.quiet and not self.verbose

    @classmethod
    def of(cls, ctx: typer.Context) -> "Invocation":
        """Return the invocation of a command."""
        found = ctx.find_object(cls)
        return found if found is not None else cls()

    def load_settings(self) -> "Settings":
        """Load the configuration. Raises `ConfigError` with all problems."""
        from headwater.config.loader import load_settings

        return load_settings(self.config_path, overrides=self.overrides, lake_name=self.lake_name)

    def iter_lakes(self) -> "Iterator[Invocation]":
        """Yield the invocation for each lake of the file, unless one is chosen. Raises `ConfigError`."""
        from headwater.config.environment import LAKE_NAME_VARIABLE, read_environment
        from headwater.config.lakes import list_lakes
        from headwater.config.loader import read_configuration
        from headwater.config.yaml_document import parse_yaml

        chosen = self.lake_name or read_environment().get(LAKE_NAME_VARIABLE, "")
        names = [] if chosen else list_lakes(parse_yaml(read_configuration(self.config_path)).data)
        for name in names or [chosen]:
            yield replace(self, lake_name=name)


@contextmanager
def open_app(ctx: typer.Context, *, checked: bool = True, writing: str = "") -> "Iterator[App]":
    """Yield the `App` of this invocation; close it at the end. Parameters and errors as `prepare_app`."""
    from headwater.app import App
    from headwater.app.command import prepare_app

    with prepare_app(App(Invocation.of(ctx).load_settings()), checked=checked, writing=writing) as app:
        yield app
