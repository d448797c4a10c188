"""Who may write which tables of a lake at the same time."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from typing import TYPE_CHECKING

import structlog

from headwater.config.settings import Settings
from headwater.lake.layout import list_tables
from headwater.lake.s3 import build_storage_options
from headwater.lake.writers.notice import Notice
from headwater.lake.writers.presence import Intent, Patience, WriterPresence

if TYPE_CHECKING:
    from headwater.config.table import TableConfig

log = structlog.stdlib.get_logger(__name__)

_ONCE_PATIENCE = 60.0
_PLANNED_SERVICES = frozenset({"compact", "cluster"})
# A writer goes on by the commits and the indexes that it knew.
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
    settings: Settings, only: Sequence[str], stop: threading.Event, *, once: bool
) -> Iterator[WriterPresence]:
    """Inside, no other `run` writes these tables, nor anything else that must not be beside it.

    With a lock a run that goes on waits for the one before it to end, and takes over from there. `stop` is
    set when another process has taken this one for dead. Raises `TableBusyError`.
    """
    intent = _build_intent(settings, "run", only)
    waits = (_ONCE_PATIENCE if once else inf) if intent.is_locked else Patience().seconds
    with _build(settings, intent, stop.set).entered(Patience(waits, _tell), stop) as presence:
        yield presence


@contextmanager
def hold_for_command(
    settings: Settings, command: str, on_lost: Callable[[], None] = lambda: None
) -> Iterator[WriterPresence]:
    """Inside, no `run` writes the lake, nor another command that writes what a `run` does, whatever lock
    there is: the events table has one writer. Raises `TableBusyError`."""
    intent = _build_intent(settings, command)
    with _build(settings, intent, on_lost).entered(Patience()) as presence:
        yield presence
        presence.check()


@contextmanager
def hold_for_service(settings: Settings, command: str, tables: Sequence[str]) -> Iterator[WriterPresence]:
    """Inside, nobody is there who must not write beside that service. Raises `TableBusyError`."""
    alone = any(is_alone(command, settings.tables.get(name)) for name in tables)
    intent = Intent("service", command, tuple(tables), alone, is_locked(settings))
    with _build(settings, intent).entered(Patience()) as presence:
        yield presence


def is_locked(settings: Settings) -> bool:
    """Whether a lock keeps the commits of several processes apart."""
    return settings.lock is not None and settings.lock.spans_processes


def is_alone(command: str, config: "TableConfig | None") -> bool:
    """Whether a service cannot be beside a writer of the table, whatever lock there is.

    Without `config`: one of headwater's own tables.
    """
    if command in _UNEXPECTED:
        return True
    # A writer that compacts by itself carries out every plan it finds, also one that is being carried out.
    return command in _PLANNED_SERVICES and (config is None or config.services == "inline")


def _build_intent(settings: Settings, command: str, only: Sequence[str] = ()) -> Intent:
    own = [name for name in list_tables(settings) if name not in settings.tables]
    return Intent("run", command, (*(only or settings.tables), *own), is_locked=is_locked(settings))


def _build(settings: Settings, intent: Intent, on_lost: Callable[[], None] = lambda: None) -> WriterPresence:
    options = build_storage_options(settings.lake, settings.lake_storage)
    return WriterPresence(settings.lake, options, intent, on_lost)


def _tell(other: Notice | None) -> None:
    log.info("waiting for another writer to end", writer=other.describe() if other else "")
