"""`Rehearsal`: builds two shadows of a lake, with the current and the new file, and compares them."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from headwater.app.application import App, read_clock
from headwater.app.objects.streams import build_uri_prefix
from headwater.app.rehearsal.changes import Cast, TableChange, choose_cast, compare_files
from headwater.app.rehearsal.report import RehearsalReport, TableRehearsal, build_report
from headwater.app.rehearsal.shadow import Outcome, Shadow, find_table, open_shadows
from headwater.app.rehearsal.steps import Found, plan_application
from headwater.app.rehearsal.window import RehearsalWindow, copy_window, list_providers, list_scopes
from headwater.app.schema_check import check_schemas
from headwater.app.scope import locate
from headwater.app.services.writer_lease import hold_for_rehearsal
from headwater.config.settings import Settings
from headwater.config.table import TableConfig
from headwater.config.table.typed_options import list_ordering
from headwater.errors import HeadwaterError, TableMismatchError
from headwater.ingest.lineage import SOURCE_KEY, SOURCE_ROW
from headwater.ingest.reading.failures import explained_read
from headwater.ingest.rehearsal.differences import (
    QuarantineDifferences,
    RowDifferences,
    SchemaDifferences,
    compare_schemas,
)
from headwater.ingest.rehearsal.quarantine_comparison import compare_quarantine
from headwater.ingest.rehearsal.refusals import list_fixed_differences
from headwater.ingest.rehearsal.row_comparison import compare_rows
from headwater.ingest.rehearsal.undecided import LiveTable, list_addresses
from headwater.lake.layout import table_path
from headwater.lake.transforms.checking import check_processing


class Rehearsal:
    """Runs a new configuration on a shadow of the lake of one `App`; writes to none of its tables.

    Reads the objects, the events, the tables and their checkpoints. Raises `HeadwaterError`.
    """

    def __init__(
        self,
        app: App,
        new: Settings,
        window: RehearsalWindow | None = None,
        now: Callable[[], datetime] = read_clock,
    ) -> None:
        self._app = app
        self._new = app.with_settings(new)
        self._window = window or RehearsalWindow()
        self._now = now
        self._changes = compare_files(app.settings, new)

    def run(
        self,
        only: Sequence[str] = (),
        stop: threading.Event | None = None,
        on_session: Callable[[], None] = lambda: None,
    ) -> RehearsalReport:
        """Compare the tables named, or all that the new file may change; ends early when `stop` is set.

        `on_session` is called when the Spark session is up.

        Raises `UsageError` for tables that cannot be rehearsed, `TableBusyError` while another rehearsal of
        the lake is active.
        """
        app, new = self._app, self._new
        cast = choose_cast(self._changes, app.settings, new.settings, only)
        if not cast.compared:
            return build_report(self._changes, self._window.describe(), 0, {})
        check_processing(new.settings, new.environ)
        check_schemas(new.settings)
        with hold_for_rehearsal(app.settings) as lease:
            lease.add_process(app.find_jvm_process())
            on_session()
            with open_shadows(app, app.settings, new.settings) as shadows:
                return self._compare(cast, _Shadows(*shadows), stop or threading.Event())

    def _compare(self, cast: Cast, shadows: "_Shadows", stop: threading.Event) -> RehearsalReport:
        scopes = list_scopes(self._app, self._new, list(cast.built))
        targets = [shadow.app.events for shadow in (shadows.now, shadows.new)]
        events = copy_window(self._app, self._window, scopes, targets, self._now())
        outcomes = tuple(shadow.fill(cast.built, stop) for shadow in (shadows.now, shadows.new))
        comparison = _Comparison(self._app, self._new, shadows, *outcomes)
        tables = {
            change.table: comparison.compare(change)
            for change in self._changes.tables
            if change.table in cast.compared
        }
        return build_report(self._changes, self._window.describe(), events, tables)


@dataclass(frozen=True, slots=True)
class _Shadows:
    now: Shadow
    new: Shadow


@dataclass(frozen=True, slots=True)
class _Comparison:
    """Compares the tables of two filled shadows; `by_now` and `by_new` are their outcomes."""

    app: App
    new: App
    shadows: _Shadows
    by_now: Mapping[str, Outcome]
    by_new: Mapping[str, Outcome]

    def compare(self, change: TableChange) -> TableRehearsal:
        name = change.table
        before, after = self.by_now.get(name, Outcome()), self.by_new[name]
        schema, rows, quarantine = SchemaDifferences(), RowDifferences(), QuarantineDifferences()
        if not (before.failure or after.failure):
            with explained_read(name):
                schema, rows = self._compare_rows(name)
                quarantine = self._compare_quarantine(name)
        found = Found(self._list_refusals(name), schema, rows)
        return TableRehearsal(
            state=change.state,
            keys=change.keys,
            objects=after.objects.total(),
            failure_now=before.failure,
            failure_new=after.failure,
            schema=schema,
            rows=rows,
            quarantine=quarantine,
            application=plan_application(change, self.new.settings, found),
        )

    def _compare_rows(self, name: str) -> tuple[SchemaDifferences, RowDifferences]:
        before, after = self.shadows.now.find_table(name), self.shadows.new.find_table(name)
        found = [table for table in (before, after) if table is not None]
        if not found:
            return SchemaDifferences(), RowDifferences()
        # A table without a row has no columns yet.
        empty = found[0].read().limit(0)
        now, new = before.read() if before else empty, after.read() if after else empty
        config = self.new.settings.tables[name]
        fixed = (*config.record_key, *list_ordering(config), *config.partition)
        schema = compare_schemas(now.schema, new.schema, fixed)
        return schema, compare_rows(
            now, new, self._list_keys(name), self._find_live(name), has_objects=self._has_objects(name)
        )

    def _has_objects(self, name: str) -> bool:
        return all(app.settings.tables[name].from_ is None for app in self._list_apps(name))

    def _list_apps(self, name: str) -> list[App]:
        return [app for app in (self.app, self.new) if name in app.settings.tables]

    def _list_keys(self, name: str) -> list[tuple[str, ...]]:
        """Return what may identify the rows of both; of a derived table, also the source row."""
        config = self.new.settings.tables[name]
        if self._has_objects(name):
            return [config.record_key]
        old = self.app.settings.tables.get(name, config)
        return [config.record_key, old.record_key, (SOURCE_KEY, SOURCE_ROW)]

    def _find_live(self, name: str) -> LiveTable | None:
        """Return the real table, to see which rows objects outside the window decide; None if it has none."""
        config = self.app.settings.tables.get(name)
        if config is None or not self._has_objects(name):
            return None
        table = find_table(self.app, table_path(self.app.settings.lake, name))
        events = self.shadows.now.app.events.read_snapshot()
        if table is None or events is None:
            return None
        locations = [locate(source) for app in (self.app, self.new) for source in app.settings.sources]
        prefixes = {location.bucket: build_uri_prefix(location) for location in locations}
        addresses, is_mirror = list_addresses(events, prefixes), config.effective_mode == "mirror"
        return LiveTable(table.read(), addresses, _find_live_key(config), is_mirror)

    def _compare_quarantine(self, name: str) -> QuarantineDifferences:
        before, after = self.shadows.now.find_quarantine(), self.shadows.new.find_quarantine()
        return compare_quarantine(
            before.read() if before else None,
            after.read() if after else None,
            name,
            list_providers(self.app, self.new),
        )

    def _list_refusals(self, name: str) -> list[str]:
        """Return why a run would reject the real table with the new file."""
        if name not in self.app.settings.tables:
            return []
        table = find_table(self.app, table_path(self.app.settings.lake, name))
        if table is None:
            return []
        try:
            config = self.new.find_config(name)
            if config.from_ is None:
                self.new.build_rows(name).load_state()
            else:
                self.new.build_derived_pipeline(name).load_state()
        except TableMismatchError as error:
            return [error.message]
        except HeadwaterError:
            return []  # the shadow has failed in the same way
        found = list_fixed_differences(name, config, table)
        old = self.app.settings.tables[name]
        if config.cdc not in ("off", old.cdc):
            found.append(f"cdc is {old.cdc} in the table and {config.cdc} in the new file")
        return found


def _find_live_key(config: TableConfig) -> tuple[str, ...]:
    """Return the key of which several objects may have a row; empty if each object has rows of its own."""
    return config.record_key if config.effective_mode == "merge" or config.filter_duplicates else ()
