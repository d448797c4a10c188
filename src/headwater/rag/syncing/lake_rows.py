"""Reads changed rows of the data table with hudi-rs, and splits them as the indexer does: no JVM."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from hudi import HudiFileSlice

from headwater.lake.layout import TableAddress
from headwater.lake.queries.changes import (
    KEY,
    PARTITION,
    ChangeSet,
    Part,
    compare_parts,
    identify,
    open_parts,
)
from headwater.lake.queries.history import Step, plan_steps
from headwater.lake.queries.planning import load_history_for
from headwater.lake.queries.query import Query
from headwater.lake.snapshot_reader import COMMIT_TIME, Scan, SnapshotReader
from headwater.rag.chunk import Chunk
from headwater.rag.documents import DocumentRules
from headwater.rag.index_rules import IndexRules
from headwater.rag.indexing.columns import IndexedColumn, list_columns
from headwater.rag.indexing.comparing import choose_newest
from headwater.rag.indexing.stages import SplitRows
from headwater.rag.syncing.ahead import MOST_AHEAD, NewRows

MOST_BYTES = 64 << 20
"""Maximum size of the changed file groups, and of all files of the table if rows of a removed one's key are
looked for: beyond it, the chunks are as soon there."""
_META = (PARTITION, KEY, COMMIT_TIME)
_SOURCE_SEPARATOR = "\x1f"


@dataclass(frozen=True, slots=True)
class _Table:
    """What a row becomes."""

    columns: Mapping[str, IndexedColumn]
    documents: DocumentRules
    completed: Mapping[str, str]


class LakeRows:
    """Changed rows as `RowSource`. Without a JVM, the condition `search.where` cannot be evaluated: with one,
    and for keys other than texts and integers, rows have to be taken from the chunks."""

    def __init__(self, address: TableAddress, rules: IndexRules, model: str) -> None:
        self._address = address
        self._rules = rules
        self._model = model
        self._skipped = ("", "")

    def read_after(self, as_of: str) -> NewRows | None:
        """See `RowSource`."""
        reader = SnapshotReader(self._address.path, self._address.storage_options)
        newest = reader.commit_names[-1].completed if reader.commit_names else ""
        if self._rules.search.where or not as_of or newest <= as_of or self._skipped == (as_of, newest):
            return None
        files = reader.open_files()
        with reader.explained():
            history = load_history_for(Query.changes(as_of), reader.path, files)
            steps = plan_steps(history, as_of, "", per_commit=False)
        found = self._read(reader.reopen(), steps[-1]) if steps else None
        if found is None:
            self._skipped = (as_of, newest)
        return found

    def _read(self, reader: SnapshotReader, step: Step) -> NewRows | None:
        earlier, later = open_parts(reader, step)
        if (
            not self._has_plain_keys(reader.schema)
            or _sum_sizes([*earlier.slices, *later.slices]) > MOST_BYTES
        ):
            return None
        changes = compare_parts(step, earlier, later)
        if len(changes) > MOST_AHEAD:
            return None
        table = self._describe(reader)
        written = self._mark(changes.written, table)
        touched = {row["row_key"] for row in written}.union(self._name(changes.deleted).to_pylist())
        if self._rules.can_repeat:
            touched |= self._find_replaced(earlier, changes)
        touched.discard(None)
        chunks = self._split(written, table)
        given_up = touched - {row["row_key"] for row in chunks}
        if self._rules.can_repeat and given_up:
            others = self._find_others(reader, later.snapshot, given_up, table)
            if others is None:
                return None
            chunks = choose_newest([*chunks, *self._split(others, table)])
        found: dict[str, list[Chunk]] = {key: [] for key in touched}
        for row in chunks:
            found[row["row_key"]].append(_to_chunk(row))
        return NewRows(step.after.completed, found)

    def _has_plain_keys(self, schema: pa.Schema) -> bool:
        """True if Spark writes the key columns as texts in the same way."""
        types = [schema.field(name).type if name in schema.names else pa.null() for name in self._rules.key]
        return all(pa.types.is_string(one) or pa.types.is_integer(one) for one in types)

    def _describe(self, reader: SnapshotReader) -> _Table:
        columns = list_columns(reader.schema)
        self._rules.check_columns(list(dict.fromkeys([*reader.schema.names, *columns])))
        completed = {commit.requested: commit.completed for commit in reader.commit_names}
        return _Table(columns, self._rules.build_document_rules(list(columns)), completed)

    def _mark(self, rows: pa.Table, table: _Table) -> list[dict[str, Any]]:
        """Return the rows as `SplitRows` takes them."""
        search = self._rules.search
        tenant = [search.tenant] if search.tenant else []
        wanted = dict.fromkeys((*search.text, *table.documents.fields, *tenant))
        columns = {name: table.columns.get(name) for name in wanted}
        return [
            {
                **{name: column.pick(row) if column else row.get(name) for name, column in columns.items()},
                "row_key": row_key,
                "source_key": _SOURCE_SEPARATOR.join((row[PARTITION] or "", row[KEY])),
                "commit": row[COMMIT_TIME],
                "is_wanted": row_key is not None and row.get(self._rules.removed_at) is None,
            }
            for row, row_key in zip(rows.to_pylist(), self._name(rows).to_pylist(), strict=True)
        ]

    def _name(self, rows: pa.Table) -> pa.ChunkedArray:
        """Return the key of each row; null for a row without one."""
        return pc.binary_join_element_wise(*(rows[name].cast(pa.string()) for name in self._rules.key), "#")

    def _split(self, rows: Iterable[Mapping[str, Any]], table: _Table) -> list[dict[str, Any]]:
        search = self._rules.search
        split = SplitRows(table.documents, search.chunk, self._model, table.completed)
        found = [row for row in split.split(rows).to_pylist() if row["row_key"] is not None]
        return choose_newest(found) if self._rules.can_repeat else found

    def _find_replaced(self, earlier: Part, changes: ChangeSet) -> set[str | None]:
        """Return the keys that rewritten rows had before."""
        rows = earlier.read([*_META, *self._rules.key])
        is_rewritten = pc.is_in(identify(rows, 2), value_set=identify(changes.written, 2))
        return set(self._name(rows.filter(is_rewritten)).to_pylist())

    def _find_others(
        self, reader: SnapshotReader, snapshot: str, keys: Collection[str], table: _Table
    ) -> list[dict[str, Any]] | None:
        """Return all rows with one of the keys; None for a table that is too large."""
        scan = Scan(snapshot)
        slices = reader.list_slices(scan)
        if _sum_sizes(slices) > MOST_BYTES:
            return None
        wanted = pa.array(sorted(keys), pa.string())
        found: list[dict[str, Any]] = []
        for one in slices:
            names = self._name(reader.read_slices([one], scan, self._rules.key))
            if pc.any(pc.is_in(names, value_set=wanted)).as_py():
                rows = reader.read_slices([one], scan)
                found += self._mark(rows.filter(pc.is_in(self._name(rows), value_set=wanted)), table)
        return found


def _sum_sizes(slices: Iterable[HudiFileSlice]) -> int:
    return sum(one.total_size_bytes() for one in slices)


def _to_chunk(row: Mapping[str, Any]) -> Chunk:
    return Chunk(
        chunk_id=row["chunk_id"],
        row_key=row["row_key"],
        chunk_number=row["chunk_number"],
        text=row["text"],
        content_hash=row["content_hash"],
        fields=row["fields"],
        fields_hash=row["fields_hash"],
        tenant=row["tenant"],
        vector=(),
        source_key=row["source_key"],
        instant=row["instant"],
        content_revision=0,
    )
