"""The states of one table's objects on this machine, so that a batch can read some of them without Spark."""

import sqlite3
from collections.abc import Collection, Iterable, Iterator
from itertools import islice

from headwater.ingest.ledger.state_text import format_state, parse_state_text
from headwater.ingest.planning.ledger_entry import LedgerEntry

# The content can be rebuilt: it need not survive a crash.
_SETTINGS = ("journal_mode = OFF", "synchronous = OFF", "locking_mode = EXCLUSIVE", "cache_size = -65536")
# In KiB, for each table: what it does not hold, the operating system does as far as there is room.
_CACHE_AFTER_LOADING = "PRAGMA cache_size = -4096"
_TABLE = "CREATE TABLE states (object_id TEXT NOT NULL, state TEXT NOT NULL)"
# Created after loading: ids are unordered, and each insert would touch another page.
_INDEX = "CREATE UNIQUE INDEX by_object ON states (object_id)"
_IDS_A_QUERY = 500


class LocalStates:
    """Stored in an unnamed temporary file, deleted with the process; constant memory.

    About 500 bytes per object. Used by one thread at a time.
    """

    def __init__(self, texts: Iterable[tuple[str, str]] = ()) -> None:
        # Without a path SQLite uses a temporary file, which it writes once its cache is full.
        self._database = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        for setting in _SETTINGS:
            self._database.execute(f"PRAGMA {setting}")
        self._database.execute(_TABLE)
        self._put(texts)
        self._database.execute(_INDEX)
        self._database.execute(_CACHE_AFTER_LOADING)

    def find(self, object_ids: Collection[str]) -> dict[str, LedgerEntry]:
        """Return the known states of these objects, by object id."""
        found: dict[str, LedgerEntry] = {}
        remaining = iter(object_ids)
        while page := list(islice(remaining, _IDS_A_QUERY)):
            placeholders = ",".join("?" * len(page))
            query = f"SELECT object_id, state FROM states WHERE object_id IN ({placeholders})"  # noqa: S608 - placeholders
            found.update((name, parse_state_text(text)) for name, text in self._database.execute(query, page))
        return found

    def put(self, states: Iterable[LedgerEntry]) -> None:
        """Store the states, replacing those of the same objects."""
        self._put(_iter_texts(states))

    def _put(self, texts: Iterable[tuple[str, str]]) -> None:
        self._database.execute("BEGIN")
        self._database.executemany("INSERT OR REPLACE INTO states VALUES (?, ?)", texts)
        self._database.execute("COMMIT")


def _iter_texts(states: Iterable[LedgerEntry]) -> Iterator[tuple[str, str]]:
    return ((state.object_id, format_state(state)) for state in states)
