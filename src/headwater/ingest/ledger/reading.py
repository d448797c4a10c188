"""The ledger for readers: sorted, with the newest commits of the table included."""

from collections.abc import Iterator, Mapping
from heapq import merge

from pyspark.sql import DataFrame

from headwater.ingest.ledger.ledger import Ledger
from headwater.ingest.ledger.protocol import CommittedTable, EventLog
from headwater.ingest.ledger.state_text import parse_state
from headwater.ingest.ledger.table_ledger import load_newest_states
from headwater.ingest.planning.ledger_entry import LedgerEntry


class LedgerReader:
    """A snapshot of the states of one data table's objects; writes nothing. Raises `LakeError`."""

    def __init__(self, name: str, ledger: Ledger, table: CommittedTable, events: EventLog) -> None:
        self._name = name
        self._ledger = ledger
        self._table = table
        self._events = events

    def load_newest(self) -> dict[str, LedgerEntry]:
        """See `load_newest_states`."""
        return load_newest_states(self._name, self._ledger, self._table, self._events)

    def read_seen(self) -> DataFrame | None:
        """See `Ledger.read_seen`."""
        return self._ledger.read_seen(self._name, self.load_newest().values())

    def iter_states(self, bucket: str, prefix: str = "") -> Iterator[LedgerEntry]:
        """Yield states of a bucket's objects in the order of their keys, in constant memory."""
        newest = self.load_newest()
        added = sorted(newest.values(), key=lambda state: state.key)
        kept = self._iter_stored(newest)
        for state in merge(kept, added, key=lambda state: state.key):
            if state.bucket == bucket and state.key.startswith(prefix):
                yield state

    def _iter_stored(self, newest: Mapping[str, LedgerEntry]) -> Iterator[LedgerEntry]:
        for row in self._ledger.iter_rows(self._name):
            if row["object_id"] not in newest:
                yield parse_state(row.asDict())

    def find_state(self, object_id: str) -> LedgerEntry | None:
        """Return the table's state of one object."""
        known = self.load_newest().get(object_id)
        return known or self._ledger.read_states(self._name, [object_id]).get(object_id)
