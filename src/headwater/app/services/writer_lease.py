"""Leases that decide which processes may write the tables of a lake concurrently."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import inf
from typing import TYPE_CHECKING

import structlog

from headwater.app.roles import RECONCILES, Roles
from headwater.config.settings import Settings
from headwater.lake.file_store import explain_store_failure
from headwater.lake.layout import list_tables
from headwater.lake.storage_options import build_storage_options
from headwater.lake.writers.lease import Lease, Role
from headwater.lake.writers.unfilled_files import remove_unfilled
from headwater.lake.writers.writer_lease import Intent, Patience, WriterLease
from headwater.observability.part_board import PartBoard
from headwater.observability.part_state import LEASE

if TYPE_CHECKING:
    from headwater.config.table import TableConfig

log = structlog.stdlib.get_logger(__name__)

_REHEARSAL = "the rehearsal"
"""What this lease protects, instead of tables; no table can have this name."""
_ONCE_PATIENCE = 60.0
_CREATION_PATIENCE = 120.0
_PLANNED_SERVICES = frozenset({"compact", "cluster"})
# These change commits or indexes that an active writer has in memory.
_UNEXPECTED = frozenset(
    {
        "restore",
        "rollback",
        "index create",
        "index drop",
        "index rebuild",
        "index repair",
        "metadata rebuild",
        "bootstrap",
        "upgrade",
        "downgrade",
    }
)


@contextmanager
def hold_for_run(
    settings: Settings,
    roles: Roles,
    stop: threading.Event,
    board: PartBoard | None = None,
    *,
    once: bool,
) -> Iterator[WriterLease]:
    """Hold the lease of a `run` with these roles: no other process takes on the same for the same tables.
    The lease publishes the states of the `board`.

    With a lock, a continuous run waits for the previous one to end, and takes over from there. Sets `stop`
    when another process considers this one dead. Raises `TableBusyError`.
    """
    intent = _build_run_intent(settings, roles)
    waits = (_ONCE_PATIENCE if once else inf) if intent.is_locked else Patience().seconds
    board = board or PartBoard()
    part = board.add(LEASE)
    part.note("waiting")

    def end_run() -> None:
        part.fail("the lease expired, and another process may have taken over", "lost")
        stop.set()

    with _entered(settings, intent, Patience(waits, _log_waiting), end_run, stop) as lease:
        part.note("up")
        board.subscribe(lease.note_part)
        yield lease


@contextmanager
def hold_for_reconcile(settings: Settings, stop: threading.Event, *, patience: float) -> Iterator[None]:
    """Hold the lease of the one process that reconciles and cleans; others wait for `patience` seconds, or
    until `stop` is set. Raises `TableBusyError`."""
    intent = Intent("run", "run --only capture (reconcile)", RECONCILES, is_locked=is_locked(settings))
    with _entered(settings, intent, Patience(patience), stop.set, stop):
        yield


@contextmanager
def hold_for_creation(settings: Settings) -> Iterator[None]:
    """Hold the lease under which a process creates tables that it shares. Raises `TableBusyError`."""
    intent = Intent("run", "run (creating shared tables)", ("creation",), is_locked=True)
    with _entered(settings, intent, Patience(_CREATION_PATIENCE)):
        yield


@contextmanager
def hold_for_command(
    settings: Settings, command: str, on_lost: Callable[[], None] = lambda: None
) -> Iterator[WriterLease]:
    """Hold the lease of a command: no `run`, and no command with the same writes, is active. This holds for
    any lock: the events table has one writer. Raises `TableBusyError`."""
    intent = _build_intent(settings, command)
    with _entered(settings, intent, Patience(), on_lost) as lease:
        yield lease
        lease.check()


@contextmanager
def hold_for_service(settings: Settings, command: str, tables: Sequence[str]) -> Iterator[WriterLease]:
    """Hold the lease of a table service: no conflicting writer is active. Raises `TableBusyError`."""
    alone = any(is_alone(command, settings.tables.get(name)) for name in tables)
    intent = Intent("service", command, tuple(tables), alone, is_locked(settings))
    with _entered(settings, intent, Patience()) as lease:
        yield lease


@contextmanager
def hold_for_rehearsal(settings: Settings) -> Iterator[WriterLease]:
    """Hold the lease of the one rehearsal of a lake, which writes no table. Raises `TableBusyError`."""
    intent = Intent("service", "rehearse", (_REHEARSAL,), alone=True, is_locked=is_locked(settings))
    with _entered(settings, intent, Patience()) as lease:
        yield lease


def is_locked(settings: Settings) -> bool:
    """True if a lock isolates the commits of several processes."""
    return settings.lock is not None and settings.lock.spans_processes


def is_alone(command: str, config: "TableConfig | None") -> bool:
    """True if a service must not run concurrently with a writer of the table, whatever the lock.

    Without `config`: one of headwater's own tables.
    """
    if command in _UNEXPECTED:
        return True
    # A writer with inline compaction executes every plan it finds, including one that is being executed.
    return command in _PLANNED_SERVICES and (config is None or config.services == "inline")


def _build_intent(settings: Settings, command: str) -> Intent:
    return Intent("run", command, tuple(list_tables(settings)), is_locked=is_locked(settings))


def _build_run_intent(settings: Settings, roles: Roles) -> Intent:
    written, shared = roles.list_written(settings), roles.list_shared(settings)
    role: Role = "service" if roles.serves_only else "run"
    return Intent(role, roles.describe(), written, is_locked=is_locked(settings), shared=shared)


@contextmanager
def _entered(
    settings: Settings,
    intent: Intent,
    patience: Patience,
    on_lost: Callable[[], None] = lambda: None,
    stop: threading.Event | None = None,
) -> Iterator[WriterLease]:
    """Hold a lease, in a lake without what a killed writer left unfinished."""
    options = build_storage_options(settings.lake, settings.lake_storage)
    with WriterLease(settings.lake, options, intent, on_lost).entered(patience, stop) as lease:
        _remove_unfilled(settings, intent, options)
        yield lease


def _remove_unfilled(settings: Settings, intent: Intent, options: Mapping[str, str]) -> None:
    paths = list_tables(settings)
    for name in sorted({*intent.tables, *intent.shared} & paths.keys()):
        try:
            removed = remove_unfilled(paths[name], options, may_be_shared=intent.is_locked)
        except OSError as error:
            raise explain_store_failure(paths[name], error) from error
        if removed:
            log.warning("removed incomplete commits of a killed writer", table=name, files=removed)


def _log_waiting(other: Lease | None) -> None:
    log.info("waiting for another writer to end", writer=other.describe() if other else "")
