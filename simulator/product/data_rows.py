"""A data table's rows, and what one batch does to them: `headwater.ingest.table_writer` without Spark."""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Literal, NamedTuple

from headwater.capture.object_event import ObjectEvent
from headwater.ingest.planning.fold import FoldRules
from headwater.ingest.planning.outcome import ObjectOutcome
from headwater.ingest.planning.outdated import ContentWrite
from headwater.ingest.planning.verification import TableRules, WriteCounts
from simulator.outside.hudi import HudiTable, Write
from simulator.product.reading import ReadObject

TableKind = Literal["mirror", "append", "merge"]

RULES: Mapping[TableKind, FoldRules] = {
    "mirror": FoldRules(mirrors=True),
    "append": FoldRules(),
    "merge": FoldRules(merges=True),
}


class DataRow(NamedTuple):
    """`number` is the row's place in its object, from 1."""

    key: str
    number: int
    text: str
    version: str
    event_id: str
    event_time: datetime


class Gone(NamedTuple):
    """See `headwater.ingest.retraction.Gone`."""

    event: ObjectEvent
    event_ids: frozenset[str] | None = None

    def includes(self, row: "DataRow") -> bool:
        return self.event_ids is None or row.event_id in self.event_ids


def build_rows(objects: Sequence[ReadObject]) -> list[DataRow]:
    return [
        DataRow(
            event.key, number, text, found.outcome.version, found.outcome.stored.event_id, event.event_time
        )
        for found in objects
        for event in (found.outcome.stored.event,)
        if found.outcome.status == "ingested"
        for number, text in enumerate(found.lines, 1)
    ]


def record_key(kind: TableKind, row: DataRow) -> Hashable:
    """What tells a row from others of the table."""
    if kind == "mirror":
        return (row.key, row.number)
    if kind == "append":
        return (row.event_id, row.number)
    return f"{row.key}#{row.number}"


def plan_write(
    kind: TableKind, table: HudiTable[DataRow], rows: Sequence[DataRow], gone: Sequence[Gone], *, is_new: bool
) -> Write[DataRow] | None:
    """The write of one batch; None when there is nothing to write. Raises `LakeError`."""
    if not table.exists:
        gone = ()
    if not rows and not gone:
        return None
    placed = [(record_key(kind, row), row) for row in _order(kind, table, rows)]
    if not gone:
        insert = kind == "append" or (kind == "mirror" and is_new)
        return Write(placed, insert=insert)
    by_key: dict[str, list[Gone]] = {}
    for entry in gone:
        by_key.setdefault(entry.event.key, []).append(entry)
    stored = [row for row in table.read() for entry in by_key.get(row.key, ()) if entry.includes(row)]
    # Of two rows with one key, the write keeps the newer.
    rewritten = {key for key, _ in placed}
    return Write(placed, [key for row in stored if (key := record_key(kind, row)) not in rewritten])


def _order(kind: TableKind, table: HudiTable[DataRow], rows: Sequence[DataRow]) -> list[DataRow]:
    """In a merge the row of the newer event wins, whatever comes last."""
    if kind != "merge":
        return list(rows)
    kept = []
    for row in sorted(rows, key=lambda row: row.event_time):
        found = table.find(record_key(kind, row))
        if found is None or found.event_time <= row.event_time:
            kept.append(row)
    return kept


def list_writes(rows: Iterable[DataRow], key: str) -> list[ContentWrite]:
    """The writes of one object: see `headwater.ingest.stored_contents`."""
    counts: Counter[tuple[str, str, int]] = Counter()
    for row in rows:
        if row.key == key:
            counts[row.version, row.event_id, int(row.event_time.timestamp() * 1e6)] += 1
    return [ContentWrite(*write, count) for write, count in counts.items()]


def count_rows(rows: Iterable[DataRow], keys: Collection[str] | None = None) -> dict[str, WriteCounts]:
    """By key, of these or of all: see `headwater.ingest.stored_contents`."""
    counts: dict[str, dict[str, Counter[str]]] = {}
    for row in rows:
        if keys is None or row.key in keys:
            counts.setdefault(row.key, {}).setdefault(row.version, Counter())[row.event_id] += 1
    return {key: {name: list(c.values()) for name, c in found.items()} for key, found in counts.items()}


def build_rules(kind: TableKind) -> TableRules:
    """What may be asked of the table's rows: see `headwater.app.objects.streams`."""
    rules = RULES[kind]
    return TableRules(
        follows_removals=rules.mirrors,
        counts_rows=not rules.merges,
        adds_rows=not (rules.merges or rules.mirrors),
    )


def describe(outcomes: Sequence[ObjectOutcome]) -> str:
    return " ".join(f"{o.stored.event.key}:{o.status}{'/' + o.reason if o.reason else ''}" for o in outcomes)
