"""Catalog sync as part of a run: a thread that follows the commits of the data tables."""

import threading
from collections.abc import Callable, Sequence

import structlog

from headwater.app.catalogs.sync import CatalogSync, TableSync
from headwater.app.components import CommitLoop
from headwater.config.catalogs import CatalogConfig
from headwater.config.settings import Settings
from headwater.errors import CatalogUnavailableError, HeadwaterError, TableNotFoundError
from headwater.lake.catalogs.table_state import read_last_completion
from headwater.lake.layout import find_address

log = structlog.stdlib.get_logger(__name__)

_UNKNOWN = "unknown"


class CatalogLoop(CommitLoop):
    """Syncs each table with a new commit to its catalogs."""

    def __init__(
        self,
        settings: Settings,
        sync: CatalogSync,
        is_session_alive: Callable[[], bool],
        only: Sequence[str] = (),
    ) -> None:
        super().__init__("catalogs", is_session_alive)
        self._settings = settings
        self._sync = sync
        self._tables = [name for name in settings.tables if not only or name in only]
        self._followed: dict[tuple[str, str], str] = {}

    def run_pass(self, stop: threading.Event) -> bool:
        """Sync each table with a new commit to its catalogs. Returns True if all of it worked."""
        done = [self._follow(config, stop) for config in self._settings.catalogs]
        if all(done):
            self.part.note("running")
        return all(done)

    def _follow(self, config: CatalogConfig, stop: threading.Event) -> bool:
        is_done = True
        for table in config.select(self._tables):
            if stop.is_set():
                break
            completed = self._find_news(config, table)
            if completed is None:
                continue
            try:
                result = self._sync.sync(table, config)
            except Exception as error:
                # The next pass may succeed, and commits continue in any case.
                self.note_defect(error)
                return False
            self.defect = None
            _log_failure(result)
            if result.error is not None:
                self.part.retry(f"{result.catalog}: {result.table}: {result.error.message}")
            if result.error is None:
                self._followed[config.label, table] = completed
                continue
            is_done = False
            if isinstance(result.error, CatalogUnavailableError):
                # The other tables would wait as long for the same answer.
                return False
        return is_done

    def _find_news(self, config: CatalogConfig, table: str) -> str | None:
        """Return when the newest commit completed, if this catalog has not synced it."""
        try:
            completed = read_last_completion(find_address(self._settings, table))
        except TableNotFoundError:
            return None
        except HeadwaterError:
            # The sync fails in the same way, and reports it.
            return _UNKNOWN
        return None if completed == self._followed.get((config.label, table)) else completed


def _log_failure(result: TableSync) -> None:
    if result.error is not None:
        log.warning(
            "catalog sync failed; retrying",
            catalog=result.catalog,
            table=result.table,
            error=result.error.message,
            hint=result.error.hint,
        )
    elif not result.is_empty:
        changes = {
            change.table.name: "; ".join(change.describe())
            for change in result.changes
            if not change.is_empty
        }
        log.info("catalog synced", catalog=result.catalog, table=result.table, changes=changes)
