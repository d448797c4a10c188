"""Connections to a PostgreSQL server: kept for reuse, and failures explained."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

import psycopg
from psycopg import errors

from headwater.errors import IndexNotFoundError, IndexUnavailableError, SearchError

Connection = psycopg.Connection[tuple[Any, ...]]
_T = TypeVar("_T")

_CAPACITY = 8
_CONNECT_SECONDS = 5
_BUSY_SECONDS = 30
# libpq recognises a server that has disappeared without closing the connection.
_KEEPALIVE = {
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,
}
# Compiling a query costs more than it saves here. A filtered search continues in the graph until it has
# enough points. The extension may be in any schema, and ours are always named.
_CONFIGURE = """
select set_config('jit', 'off', false), set_config('statement_timeout', '30s', false),
    set_config('hnsw.ef_search', '200', false), set_config('hnsw.iterative_scan', 'strict_order', false),
    set_config('hnsw.max_scan_tuples', '500', false),
    set_config('search_path', coalesce((
        select quote_ident(nspname) from pg_catalog.pg_extension join pg_catalog.pg_namespace
        on pg_namespace.oid = extnamespace where extname = 'vector'), 'public'), false)
"""
_REJECTED = ("password", "authentication", "pg_hba.conf", "does not exist", "permission denied")
# Classes of SQLSTATE: connection, transaction rollback, resources, intervention, system error.
_PASSING = ("08", "40", "53", "57", "58")
PASSWORD_HINT = "set HEADWATER_PGVECTOR_PASSWORD, or use a password file of libpq"  # noqa: S105 - no password


class Connections:
    """At most 8 connections; thread-safe. Connects in the calling thread, so that its error has the reason.

    Raises `IndexUnavailableError` when the server does not answer, `SearchError` when it rejects a request.
    """

    def __init__(self, url: str, password: str | None) -> None:
        self._url = url
        self._password = password
        self._places = threading.BoundedSemaphore(_CAPACITY)
        self._idle: list[Connection] = []

    def read(self, call: Callable[[Connection], _T]) -> _T:
        """Return the result of `call`, which must be repeatable: it is, once, on a new connection if the
        server has closed the one in use, as after its restart."""
        with self._place(), explained():
            connection, is_new = self._take()
            try:
                return self._use(connection, call)
            except (errors.OperationalError, errors.AdminShutdown):
                if is_new or not connection.closed:
                    raise
            self.close()
            return self._use(self._connect(), call)

    def write(self, call: Callable[[Connection], _T]) -> _T:
        """Return the result of `call`, in one transaction."""
        return self.read(lambda connection: _in_transaction(connection, call))

    def close(self) -> None:
        """Close idle connections."""
        while self._idle:
            self._idle.pop().close()

    @contextmanager
    def _place(self) -> Iterator[None]:
        if not self._places.acquire(timeout=_BUSY_SECONDS):
            raise IndexUnavailableError(
                f"all {_CAPACITY} connections to the vector store have been busy for {_BUSY_SECONDS} s",
                hint="add processes with `headwater serve --workers`, and check the load of the server",
            )
        try:
            yield
        finally:
            self._places.release()

    def _take(self) -> tuple[Connection, bool]:
        with suppress(IndexError):
            return self._idle.pop(), False
        return self._connect(), True

    def _use(self, connection: Connection, call: Callable[[Connection], _T]) -> _T:
        try:
            return call(connection)
        finally:
            is_ready = connection.info.transaction_status == psycopg.pq.TransactionStatus.IDLE
            if connection.closed or not is_ready:
                connection.close()
            else:
                self._idle.append(connection)

    def _connect(self) -> Connection:
        options: dict[str, Any] = dict(_KEEPALIVE)
        if self._password:
            options["password"] = self._password
        # No prepared statements: each plan is for the conditions at hand.
        connection = psycopg.connect(
            self._url,
            autocommit=True,
            prepare_threshold=None,
            connect_timeout=_CONNECT_SECONDS,
            application_name="headwater",
            **options,
        )
        connection.execute(_CONFIGURE)
        return connection


def _in_transaction(connection: Connection, call: Callable[[Connection], _T]) -> _T:
    with connection.transaction():
        return call(connection)


@contextmanager
def explained() -> Iterator[None]:
    """Convert errors of the client inside the block to a `SearchError` with a hint."""
    try:
        yield
    except (errors.UndefinedTable, errors.InvalidSchemaName) as error:
        raise IndexNotFoundError(
            f"the vector store no longer has this version of the index: {to_line(error)}",
            hint="run headwater index build",
        ) from error
    except errors.InsufficientPrivilege as error:
        raise SearchError(
            f"the vector store rejected the user: {to_line(error)}",
            hint="grant the user all privileges on the schema search.store.collection; "
            "`headwater serve` without a sync only reads",
        ) from error
    except errors.ReadOnlySqlTransaction as error:
        raise SearchError(
            f"the vector store is read-only: {to_line(error)}",
            hint="a standby answers searches; name the primary in search.store.url to write the index",
        ) from error
    except psycopg.Error as error:
        raise _explain(error) from error


def _explain(error: psycopg.Error) -> SearchError:
    line = to_line(error)
    if error.sqlstate is None and isinstance(error, psycopg.OperationalError):
        # A failed connection: the reason is only in the text.
        if any(word in line for word in _REJECTED):
            return SearchError(f"the vector store rejected the connection: {line}", hint=PASSWORD_HINT)
        return IndexUnavailableError(
            f"the vector store does not respond: {line}",
            hint="check the server, search.store.url, the network and HEADWATER_PGVECTOR_PASSWORD",
        )
    if (error.sqlstate or "").startswith(_PASSING):
        return IndexUnavailableError(
            f"the vector store cannot answer now: {line}", hint="check the log of the PostgreSQL server"
        )
    return SearchError(
        f"the vector store rejected a request: {line}",
        hint="check the index: headwater index status; if its schema was changed, headwater index build",
    )


def to_line(error: Exception) -> str:
    """Return the start of an error's text, in one line."""
    return " ".join(str(error).split())[:300]
