"""All versions of the index in one schema of a PostgreSQL database."""

from collections.abc import Iterable
from functools import partial
from typing import Any

import psycopg
from psycopg import errors, sql

from headwater.errors import IndexNotFoundError, SearchError
from headwater.rag.vector_stores.pgvector.connections import Connection, Connections, to_line
from headwater.rag.vector_stores.pgvector.index import PgvectorIndex
from headwater.rag.vector_stores.pgvector.tables import (
    CREATE_COLLECTION,
    CollectionTables,
    VersionTables,
    quote_name,
)
from headwater.rag.vector_stores.protocol import IndexSpec, VersionState
from headwater.rag.vector_stores.spec import check_same_spec, parse_spec, write_spec

MIN_VERSION = (0, 8)
"""The first pgvector whose graph continues when conditions reject points."""
_INSERT = "insert into {versions} (name, spec) values (%s, %s) on conflict do nothing"
_SET_LIVE = """
insert into {live} (name) values (%s) on conflict (is_live) do update set name = excluded.name
"""
_FIND_EXTENSION = "select extversion from pg_catalog.pg_extension where extname = 'vector'"


class PgvectorStore:
    """All versions in one collection. Connects when it is used.

    Raises `IndexUnavailableError` when the server does not answer, `SearchError` when it rejects a request.
    """

    def __init__(self, url: str, collection: str, *, password: str | None) -> None:
        self._connections = Connections(url, password)
        self._tables = CollectionTables(collection)

    def list_versions(self) -> list[str]:
        """Return the version names in order."""
        try:
            return [row[0] for row in self._query("select name from {versions} order by name")]
        except IndexNotFoundError:
            return []

    def create(self, version: str, spec: IndexSpec) -> PgvectorIndex:
        """Create an empty version, or open the existing one with the same spec."""
        self._connections.write(lambda one: self._create(one, version, spec))
        index = self.open(version)
        check_same_spec(version, index.spec, spec)
        return index

    def open(self, version: str) -> PgvectorIndex:
        """Open a version. Raises `IndexNotFoundError` for an unknown name."""
        return PgvectorIndex(self._connections, self._find_tables(version))

    def read_state(self, version: str) -> VersionState:
        """Read the state of a version. Raises `IndexNotFoundError` for an unknown name."""
        index = self.open(version)
        return VersionState(index.spec, index.read_checkpoint(), index.count())

    def release(self, version: str) -> None:
        """Do nothing: any number of processes use a version."""

    def drop(self, versions: Iterable[str]) -> None:
        """Remove versions. Raises `SearchError` for the live one."""
        names = set(versions)
        if (live := self.find_live()) in names:
            raise _reject_drop(live)
        for version in sorted(names & set(self.list_versions())):
            tables = self._find_tables(version)
            self._connections.write(partial(_drop, tables=tables))

    def find_live(self) -> str | None:
        """Return the version that searches use."""
        try:
            rows = self._query("select name from {live}")
        except IndexNotFoundError:
            return None
        return rows[0][0] if rows else None

    def set_live(self, version: str) -> None:
        """Make a version live. Raises `IndexNotFoundError` for an unknown name."""
        self._find_tables(version)
        statement = self._tables.write(_SET_LIVE)
        self._connections.write(lambda one: one.execute(statement, [version]))

    def close(self) -> None:
        """Close connections."""
        self._connections.close()

    def _query(self, statement: str, *parameters: object) -> list[tuple[Any, ...]]:
        composed = self._tables.write(statement)
        return self._connections.read(lambda one: one.execute(composed, parameters).fetchall())

    def _find_tables(self, version: str) -> VersionTables:
        names = self.list_versions()
        rows = self._query("select spec from {versions} where name = %s", version) if version in names else []
        if not rows:
            raise IndexNotFoundError(
                f"the index {self._tables.schema!r} has no version {version!r}; "
                f"versions: {', '.join(names) or 'none'}",
                hint="run headwater index build",
            )
        return VersionTables(self._tables.schema, version, parse_spec(rows[0][0]))

    def _create(self, connection: Connection, version: str, spec: IndexSpec) -> None:
        tables = self._tables
        # Another process may do the same: the statements would fail rather than wait for it.
        connection.execute("select pg_advisory_xact_lock(hashtext(%s))", [f"headwater {tables.schema}"])
        _ensure_extension(connection)
        # A user may own a schema without the privilege to create one.
        if not _is_found(connection, "select to_regnamespace(%s)", quote_name(tables.schema)):
            connection.execute(tables.write("create schema {schema}"))
        if not _is_found(connection, "select to_regclass(%s)", f"{quote_name(tables.schema)}.versions"):
            connection.execute(tables.write(CREATE_COLLECTION))
        if connection.execute(tables.write(_INSERT), [version, write_spec(spec)]).rowcount:
            for statement in VersionTables(tables.schema, version, spec).list_creations():
                connection.execute(statement)


def _is_found(connection: Connection, statement: str, name: str) -> bool:
    found = connection.execute(statement, [name]).fetchone()
    return found is not None and found[0] is not None


def _ensure_extension(connection: Connection) -> None:
    found = connection.execute(_FIND_EXTENSION).fetchone()
    if found is None:
        try:
            connection.execute("create extension vector")
        except psycopg.DatabaseError as error:
            raise SearchError(
                f"the database has no extension `vector`, and headwater cannot create it: {to_line(error)}",
                hint="install pgvector 0.8 or later on the server; then, as a user with the privilege, run "
                "in this database: create extension vector",
            ) from error
        found = connection.execute(_FIND_EXTENSION).fetchone()
    version = found[0] if found else ""
    if tuple(int(part) for part in version.split(".")[:2]) < MIN_VERSION:
        raise SearchError(
            f"pgvector {version} on the server is too old; 0.8 or later is required",
            hint="install a newer pgvector on the server, then run: alter extension vector update",
        )


def _drop(connection: Connection, tables: VersionTables) -> None:
    try:
        connection.execute(tables.write("delete from {versions} where name = %s"), [tables.version])
    except errors.ForeignKeyViolation as error:
        raise _reject_drop(tables.version) from error
    connection.execute(
        tables.write("drop table if exists {tables}", tables=sql.SQL(", ").join(tables.list_tables()))
    )


def _reject_drop(version: str | None) -> SearchError:
    return SearchError(f"version {version!r} of the index is live", hint="make another version live first")
