"""`WriterLease`: acquires a lease for a writer of a lake, and detects other writers.

Each writer writes its own lease before it reads the others'. Of two concurrent writers, at least one
therefore sees the other. Heartbeats renew the lease. A killed writer is detected at once on the same machine,
by process ID, and after a minute from other machines.
"""

import os
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timezone

import structlog

from headwater.errors import TableBusyError
from headwater.lake.layout import writers_path
from headwater.lake.snapshot_reader import to_uri
from headwater.lake.table_files import open_file_system
from headwater.lake.writers.lease import (
    Lease,
    Role,
    excludes,
    find_contested,
    is_alive,
    name_tables,
    parse_lease,
    write_time,
)
from headwater.lake.writers.process import Process, find_process, find_process_scope

log = structlog.stdlib.get_logger(__name__)

_RENEW_SECONDS = 10.0
_POLL_SECONDS = 0.5


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


class LeaseStore:
    """The folder of leases in a lake. All methods raise `OSError`."""

    def __init__(self, lake: str, storage_options: Mapping[str, str]) -> None:
        self._system, self._root = open_file_system(to_uri(writers_path(lake)), storage_options)

    def write(self, lease: Lease) -> None:
        """Write or renew a lease."""
        if self._system.type_name == "local":
            self._system.create_dir(self._root, recursive=True)
        with self._system.open_output_stream(self._path(lease.token)) as file:
            file.write(lease.to_bytes())

    def has(self, token: str) -> bool:
        """True if the lease still exists."""
        return bool(self._system.get_file_info(self._path(token)).is_file)

    def remove(self, token: str) -> None:
        """Delete a lease. Idempotent."""
        if self.has(token):
            with suppress(FileNotFoundError):
                self._system.delete_file(self._path(token))

    def read_others(self, mine: Lease) -> Iterator[tuple[str, Lease | None, float]]:
        """Yield token, lease and seconds since renewal of other writers, by the file system's clock.

        Raises `FileNotFoundError` if the own lease is missing.
        """
        from pyarrow.fs import FileSelector

        files = {file.base_name: file for file in self._system.get_file_info(FileSelector(self._root))}
        own = files.pop(_name(mine.token), None)
        if own is None:
            raise FileNotFoundError(self._path(mine.token))
        for name, file in files.items():
            if name.endswith(".json"):
                token = name.removesuffix(".json")
                silent = (own.mtime - file.mtime).total_seconds()
                yield token, self._read(token), silent

    def read_living(self) -> Iterator[Lease]:
        """Yield the leases of active writers; none for a lake without leases."""
        from pyarrow.fs import FileSelector

        place, now = find_process_scope(), datetime.now(timezone.utc)
        for file in self._system.get_file_info(FileSelector(self._root, allow_not_found=True)):
            if file.base_name.endswith(".json"):
                lease = self._read(file.base_name.removesuffix(".json"))
                if lease and is_alive(lease, place, (now - file.mtime).total_seconds()):
                    yield lease

    def _read(self, token: str) -> Lease | None:
        try:
            with self._system.open_input_file(self._path(token)) as file:
                return parse_lease(file.read())
        except FileNotFoundError:
            return None

    def _path(self, token: str) -> str:
        return f"{self._root}/{_name(token)}"


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
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._on_lost = on_lost
        self.lost = threading.Event()

    @contextmanager
    def entered(self, patience: Patience, stop: threading.Event | None = None) -> Iterator["WriterLease"]:
        """Acquire the lease, renew it in the background and release it at the end.

        Raises `TableBusyError` if a conflicting writer is active for longer than `patience`, or when `stop`
        is set.
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
            self._enter(self._store, patience, stop or threading.Event())
            self._thread = threading.Thread(
                target=self._renew, args=(self._store,), name="writer-lease", daemon=True
            )
            self._thread.start()
            yield self
        finally:
            self._ended.set()
            if self._thread is not None:
                self._thread.join()
            with self._lock:
                self._store.remove(self._lease.token)

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
            self._store.write(self._lease)

    def note_failure(self, table: str, error: str) -> None:
        """Publish the error of a table's failing batches for `status`; an empty error clears it."""
        with self._lock:
            failures = {name: text for name, text in self._lease.failures.items() if name != table}
            failures |= {table: error} if error else {}
            if self._store is None or failures == self._lease.failures:
                return
            self._lease = replace(self._lease, failures=failures)
            try:
                self._store.write(self._lease)
            except OSError as failure:
                log.warning("lease renewal failed", error=str(failure))

    def _enter(self, store: LeaseStore, patience: Patience, stop: threading.Event) -> None:
        deadline = time.monotonic() + patience.seconds
        has_logged = False
        while True:
            store.write(self._lease)
            blocking = find_blocking(store, self._lease, is_locked=self._intent.is_locked)
            if not blocking:
                return
            # Release the lease while waiting, so that this process blocks no other.
            store.remove(self._lease.token)
            if not has_logged and time.monotonic() >= deadline - patience.seconds + 1:
                has_logged = True
                patience.on_wait(blocking[0])
            if time.monotonic() >= deadline or stop.wait(_POLL_SECONDS):
                raise self._refuse(blocking[0])

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
        while not self._ended.wait(_RENEW_SECONDS):
            try:
                with self._lock:
                    if not store.has(self._lease.token):
                        # The lease expired after a minute without heartbeat, and another process removed it.
                        log.error("lease lost to another process; stopping")
                        self.lost.set()
                        self._on_lost()
                        return
                    store.write(self._lease)
            except OSError as error:
                log.warning("lease renewal failed", error=str(error))


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


def _name(token: str) -> str:
    return f"{token}.json"
