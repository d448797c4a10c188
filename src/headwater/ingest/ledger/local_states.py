"""The states of one table's objects on this machine, so that a batch can read some of them without Spark."""

import json
import os
import sqlite3
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

import structlog

from headwater.capture.position import Position
from headwater.errors import LakeError
from headwater.ingest.ledger.copy_files import delete_copy, find_loading_file
from headwater.ingest.ledger.state_text import NAMES, format_state, parse_state_text
from headwater.ingest.ledger.watermark import Watermark
from headwater.ingest.planning.ledger_entry import LedgerEntry

log = structlog.stdlib.get_logger(__name__)

# A copy made by a release with other states is rebuilt. SQLite keeps 31 bits of it.
_FORMAT = zlib.crc32(" ".join(("1", *NAMES)).encode()) >> 1
# Until the copy is complete, nothing in it needs to survive a crash.
_LOADING = ("journal_mode = OFF", "synchronous = OFF", "cache_size = -65536")
# A killed process leaves the state before its last `put`, or after it.
_KEPT = ("locking_mode = EXCLUSIVE", "journal_mode = WAL", "synchronous = NORMAL")
# In KiB, for each table: what it does not hold, the operating system does as far as there is room.
_CACHE = "cache_size = -1024"
_TABLES = (
    "CREATE TABLE states (object_id TEXT NOT NULL, state TEXT NOT NULL)",
    "CREATE TABLE included (watermark TEXT NOT NULL)",
    f"PRAGMA user_version = {_FORMAT}",
)
# Created after loading: ids are unordered, and each insert would touch another page.
_INDEX = "CREATE UNIQUE INDEX by_object ON states (object_id)"
_IDS_A_QUERY = 500


class LocalStates:
    """A copy of the ledger's states of one table, and the watermark up to which it is complete.

    With a `path`, the next process of this machine continues with the copy. Without one, or when the file is
    in use or cannot be written, an unnamed temporary file is used, which is deleted with the process. About
    415 bytes per object, in constant memory. Used by one thread at a time. `find` and `put` need a copy that
    is open or loaded; whatever is wrong with it, they delete it and raise `LakeError`.
    """

    def __init__(self, path: Path | None = None) -> None:
        self._path = path
        self._is_named = path is not None
        self._database: sqlite3.Connection | None = None
        self._watermark: Watermark | None = None

    def open(self) -> Watermark | None:
        """Return what the copy includes; None if there is none."""
        if self._database is None and self._path is not None and self._is_named:
            try:
                self._database, self._watermark = _open(self._path)
            except (OSError, sqlite3.Error, ValueError) as error:
                self._use_unnamed(error)
        return self._watermark

    def load(self, read: Callable[[], Iterable[tuple[str, str]]], watermark: Watermark) -> None:
        """Replace the copy: object ids and texts of states, all that the ledger has up to the watermark."""
        self._discard()
        if self._path is not None and self._is_named:
            try:
                _create_file(self._path, read, watermark)
                self._database, self._watermark = _open(self._path)
                return
            except (OSError, sqlite3.Error) as error:
                self._use_unnamed(error)
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        try:
            with self._explained() as database:
                _fill(database, read(), watermark)
                _set(database, [_CACHE])
        except BaseException:
            self.close()
            raise
        self._watermark = watermark

    def find(self, object_ids: Collection[str]) -> dict[str, LedgerEntry]:
        """Return the known states of these objects, by object id."""
        found: dict[str, LedgerEntry] = {}
        remaining = iter(object_ids)
        with self._explained() as database:
            while page := list(islice(remaining, _IDS_A_QUERY)):
                placeholders = ",".join("?" * len(page))
                query = f"SELECT object_id, state FROM states WHERE object_id IN ({placeholders})"  # noqa: S608 - placeholders
                rows = database.execute(query, page)
                found.update((name, parse_state_text(text)) for name, text in rows)
        return found

    def put(self, states: Iterable[LedgerEntry], watermark: Watermark) -> None:
        """Store the states, replacing those of the same objects, and the new watermark, all or nothing."""
        with self._explained() as database:
            database.execute("BEGIN")
            _insert(database, ((state.object_id, format_state(state)) for state in states))
            database.execute("UPDATE included SET watermark = ?", (_format(watermark),))
            database.execute("COMMIT")
            self._watermark = watermark

    def close(self) -> None:
        """Close the file, which keeps the copy."""
        database, self._database, self._watermark = self._database, None, None
        if database is not None:
            database.close()

    def _use_unnamed(self, error: Exception) -> None:
        log.info(
            "no copy of object states is kept for the next start", file=str(self._path), reason=str(error)
        )
        self._is_named = False

    def _discard(self) -> None:
        self.close()
        if self._path is not None and self._is_named:
            with suppress(OSError):
                delete_copy(self._path)

    @contextmanager
    def _explained(self) -> Iterator[sqlite3.Connection]:
        if self._database is None:
            raise RuntimeError("the copy is neither open nor loaded")
        try:
            yield self._database
        except sqlite3.Error as error:
            self._discard()
            where = self._path if self._is_named else "a temporary file"
            raise LakeError(
                f"the copy of object states in {where} cannot be used: {error}",
                hint="it was deleted, and is copied from the ledger again; check the space left on that disk",
            ) from error


