"""`headwater spark`: statements on the tables of a lake, with the leases and rules of headwater's writes."""

from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from headwater.app.application import App
from headwater.app.iceberg import update_views
from headwater.app.services.writer_lease import hold_for_service
from headwater.config.table import TableConfig
from headwater.errors import UsageError
from headwater.lake import inspection
from headwater.lake.layout import find_address, list_tables
from headwater.lake.service_table import ServiceTable, build_write_options
from headwater.lake.shell.inserting import choose_operation, read_inserted
from headwater.lake.shell.procedures import CHANGING
from headwater.lake.shell.registered_tables import RegisteredTables
from headwater.lake.shell.session import Frame, GuardedSession
from headwater.lake.shell.statement import ShellStatement, explained_statement, parse_shell_statement
from headwater.lake.sql.engine import QueryResult, resolve_table
from headwater.lake.sql.spark import build_result
from headwater.lake.sql.statement import TableName
from headwater.lake.typed_options.locks import read_session_lock, to_session_settings
from headwater.lake.typed_options.services import compaction_options
from headwater.lake.writes import write
from headwater.lake.writes.rules import check_operation, check_writable

_RESULT = "table string, instant string, inserted long, updated long, deleted long"
_OWN_COMMITS = 20


class SparkShell:
    """A session with the tables of a lake. Its `session.sql` runs queries, and writes if `allows_writes`.

    A write holds the lease of its table and has the table's options of Hudi. It returns a row with its commit
    and numbers of rows. Raises `UsageError` for a statement that is not allowed, `TableBusyError` while
    another process writes the table, `LakeError`, and for queries PySpark's errors.
    """

    def __init__(self, app: App, *, allows_writes: bool) -> None:
        self._app = app
        self._settings = app.settings
        self._allows_writes = allows_writes
        self.session = GuardedSession(app.spark)
        self.tables = RegisteredTables(self.session, list_tables(app.settings))
        self.tables.register()
        self.session.execute = self._execute

    def close(self) -> None:
        """Remove the tables from the session's catalog."""
        self.tables.unregister()

    def query(self, text: str, limit: int | None) -> QueryResult:
        """Run one statement as `session.sql` does, and return at most `limit` rows of its result.

        Raises `UsageError` and `LakeError` also for queries.
        """
        with explained_statement(self._settings.lake):
            return build_result(self.session.sql(text), self._settings.lake, limit)

    def _execute(self, text: str, args: Any) -> Frame:
        self.tables.follow(text)
        statement = parse_shell_statement(self.session, text)
        if statement.kind == "read":
            with self.tables.explained_absence():
                return self.session.run(text, args)
        name = resolve_table(TableName(statement.table, False, ""), list_tables(self._settings))
        config = self._check(statement, name)
        if statement.kind == "insert":
            if args:
                raise UsageError(
                    "SQL: INSERT takes no args", hint=f'pass a frame: lake["{name}"].upsert(frame)'
                )
            return self._insert(statement, name, config)
        return self._change(statement, name, config, text, args)

    def _check(self, statement: ShellStatement, name: str) -> TableConfig:
        """Raise the error of a write that this shell, the table or its mode does not allow."""
        if not self._allows_writes:
            raise UsageError(
                f"SQL: {statement.word} would write table {name}, and this shell only reads",
                hint="start it with --allow-writes",
            )
        config = self._settings.tables.get(name)
        if config is None:
            raise UsageError(
                f"SQL: {name} is one of headwater's own tables: other tables depend on its rows",
                hint=f"specify one of: {', '.join(self._settings.tables)}",
            )
        if name in self.tables.absent:
            raise self.tables.absent[name]
        if statement.kind == "update":
            check_writable(name, config)
        elif statement.kind == "merge":
            check_operation(name, config, "upsert")
        if overrides := self.session.list_overrides():
            raise UsageError(
                f"SQL: {', '.join(overrides)} would override the options of table {name}",
                hint=f"RESET {overrides[0]}; options of a table belong into `hoodie` of its configuration",
            )
        return config

    def _insert(self, statement: ShellStatement, name: str, config: TableConfig) -> Frame:
        operation = choose_operation(self.session, statement, config)
        check_operation(name, config, operation)
        with explained_statement(find_address(self._settings, name).path):
            rows = read_inserted(self.session, statement, name)
        done = write(self._settings, name, rows, operation)
        update_views(self._settings, [name])
        return self._show(name, done.instant)

    def _change(
        self, statement: ShellStatement, name: str, config: TableConfig, text: str, args: Any
    ) -> Frame:
        address = find_address(self._settings, name)
        command = CHANGING.get(statement.procedure, statement.kind)
        with hold_for_service(self._settings, command, [name]) as lease:
            lease.add_process(self._app.find_jvm_process())
            table = ServiceTable.of(self.session, address, config)
            before = table.load_timeline()
            options = _build_options(self._app, table, statement)
            with explained_statement(address.path), self.tables.writable(name, options):
                result = self.session.run(text, args)
            update_views(self._settings, [name])
        if statement.kind == "call":
            return result
        return self._show(name, self._find_own(table, {commit.requested for commit in before.commits}))

    def _find_own(self, table: ServiceTable, before: set[str]) -> str:
        """Return the new commit that is not from a pipeline; empty if there is none."""
        now = datetime.now(timezone.utc)
        for action in inspection.list_commits(table.address, now, limit=_OWN_COMMITS):
            is_new = action.instant not in before
            # With a lock, a run may have committed at the same time.
            if is_new and not inspection.load_commit(table.address, action.instant, now).headwater:
                return action.instant
        return ""

    def _show(self, name: str, instant: str) -> Frame:
        rows: list[tuple[str, str, int, int, int]] = []
        if instant:
            address, now = find_address(self._settings, name), datetime.now(timezone.utc)
            found = inspection.load_commit(address, instant, now).summary.written
            if found:
                rows = [(name, instant, found.rows_inserted, found.rows_updated, found.rows_deleted)]
        return self.session.createDataFrame(rows, _RESULT)


def _build_options(app: App, table: ServiceTable, statement: ShellStatement) -> dict[str, str]:
    if statement.kind == "call":
        # As `headwater table NAME compact`: now, whatever the number of commits since the last compaction.
        now = compaction_options() if statement.procedure == "run_compaction" else {}
        return table.build_client_options() | now
    lock = read_session_lock(to_session_settings(app.settings.lock), table.address.name)
    locked = replace(table, extra={**lock, **table.extra})
    return build_write_options(locked, "upsert").to_hoodie()
