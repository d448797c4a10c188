"""The global options before the command; every command gets them as `ctx.obj`."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
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
    """Yield the `App` of this invocation; close it at the end.

    `checked` first checks for errors that would fail a run later. `writing` names this writer in its lease,
    for a command with the same writes as a run. Raises `HeadwaterError`; `TableBusyError` while a run is
    active.
    """
    from headwater.app import App
    from headwater.app.lake_identity import ensure_usable_lake
    from headwater.app.preflight import check_before_run
    from headwater.app.services.writer_lease import hold_for_command
    from headwater.config.environment import read_environment

    settings, environ = Invocation.of(ctx).load_settings(), read_environment()
    if checked:
        check_before_run(settings, environ)
    with ExitStack() as stack:
        lease = stack.enter_context(hold_for_command(settings, writing)) if writing else None
        if writing:
            ensure_usable_lake(settings)
        app = stack.enter_context(closing(App(settings, environ=environ)))
        if lease is not None:
            lease.add_process(app.find_jvm_process())
        yield app
