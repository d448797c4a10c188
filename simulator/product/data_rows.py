"""A data table's rows and the effect of a batch on them: `ingest.writing.table_writer` without Spark."""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Literal, NamedTuple

from headwater.capture.position import BEGINNING, Position
from headwater.ingest.planning.fold import FoldRules
from headwater.ingest.planning.outcome import CHECKPOINT, ContentState
from headwater.ingest.planning.outdated import ContentWrite, Outdated, choose_replaced
from headwater.ingest.planning.verification import TableRules, WriteCounts
from headwater.sources.object_event import ObjectEvent
from headwater.sources.object_store import ObjectRef
from simulator.bugs import Bugs
from simulator.outside.bucket import BUCKET
from simulator.outside.crash import Crashes
from simulator.outside.hudi import HudiTable, Write
from simulator.product.events_table import SimulatedEventsTable
from simulator.product.reading import ReadBatch

TableKind = Literal["mirror", "append", "merge"]

RULES: Mapping[TableKind, FoldRules] = {
    "mirror": FoldRules(mirrors=True),
    "append": FoldRules(),
    "merge": FoldRules(merges=True),
}


class DataRow(NamedTuple):
    """`number` is the row number in its object, from 1."""

    key: str
    number: int
    text: str
    version: str
    event_id: str
    event_time: datetime


class OutdatedRows(NamedTuple):
    """See `headwater.ingest.writing.retraction.OutdatedRows`."""

    event: ObjectEvent
    event_ids: frozenset[str] | None = None

    def includes(self, row: DataRow) -> bool:
        return self.event_ids is None or row.event_id in self.event_ids


class SimulatedRows:
    """One process's view of a data table; see `headwater.ingest.ports.Rows`."""

    def __init__(
        self,
        kind: TableKind,
        table: HudiTable[DataRow],
        events: SimulatedEventsTable,
        crashes: Crashes,
        bugs: Bugs,
        on_forget: Callable[[], None],
    ) -> None:
        self._kind = kind
        self._table = table
        self._events = events
        self._crashes = crashes
        self._bugs = bugs
        self._on_forget = on_forget
        self._checkpoint: Position | None = None

    def load_checkpoint(self) -> Position:
        if self._checkpoint is None:
            found = self._table.load_timeline().find_metadata(CHECKPOINT)
            self._checkpoint = Position.parse(found[CHECKPOINT]) if found else BEGINNING
            self._crashes.at("checkpoint read")
        return self._checkpoint

    def check_backlog(self) -> None:
        """Table services run with the writes here."""

    def find_ingested(self, refs: Sequence[ObjectRef]) -> dict[ContentState, int]:
        if not refs or not self._table.exists:
            return {}
        counts = count_rows(self._table.read(), {ref.key for ref in refs})
        return {
            (BUCKET, key, version): writes[-1]
            for key, by_version in counts.items()
            for version, writes in by_version.items()
        }

    def write(
        self,
        read: ReadBatch | None,
        outdated: Sequence[Outdated],
        checkpoint: Position,
        metadata: Mapping[str, str],
        *,
        is_new: bool,
    ) -> bool:
        outdated_rows = [self._build_outdated_rows(entry) for entry in outdated]
        write = plan_write(self._kind, self._table, build_rows(read), outdated_rows, is_new=is_new)
        if write is None:
            return False
        self._crashes.at("data to be written")
        self._commit(write, checkpoint, metadata)
        return True

    def write_checkpoint(self, checkpoint: Position, build_metadata: Callable[[], Mapping[str, str]]) -> bool:
        if checkpoint == self.load_checkpoint() or not self._table.exists:
            return False
        self._commit(Write(), checkpoint, build_metadata())
        return True

    def _commit(self, write: Write[DataRow], checkpoint: Position, carried: Mapping[str, str]) -> None:
        metadata = {CHECKPOINT: checkpoint.to_text(), **carried}
        if "checkpoint_apart" in self._bugs:
            self._table.write(Write(metadata={CHECKPOINT: checkpoint.to_text()}))
        if "retraction_apart" in self._bugs and write.deletes and write.rows:
            self._table.write(replace(write, deletes=(), metadata=metadata))
            write, metadata = Write(deletes=write.deletes), {}
        self._table.write(replace(write, metadata=metadata))
        self._checkpoint = checkpoint

    def _build_outdated_rows(self, entry: Outdated) -> OutdatedRows:
        event = entry.outcome.stored.event
        if not entry.is_replaced or RULES[self._kind].mirrors:
            return OutdatedRows(event)
        rows = self._table.read() if self._table.exists else ()
        writes = list_writes(rows, event.key)
        announced = self._events.count_puts(event.key, writes)
        return OutdatedRows(event, choose_replaced(writes, announced, entry.outcome.version))

    def forget(self) -> None:
        self._checkpoint = None
        self._on_forget()


