"""The ledger's own table, as in `headwater.ingest.ledger.ledger`, under the real `TableLedger`."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from headwater.capture.position import Position
from headwater.capture.reconcile.newest_state import TableObservation
from headwater.ingest.ledger.local_states import LocalStates
from headwater.ingest.ledger.outcome_log import OUTCOMES_KEY, encode_outcomes
from headwater.ingest.ledger.protocol import CommittedTable, EventLog, WritableStates
from headwater.ingest.ledger.state_text import format_state
from headwater.ingest.ledger.table_ledger import TableLedger, load_newest_states
from headwater.ingest.ledger.watermark import Watermark
from headwater.ingest.planning.ledger_entry import LedgerEntry, find_observation
from headwater.ingest.planning.outcome import ObjectOutcome
from simulator.bugs import NO_BUGS, Bugs
from simulator.outside.crash import Crashes
from simulator.outside.hudi import HudiTable, Write
from simulator.product.data_rows import DataRow, TableKind

_WATERMARKS_KEY = "marks"


class LedgerRow(NamedTuple):
    """The state of one object as applied by one data table."""

    table: str
    state: LedgerEntry


class Machines:
    """Three machines, each with its own copies of the ledger. Every process starts on one of them."""

    def __init__(self, tables: Collection[TableKind]) -> None:
        self._copies = [{kind: LocalStates() for kind in tables} for _ in range(3)]
        self._starts = 0

    def take(self) -> Mapping[TableKind, LocalStates]:
        """Returns the copies of the machine on which the next process starts."""
        self._starts += 1
        # 0 0 2 0 0 1: a copy is as old as the last process, or as the one before another machine's.
        return self._copies[0 if self._starts % 3 else 1 + self._starts // 3 % 2]


class SimulatedLedger:
    """One process's view of the ledger; reads watermarks once, as in production."""

    def __init__(self, table: HudiTable[LedgerRow], crashes: Crashes) -> None:
        self._table = table
        self._crashes = crashes
        self._watermarks: dict[str, Watermark] | None = None

    def find_watermark(self, table: str) -> Watermark:
        return self._load_watermarks().get(table, Watermark())

    def write(self, table: str, states: Collection[LedgerEntry], watermark: Watermark) -> None:
        watermarks = {**self._load_watermarks(), table: watermark}
        rows = [((table, state.object_id), LedgerRow(table, state)) for state in states]
        self._crashes.at("ledger to be written")
        self._table.write(Write(rows, metadata={_WATERMARKS_KEY: _format(watermarks)}))
        self._watermarks = watermarks
        self._crashes.at("ledger written")

    def forget(self, table: str) -> None:
        watermarks = {name: watermark for name, watermark in self._load_watermarks().items() if name != table}
        keys = [(table, row.state.object_id) for row in self._table.read() if row.table == table]
        self._crashes.at("ledger to be forgotten")
        self._table.write(Write(deletes=keys, metadata={_WATERMARKS_KEY: _format(watermarks)}))
        self._watermarks = watermarks

    def iter_texts(self, table: str) -> Iterator[tuple[str, str]]:
        yield from ((state.object_id, format_state(state)) for state in self._list_states(table))

    def read_states(self, table: str, object_ids: Collection[str]) -> dict[str, LedgerEntry]:
        states = self._list_states(table)
        return {state.object_id: state for state in states if state.object_id in object_ids}

    def _list_states(self, table: str) -> list[LedgerEntry]:
        """Lists the states that the watermarks cover."""
        if self.find_watermark(table) == Watermark():
            return []
        return [row.state for row in self._table.read() if row.table == table]

    def find_seen(self, table: str, newest: Collection[LedgerEntry]) -> dict[str, TableObservation]:
        """Returns what the table found under its keys, as `Ledger.read_seen`."""
        states = {state.object_id: state for state in (*self._list_states(table), *newest)}
        found = ((state.key, find_observation(state)) for state in states.values())
        return {key: observation for key, observation in found if observation is not None}

    def _load_watermarks(self) -> dict[str, Watermark]:
        if self._watermarks is None:
            found = self._table.load_timeline().find_metadata(_WATERMARKS_KEY) or {}
            texts = json.loads(found.get(_WATERMARKS_KEY, "{}"))
            self._watermarks = {
                name: Watermark(c, Position.parse(p), has_unconfirmed)
                for name, (c, p, has_unconfirmed) in texts.items()
            }
        return self._watermarks


def _format(watermarks: dict[str, Watermark]) -> str:
    return json.dumps(
        {name: (m.commit, m.position.to_text(), m.has_unconfirmed) for name, m in watermarks.items()}
    )


def build_table_ledger(
    name: str,
    ledger: WritableStates,
    table: CommittedTable,
    events: EventLog,
    local: LocalStates,
    clock: Callable[[], float],
    bugs: Bugs,
) -> TableLedger:
    """Builds the real ledger on simulated tables."""
    build = _SpoiltLedger if bugs else TableLedger
    found = build(name, ledger, table, events, local, clock)
    if isinstance(found, _SpoiltLedger):
        found.bugs = bugs
    return found


def find_seen(
    tables: Mapping[TableKind, HudiTable[DataRow]], ledger: SimulatedLedger, events: EventLog
) -> dict[str, list[TableObservation]]:
    """Returns what each table found under a key."""
    seen: dict[str, list[TableObservation]] = {}
    for kind, table in tables.items():
        newest = load_newest_states(kind, ledger, table, events)
        for key, observation in ledger.find_seen(kind, newest.values()).items():
            seen.setdefault(key, []).append(observation)
    return seen


class _SpoiltLedger(TableLedger):
    """The real ledger with bugs that can be switched on."""

    bugs: Bugs = NO_BUGS

    @property
    def has_unconfirmed(self) -> bool:
        return self._has_unconfirmed if "looked_not_kept" in self.bugs else super().has_unconfirmed

    def find_states(self, object_ids: Collection[str]) -> dict[str, LedgerEntry]:
        found = super().find_states(object_ids)
        return {name: self._spoil(state) for name, state in found.items()}

    def _spoil(self, state: LedgerEntry) -> LedgerEntry:
        if "time_of_look_forgotten" in self.bugs:
            return replace(state, looked_at=None)
        if "empty_forgets_found" in self.bugs and state.reason == "empty_object":
            return replace(state, looked=False, looked_at=None)
        if "named_forgets_found" in self.bugs and state.status == "ingested" and not state.looked:
            return replace(state, looked_at=None)
        return state

    def build_metadata(self, outcomes: Sequence[ObjectOutcome] = ()) -> dict[str, str]:
        built = super().build_metadata(outcomes)
        return built | (
            {OUTCOMES_KEY: encode_outcomes(outcomes)} if "outcomes_not_carried" in self.bugs else {}
        )

    def _follow(self, known: Watermark | None, end: Watermark) -> bool:
        if "stale_copy_used" in self.bugs and known is not None:
            self._local.put((), end)
            return True
        return super()._follow(known, end)

    def _catch_up(self, watermark: Watermark) -> None:
        if "catch_up_skipped" not in self.bugs:
            super()._catch_up(watermark)
