"""The shadow of a lake: the pipelines of a run, on copied events, in a folder of their own."""

import shutil
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import structlog

from headwater.app.application import App
from headwater.config.environment import find_state_folder
from headwater.config.settings import Settings
from headwater.errors import HeadwaterError, PlatformError
from headwater.ingest.runner import Pipeline
from headwater.lake.jvm import delete_folder
from headwater.lake.layout import quarantine_path, rehearsal_path, table_path
from headwater.lake.table import Table

log = structlog.stdlib.get_logger(__name__)

_STATE_VARIABLE = "XDG_STATE_HOME"


@dataclass(slots=True)
class Outcome:
    """What the pipeline of one table did: objects by status, or the error that would stop it in a run."""

    objects: Counter[str] = field(default_factory=Counter)
    failure: str = ""


class Shadow:
    """A lake with the tables of one configuration, filled from the events copied to it."""

    def __init__(self, app: App, settings: Settings, folder: str, state: Path) -> None:
        environ = {**app.environ, _STATE_VARIABLE: str(state)}
        self.app = App(_build_settings(settings, folder), environ=environ, session_of=app)
        # Forgotten subjects are left out here, too. Nothing writes to the register.
        self.app.register = app.register

    def fill(self, names: Sequence[str], stop: threading.Event) -> dict[str, Outcome]:
        """Run the pipelines of the tables until nothing is left; return the outcomes by table.

        An error of a table is part of its outcome, unless a retry may succeed: that one is raised.
        """
        outcomes: dict[str, Outcome] = {}
        settings = self.app.settings
        for name in (*settings.object_tables, *settings.derived_tables):
            if name in names:
                outcomes[name] = outcome = Outcome()
                self._fill(name, outcome, stop)
        return outcomes

    def _fill(self, name: str, outcome: Outcome, stop: threading.Event) -> None:
        try:
            pipeline = self._build(name)
            while (result := pipeline.run_batch()) is not None:
                outcome.objects += result.objects
                if stop.is_set():
                    raise PlatformError("interrupted", hint="nothing was changed; repeat the rehearsal")
            pipeline.save_checkpoint()
        except HeadwaterError as error:
            if error.retryable or stop.is_set():
                raise
            outcome.failure = error.message

    def _build(self, name: str) -> Pipeline:
        is_derived = name in self.app.settings.derived_tables
        return self.app.build_derived_pipeline(name) if is_derived else self.app.build_pipeline(name)

    def find_table(self, name: str) -> Table | None:
        """Return a table of the shadow; None if it has no commit."""
        return find_table(self.app, table_path(self.app.settings.lake, name))

    def find_quarantine(self) -> Table | None:
        """Return the quarantine of the shadow; None if nothing was put into it."""
        return find_table(self.app, quarantine_path(self.app.settings.lake))


def find_table(app: App, path: str) -> Table | None:
    """Return the table at the path; None if it has no commit."""
    table = Table(app.spark, path)
    return table if table.load_timeline().has_commits() else None


def _build_settings(settings: Settings, folder: str) -> Settings:
    """Return the settings of a shadow: each table starts with the first event and waits for nothing."""
    changed = {"start_from": None, "min_sync_interval": 0, "services": "inline"}
    tables = {name: table.model_copy(update=changed) for name, table in settings.tables.items()}
    return settings.model_copy(update={"lake": folder, "tables": tables, "catalogs": (), "search": None})


@contextmanager
def open_shadows(app: App, now: Settings, new: Settings) -> Iterator[tuple[Shadow, Shadow]]:
    """Yield the empty shadows of both configurations, and delete them at the end.

    A killed rehearsal leaves its shadows, which are deleted first. Call it while no other rehearsal of the
    lake is active. Raises `LakeError`.
    """
    lake = str(app.settings.lake)
    folder = rehearsal_path(lake)
    state = find_state_folder(app.environ) / "rehearsals" / sha256(lake.encode()).hexdigest()[:16]
    if _delete(app, folder, state):
        log.warning("removed an interrupted rehearsal", folder=folder)
    try:
        yield Shadow(app, now, f"{folder}/now", state), Shadow(app, new, f"{folder}/new", state)
    finally:
        _delete(app, folder, state)


def _delete(app: App, folder: str, state: Path) -> bool:
    shutil.rmtree(state, ignore_errors=True)
    return delete_folder(app.spark, folder)
