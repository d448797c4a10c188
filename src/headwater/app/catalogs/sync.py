"""`CatalogSync`: syncs the tables of a configuration to catalogs. Needs no JVM."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import datetime
from typing import get_args

import structlog

from headwater.config.catalogs import CatalogConfig, OwnTable
from headwater.config.settings import Settings
from headwater.errors import HeadwaterError, UsageError
from headwater.lake.catalogs import build_catalog
from headwater.lake.catalogs.entries import EntryRules
from headwater.lake.catalogs.notes import NoteFolder, SyncNote
from headwater.lake.catalogs.planning import TableChange
from headwater.lake.catalogs.protocol import Catalog
from headwater.lake.catalogs.syncing import TablePlan, apply_plan, plan_table
from headwater.lake.catalogs.table_state import read_table_state
from headwater.lake.layout import find_address
from headwater.observability.metrics import Metrics

log = structlog.stdlib.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class TableSync:
    """What was done, or with a dry run would be done, for one table in one catalog.

    `completed` is the commit synced to, empty for a table without commits. `error` says why the sync failed.
    """

    catalog: str
    table: str
    database: str
    completed: str = ""
    changes: tuple[TableChange, ...] = ()
    error: HeadwaterError | None = None

    @property
    def is_empty(self) -> bool:
        """True if there was nothing to send."""
        return all(change.is_empty for change in self.changes)


class CatalogSync:
    """`now` gives the time of notes. Never raises for a failing catalog: the result, the lake's notes and the
    metrics report it."""

    def __init__(
        self,
        settings: Settings,
        now: Callable[[], datetime],
        metrics: Metrics | None = None,
        build: Callable[[CatalogConfig], Catalog] = build_catalog,
    ) -> None:
        self._settings = settings
        self._now = now
        self._metrics = metrics
        self._build = build
        self._notes: dict[tuple[str, str], SyncNote] | None = None

    def list_catalogs(self, table: str, only: Sequence[str] = ()) -> list[CatalogConfig]:
        """Return the catalogs of a table. Raises `UsageError` if there are none, and for an unknown
        name."""
        catalogs = self._settings.catalogs
        labels = [config.label for config in catalogs]
        for name in only:
            if name not in labels:
                hint = f"configured catalogs: {', '.join(labels) or 'none'}"
                raise UsageError(f"there is no catalog {name}", hint=hint)
        own = get_args(OwnTable)
        if table not in (*self._settings.tables, *own):
            tables = ", ".join((*self._settings.tables, *own))
            raise UsageError(f"{table} is not a table that catalogs sync", hint=f"tables to sync: {tables}")
        selected = [one for one in catalogs if table in one.select(self._settings.tables)]
        found = [one for one in selected if not only or one.label in only]
        if not found:
            hint = "add it to `own_tables` of a catalog" if table in own else "add one to `catalogs`"
            raise UsageError(f"table {table} is not synced to a catalog", hint=hint)
        return found

    def sync(self, table: str, config: CatalogConfig, *, dry_run: bool = False) -> TableSync:
        """Sync one table to one catalog."""
        about = TableSync(config.label, table, config.database)
        try:
            with closing(self._build(config)) as catalog:
                plan = self._plan(catalog, table, config)
                if plan is None:
                    return about
                if not dry_run:
                    apply_plan(catalog, plan.changes)
        except HeadwaterError as error:
            if not dry_run:
                self._note_failure(about, error)
            return TableSync(config.label, table, config.database, error=error)
        done = TableSync(config.label, table, config.database, plan.completed, plan.changes)
        if not dry_run:
            self._note_success(done)
        return done

    def _plan(self, catalog: Catalog, table: str, config: CatalogConfig) -> TablePlan | None:
        address = find_address(self._settings, table)
        state = read_table_state(address)
        if state is None:
            return None
        rules = EntryRules(config.name_entry(table), config.meta_columns)
        return plan_table(catalog, state, rules)

    def _note_success(self, done: TableSync) -> None:
        if self._metrics and not done.is_empty:
            self._metrics.count("catalog_syncs", catalog=done.catalog, table=done.table)
        before = self._read_note(done)
        note = (before or SyncNote(done.catalog, done.table)).note_success(
            done.completed, self._write_now(), has_sent=not done.is_empty
        )
        self._write(note, before)

    def _note_failure(self, about: TableSync, error: HeadwaterError) -> None:
        if self._metrics:
            self._metrics.count("catalog_syncs_failed", catalog=about.catalog, table=about.table)
        before = self._read_note(about)
        note = before or SyncNote(about.catalog, about.table)
        self._write(note.note_failure(error.message, error.hint, self._write_now()), before)

    def _write_now(self) -> str:
        return self._now().strftime("%Y-%m-%dT%H:%M:%SZ")

    def _read_note(self, about: TableSync) -> SyncNote | None:
        if self._notes is None:
            self._notes = {(note.catalog, note.table): note for note in read_notes(self._settings)}
        return self._notes.get((about.catalog, about.table))

    def _write(self, note: SyncNote, before: SyncNote | None) -> None:
        if self._notes is not None:
            self._notes[note.catalog, note.table] = note
        if not note.differs_from(before):
            return
        try:
            NoteFolder(self._settings.lake, self._storage_options()).write(note)
        except (OSError, ImportError, ValueError) as error:
            log.warning("catalog sync result not recorded", table=note.table, error=str(error))

    def _storage_options(self) -> dict[str, str]:
        from headwater.lake.storage_options import build_storage_options

        return build_storage_options(self._settings.lake, self._settings.lake_storage)


def read_notes(settings: Settings) -> list[SyncNote]:
    """Return the sync results of tables in the configured catalogs; empty if the notes cannot be read."""
    from headwater.lake.storage_options import build_storage_options

    if not settings.catalogs:
        return []
    try:
        folder = NoteFolder(settings.lake, build_storage_options(settings.lake, settings.lake_storage))
        found = folder.read_all()
    except (OSError, ImportError, ValueError) as error:
        log.warning("cannot read catalog sync results", error=str(error))
        return []
    wanted = {
        (config.label, table) for config in settings.catalogs for table in config.select(settings.tables)
    }
    return [note for note in found if (note.catalog, note.table) in wanted]
