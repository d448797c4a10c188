"""`WriterLease`: acquires a lease for a writer of a lake, and detects other writers.

Each writer writes its own lease before it reads the others'. Of two concurrent writers, at least one
therefore sees the other. Heartbeats renew the lease. A killed writer is detected at once on the same machine,
by process ID, and after a minute from other machines.
"""

import os
import random
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timezone

import structlog

from headwater.errors import TableBusyError
from headwater.lake.file_store import explain_store_failure
from headwater.lake.writers.lease import (
    Lease,
    Role,
    excludes,
    find_contested,
    is_alive,
    name_tables,
    write_time,
)
from headwater.lake.writers.lease_store import LeaseStore
from headwater.lake.writers.process import Process, find_process, find_process_scope
from headwater.observability.part_state import PartState

log = structlog.stdlib.get_logger(__name__)

_RENEW_SECONDS = 10.0
_PUBLISH_SECONDS = 5.0
"""Minimum time between two renewals: states of parts may change many times a second."""
_POLL_SECONDS = 0.5
_LONGEST_POLL_SECONDS = 5.0
"""A standby may wait for days, and each look is several requests to an object store."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long to wait for conflicting writers, in seconds: the JVM of a killed process exits with a delay.

    `on_wait` is called once with the lease that blocks.
    """

    seconds: float = 10.0
    on_wait: Callable[[Lease | None], None] = lambda _: None


@dataclass(frozen=True, slots=True)
class Intent:
    """The tables to write, and how: see `Lease`. `is_locked`: see `excludes`."""

    role: Role
    command: str
    tables: tuple[str, ...]
    alone: bool = False
    is_locked: bool = False
    shared: tuple[str, ...] = ()


