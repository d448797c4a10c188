"""Unwraps envelopes with typed columns (Avro, Parquet, ORC) to rows."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headwater.errors import ObjectUnreadableError
from headwater.ingest.formats import markers
from headwater.ingest.formats.envelopes.envelope import CHANGE, FAULT, SEQUENCE_TEXT, Envelope
from headwater.ingest.formats.envelopes.sequence import SequenceError, join_sequence
from headwater.ingest.formats.envelopes.texts import (
    UNAVAILABLE,
    describe_others,
    find_old_key,
    find_sequence,
    is_notice,
    list_table_names,
)

_OF_NOTICES = ("source", "table", "database", "commit", "ddl", "databaseName", "status", "id")


@dataclass(frozen=True, slots=True)
class _Row:
    """A record to build: the kind, the place of its envelope, and which of its rows it has."""

    kind: str
    sequence: str
    place: int
    is_before: bool = False


def unwrap_schema(uri: str, schema: pa.Schema, envelope: Envelope) -> pa.Schema:
    """Return the columns of the rows. Raises `ObjectUnreadableError` if no field is the row."""
    return pa.schema(_list_fields(uri, schema, envelope))


def unwrap_table(uri: str, table: pa.Table, envelope: Envelope) -> tuple[pa.Table, Sequence[int], str]:
    """Return the rows with `CHANGE` and `SEQUENCE_TEXT`, the numbers of their envelopes from 1, and a note.

    Otherwise as `unwrap_lines`; a record that cannot be applied has a fault as its change. Raises
    `ObjectUnreadableError` if no field is the row.
    """
    fields = _list_fields(uri, table.schema, envelope)
    after = _flatten(table, envelope.after, fields)
    before = _flatten(table, envelope.before, fields)
    reader = _Reader(table, envelope, _find_unavailable(after))
    rows = [row for at in range(table.num_rows) for row in reader.read(at)]
    places = [row.place + table.num_rows * row.is_before for row in rows]
    taken = pa.concat_tables([after, before]).take(pa.array(places, pa.int64()))
    taken = taken.append_column(CHANGE, pa.array([row.kind for row in rows], pa.string()))
    taken = taken.append_column(SEQUENCE_TEXT, pa.array([row.sequence for row in rows], pa.string()))
    return taken, [row.place + 1 for row in rows], describe_others(reader.others)


class _Reader:
    """Reads the envelopes of one table of columns."""

    def __init__(self, table: pa.Table, envelope: Envelope, lacking: frozenset[int]) -> None:
        self._envelope = envelope
        self._lacking = lacking
        self.others: Counter[str] = Counter()
        wanted = {envelope.op, *_OF_NOTICES, *(path.partition(".")[0] for path in envelope.sequence)}
        self._names = table.column_names
        self._columns = {name: table.column(name).to_pylist() for name in self._names if name in wanted}
        for name in {envelope.before, envelope.after} & {*self._names}:
            self._columns[name] = _list_keys(table.column(name), envelope.keys)

    def read(self, at: int) -> Iterator[_Row]:
        """Yield the records of one envelope."""
        values = {name: column[at] for name, column in self._columns.items()}

        def find(path: str) -> Any:
            name, *below = path.split(".")
            value = values.get(name)
            for part in below:
                value = value.get(part) if isinstance(value, dict) else None
            return value

        envelope = self._envelope
        operation = find(envelope.op)
        if operation is None and is_notice({name: values.get(name) for name in self._names}):
            return
        kind = envelope.kinds.get(operation) if isinstance(operation, str) else None
        if kind == "ignore":
            return
        if kind and envelope.table and envelope.table not in (names := list_table_names(find)):
            self.others[names[-1]] += 1
            return
        try:
            sequence = join_sequence(find_sequence(find, envelope.sequence))
        except SequenceError:
            yield _build_fault(at, markers.BAD_SEQUENCE)
            return
        yield from self._build(at, kind, sequence, find(envelope.before), find(envelope.after))

    def _build(self, at: int, kind: str | None, sequence: str, before: Any, after: Any) -> Iterator[_Row]:
        if kind is None:
            yield _build_fault(at, markers.UNKNOWN_CHANGE)
        elif kind == "truncate":
            yield _Row(kind, sequence, at)
        elif after is None and not (kind == "delete" and before is not None):
            yield _build_fault(at, markers.NO_ROW)
        elif kind == "delete":
            yield _Row(kind, sequence, at, is_before=before is not None)
        elif at in self._lacking:
            yield _build_fault(at, markers.UNAVAILABLE_VALUE)
        else:
            if before is not None and find_old_key(before, after, self._envelope.keys):
                yield _Row("delete", sequence, at, is_before=True)
            yield _Row(kind, sequence, at)


def _list_keys(column: pa.ChunkedArray, keys: Sequence[str]) -> list[dict[str, Any] | None]:
    """Return the key of each row; None for a null instead of a row."""
    rows = column.combine_chunks()
    if not pa.types.is_struct(rows.type):
        return [None] * len(rows)
    parts = [rows.field(key).to_pylist() for key in keys if rows.type.get_field_index(key) >= 0]
    named = [key for key in keys if rows.type.get_field_index(key) >= 0]
    present = rows.is_valid().to_pylist()
    return [
        {name: part[at] for name, part in zip(named, parts, strict=True)} if is_row else None
        for at, is_row in enumerate(present)
    ]


def _build_fault(at: int, marker: str) -> _Row:
    return _Row(FAULT + markers.REASONS[marker], "", at)


def _list_fields(uri: str, schema: pa.Schema, envelope: Envelope) -> list[pa.Field]:
    """Return the fields of the row after a change, and further ones of the row before."""
    kinds = [schema.field(name).type for name in (envelope.after, envelope.before) if name in schema.names]
    fields = [field for kind in kinds if pa.types.is_struct(kind) for field in kind]
    if not fields:
        raise ObjectUnreadableError(
            f"{uri} has no column {envelope.after!r} with the row after a change",
            hint="see `changes` of the table: without `after`, records are rows",
        )
    found: dict[str, pa.Field] = {}
    for field in fields:
        found.setdefault(field.name, field.with_nullable(True))
    return list(found.values())


def _flatten(table: pa.Table, name: str, fields: Sequence[pa.Field]) -> pa.Table:
    column = table.column(name).combine_chunks() if name in table.column_names else None
    if column is None or not pa.types.is_struct(column.type):
        return pa.table([pa.nulls(table.num_rows, f.type) for f in fields], schema=pa.schema(fields))
    parts = dict(zip((f.name for f in column.type), column.flatten(), strict=True))
    arrays = [
        parts[f.name].cast(f.type) if f.name in parts else pa.nulls(table.num_rows, f.type) for f in fields
    ]
    return pa.table(arrays, schema=pa.schema(fields))


def _find_unavailable(rows: pa.Table) -> frozenset[int]:
    found: set[int] = set()
    for column in rows.columns:
        if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
            value: str | bytes = UNAVAILABLE[0]
        elif pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
            value = UNAVAILABLE[0].encode()
        else:
            continue
        found.update(pc.indices_nonzero(pc.equal(column, value).combine_chunks()).to_pylist())
    return frozenset(found)