def build_rows(read: ReadBatch | None) -> list[DataRow]:
    return [
        DataRow(event.key, number, text, outcome.version, outcome.stored.event_id, event.event_time)
        for at, outcome in (read.outcomes if read else ())
        for event in (outcome.stored.event,)
        if outcome.status == "ingested"
        for number, text in enumerate(read.lines.get(at, ()) if read else (), 1)
    ]


def record_key(kind: TableKind, row: DataRow) -> Hashable:
    """Returns the key that identifies a row of the table."""
    if kind == "mirror":
        return (row.key, row.number)
    if kind == "append":
        return (row.event_id, row.number)
    return f"{row.key}#{row.number}"


def plan_write(
    kind: TableKind,
    table: HudiTable[DataRow],
    rows: Sequence[DataRow],
    outdated_rows: Sequence[OutdatedRows],
    *,
    is_new: bool,
) -> Write[DataRow] | None:
    """Plans the write of one batch; None if there is nothing to write. Raises `LakeError`."""
    if not table.exists:
        outdated_rows = ()
    if not rows and not outdated_rows:
        return None
    placed = [(record_key(kind, row), row) for row in _order(kind, table, rows)]
    if not outdated_rows:
        insert = kind == "append" or (kind == "mirror" and is_new)
        return Write(placed, insert=insert)
    by_key: dict[str, list[OutdatedRows]] = {}
    for entry in outdated_rows:
        by_key.setdefault(entry.event.key, []).append(entry)
    stored = [row for row in table.read() for entry in by_key.get(row.key, ()) if entry.includes(row)]
    # Of two rows with one key, the write keeps the newer one.
    rewritten = {key for key, _ in placed}
    return Write(placed, [key for row in stored if (key := record_key(kind, row)) not in rewritten])


def _order(kind: TableKind, table: HudiTable[DataRow], rows: Sequence[DataRow]) -> list[DataRow]:
    """Orders rows so that in a merge the row of the newer event wins, regardless of arrival."""
    if kind != "merge":
        return list(rows)
    kept = []
    for row in sorted(rows, key=lambda row: row.event_time):
        found = table.find(record_key(kind, row))
        if found is None or found.event_time <= row.event_time:
            kept.append(row)
    return kept


def list_writes(rows: Iterable[DataRow], key: str) -> list[ContentWrite]:
    """Lists the writes of one object: see `headwater.ingest.writing.stored_contents`."""
    counts: Counter[tuple[str, str, int]] = Counter()
    for row in rows:
        if row.key == key:
            counts[row.version, row.event_id, int(row.event_time.timestamp() * 1e6)] += 1
    return [ContentWrite(*write, count) for write, count in counts.items()]


def count_rows(rows: Iterable[DataRow], keys: Collection[str] | None = None) -> dict[str, WriteCounts]:
    """Counts rows by key, of these or all keys: see `headwater.ingest.writing.stored_contents`."""
    counts: dict[str, dict[str, Counter[str]]] = {}
    for row in rows:
        if keys is None or row.key in keys:
            counts.setdefault(row.key, {}).setdefault(row.version, Counter())[row.event_id] += 1
    return {key: {name: list(c.values()) for name, c in found.items()} for key, found in counts.items()}


def build_rules(kind: TableKind) -> TableRules:
    """Builds the rules for queries on the table's rows: see `headwater.app.objects.streams`."""
    rules = RULES[kind]
    return TableRules(
        follows_removals=rules.mirrors,
        counts_rows=not rules.merges,
        adds_rows=not (rules.merges or rules.mirrors),
    )