class WriterLease:
    """A context manager that holds a lease; inside, no conflicting writer is active.

    `lost` is set and `on_lost` is called when another process has treated this one as dead. Nothing may be
    written after that.
    """

    def __init__(
        self,
        lake: str,
        storage_options: Mapping[str, str],
        intent: Intent,
        on_lost: Callable[[], None] = lambda: None,
    ) -> None:
        self._lake = lake
        self._options = storage_options
        self._intent = intent
        self._store: LeaseStore | None = None
        self._lease = _build_lease(intent)
        self._lock = threading.Lock()
        self._parts: dict[str, PartState] = {}
        self._parts_lock = threading.Lock()
        self._changed = threading.Event()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._on_lost = on_lost
        self.lost = threading.Event()

    @contextmanager
    def entered(self, patience: Patience, stop: threading.Event | None = None) -> Iterator["WriterLease"]:
        """Acquire the lease, renew it in the background and release it at the end.

        Raises `TableBusyError` if a conflicting writer is active for longer than `patience`, or when `stop`
        is set; `LakeError` if the lease cannot be written.
        """
        try:
            self._store = LeaseStore(self._lake, self._options)
        except (OSError, ImportError, ValueError) as error:
            # Only Hadoop can access some locations.
            log.warning("cannot read the leases of other writers", lake=self._lake, error=str(error))
        if self._store is None:
            yield self
            return
        try:
            try:
                self._enter(self._store, patience, stop or threading.Event())
            except OSError as error:
                raise explain_store_failure(self._lake, error) from error
            self._thread = threading.Thread(
                target=self._renew, args=(self._store,), name="writer-lease", daemon=True
            )
            self._thread.start()
            yield self
        finally:
            self._ended.set()
            self._changed.set()
            if self._thread is not None:
                self._thread.join()
            self._remove(self._store)

    def _remove(self, store: LeaseStore) -> None:
        try:
            with self._lock:
                store.remove(self._lease.token)
        except OSError as error:
            # It expires by itself, and must not replace the error that ended the work.
            log.warning("lease not removed", lake=self._lake, error=str(error))

    def check(self) -> None:
        """Raise `TableBusyError` if another process has treated this one as dead."""
        if self.lost.is_set():
            raise TableBusyError(
                f"{name_tables(self._intent.tables)}: the lease of this process expired, and another "
                "process may have taken over",
                hint="the machine may have been suspended; start again: it resumes from the tables' state",
            )

    def add_process(self, number: int | None) -> None:
        """Add a process that writes on behalf of this one: its JVM."""
        found = None if number is None else find_process(number)
        if found is None or self._store is None:
            return
        with self._lock:
            self._lease = replace(self._lease, processes=(*self._lease.processes, found))
            self._write(self._store)

    def note_part(self, name: str, state: PartState) -> None:
        """Publish the state of a part of this run for `status`, with the next renewal. Returns at once."""
        with self._parts_lock:
            self._parts[name] = state
        self._changed.set()

    def _enter(self, store: LeaseStore, patience: Patience, stop: threading.Event) -> None:
        began = time.monotonic()
        pause, has_logged = _POLL_SECONDS, False
        blocking = self._try_to_enter(store)
        while blocking:
            waited = time.monotonic() - began
            if not has_logged and waited >= 1:
                has_logged = True
                patience.on_wait(blocking[0])
            # At random, so that two that wait do not block each other again and again.
            if waited >= patience.seconds or stop.wait(random.uniform(pause / 2, pause)):  # noqa: S311 - no secret
                raise self._refuse(blocking[0])
            pause = min(1.5 * pause, _LONGEST_POLL_SECONDS)
            try:
                blocking = self._try_to_enter(store)
            except OSError as error:
                # A standby outlives an outage of the storage.
                log.warning("cannot read the leases of other writers; retrying", error=str(error))

    def _try_to_enter(self, store: LeaseStore) -> list[Lease | None]:
        """Write the lease unless other writers exclude it; return their leases."""
        store.write(self._lease)
        blocking = find_blocking(store, self._lease, is_locked=self._intent.is_locked)
        if blocking:
            # Release the lease while waiting, so that this process blocks no other.
            store.remove(self._lease.token)
        return blocking

    def _refuse(self, other: Lease | None) -> TableBusyError:
        contested = set(self._intent.tables)
        if other:
            contested = find_contested(self._lease, other, is_locked=self._intent.is_locked)
        who = other.describe() if other else "another process"
        text = f"{name_tables(contested)}: being written by {who}"
        # Do not suggest a lock that would not help.
        if excludes(self._lease, other, is_locked=True):
            return TableBusyError(text, hint="wait until it ends, or stop it")
        return TableBusyError(
            text,
            hint="stop it first; or set `lock` for all writers of this lake, such as "
            "`lock: {provider: file_system}`",
        )

    def _renew(self, store: LeaseStore) -> None:
        due = time.monotonic() + _RENEW_SECONDS
        while not self._ended.is_set():
            self._changed.wait(max(0.0, due - time.monotonic()))
            self._changed.clear()
            if self._ended.is_set():
                return
            if time.monotonic() < due and not self._has_news():
                self._ended.wait(_PUBLISH_SECONDS)
                continue
            due = time.monotonic() + _RENEW_SECONDS
            try:
                with self._lock:
                    if not store.has(self._lease.token):
                        # The lease expired after a minute without heartbeat, and another process removed it.
                        log.error("lease lost to another process; stopping")
                        self.lost.set()
                        self._on_lost()
                        return
                    self._write(store)
            except OSError as error:
                log.warning("lease renewal failed", error=str(error))
            self._ended.wait(_PUBLISH_SECONDS)

    def _has_news(self) -> bool:
        """True if the published parts differ in more than what changes with every batch."""
        with self._parts_lock:
            return _select_news(self._parts) != _select_news(self._lease.parts)

    def _write(self, store: LeaseStore) -> None:
        with self._parts_lock:
            self._lease = replace(self._lease, parts=dict(self._parts))
        store.write(self._lease)


def _select_news(parts: Mapping[str, PartState]) -> dict[str, tuple[object, ...]]:
    # A busy table would cost a request every few seconds: whether it has a batch in hand can wait.
    return {
        name: ("waiting" if state.status == "working" else state.status, state.error, state.attempt)
        for name, state in parts.items()
    }


def read_writers(lake: str, storage_options: Mapping[str, str]) -> list[Lease]:
    """Return the leases of active writers, the oldest first."""
    try:
        leases = list(LeaseStore(lake, storage_options).read_living())
    except (OSError, ImportError, ValueError):
        # Only Hadoop can access some locations.
        return []
    return sorted(leases, key=lambda lease: lease.since)


def find_blocking(store: LeaseStore, mine: Lease, *, is_locked: bool) -> list[Lease | None]:
    """Return the leases of active writers that exclude this one; deletes expired leases."""
    blocking = []
    for token, lease, silent in store.read_others(mine):
        if is_alive(lease, mine.place, silent):
            if excludes(mine, lease, is_locked=is_locked):
                blocking.append(lease)
        else:
            store.remove(token)
    return blocking


def _build_lease(intent: Intent) -> Lease:
    own = find_process(os.getpid()) or Process(os.getpid(), 0)
    since = write_time(datetime.now(timezone.utc))
    return Lease(
        token=uuid.uuid4().hex,
        role=intent.role,
        command=intent.command,
        tables=intent.tables,
        alone=intent.alone,
        place=find_process_scope(),
        processes=(own,),
        since=since,
        shared=intent.shared,
    )