def _open(path: Path) -> tuple[sqlite3.Connection | None, Watermark | None]:
    """Open a complete copy; None if there is none. Raises `OSError`, `sqlite3.Error` and `ValueError`."""
    if not path.exists():
        return None, None
    database = sqlite3.connect(path, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        _set(database, (*_KEPT, _CACHE))
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version == _FORMAT:
            (text,) = database.execute("SELECT watermark FROM included").fetchone()
            os.utime(path)
            return database, _parse(text)
    except sqlite3.DatabaseError as error:
        database.close()
        if isinstance(error, sqlite3.OperationalError):
            raise
        delete_copy(path)  # corrupt
        return None, None
    except BaseException:
        database.close()
        raise
    database.close()
    delete_copy(path)
    return None, None


def _create_file(path: Path, read: Callable[[], Iterable[tuple[str, str]]], watermark: Watermark) -> None:
    """Write a complete copy. Raises `OSError` and `sqlite3.Error`."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    loading = find_loading_file(path)
    delete_copy(loading)  # of a process that was killed
    database = sqlite3.connect(loading, timeout=0, isolation_level=None, check_same_thread=False)
    try:
        _fill(database, read(), watermark)
        database.close()
        with loading.open("rb") as file:
            os.fsync(file.fileno())
        loading.replace(path)
    except BaseException:
        database.close()
        # It may be what has filled the disk.
        with suppress(OSError):
            delete_copy(loading)
        raise


def _fill(database: sqlite3.Connection, texts: Iterable[tuple[str, str]], watermark: Watermark) -> None:
    _set(database, ("locking_mode = EXCLUSIVE", *_LOADING))
    for statement in _TABLES:
        database.execute(statement)
    database.execute("BEGIN")
    _insert(database, texts)
    database.execute(_INDEX)
    database.execute("INSERT INTO included VALUES (?)", (_format(watermark),))
    database.execute("COMMIT")


def _insert(database: sqlite3.Connection, texts: Iterable[tuple[str, str]]) -> None:
    database.executemany("INSERT OR REPLACE INTO states VALUES (?, ?)", texts)


def _set(database: sqlite3.Connection, settings: Iterable[str]) -> None:
    for setting in settings:
        database.execute(f"PRAGMA {setting}")


def _format(watermark: Watermark) -> str:
    return json.dumps([watermark.commit, watermark.position.to_text(), watermark.has_unconfirmed])


def _parse(text: str) -> Watermark:
    commit, position, has_unconfirmed = json.loads(text)
    return Watermark(commit, Position.parse(position), has_unconfirmed)
