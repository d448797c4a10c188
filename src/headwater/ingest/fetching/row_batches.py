"""Collects rows of many objects into record batches of bounded size."""

from collections.abc import Iterator, Sequence

import pyarrow as pa

from headwater.ingest.fetching.outcome_rows import OUTCOME_TYPE, FetchOutcome, to_arrow

MAX_BATCH_ROWS = 10_000
MAX_BATCH_BYTES = 8 * 1024 * 1024


class RowBatches:
    """Rows first, then the outcomes of the objects that they complete.

    With `rescues` there is a further column, `rescued`: JSON of a row's fields without a column.
    """

    def __init__(self, value_type: pa.DataType, *, rescues: bool = False) -> None:
        self._schema = pa.schema(
            [
                ("object_index", pa.int32()),
                ("row_number", pa.int64()),
                ("value", value_type),
                ("outcome", OUTCOME_TYPE),
                *([("rescued", pa.string())] if rescues else []),
            ]
        )
        self._rescues = rescues
        self._rows = self._bytes = 0
        self._clear()

    def add(
        self,
        object_index: int,
        numbers: Sequence[int],
        values: pa.Array,
        outcome: FetchOutcome,
        rescued: Sequence[str | None] = (),
    ) -> Iterator[pa.RecordBatch]:
        """Add one object; yields the full batches. `rescued` is empty if nothing is rescued."""
        start = 0
        for piece in _split(values):
            if self._rows and not self._has_room(piece):
                yield self.build()
            self._pieces.append(piece)
            self._indexes += [object_index] * len(piece)
            self._numbers += numbers[start : start + len(piece)]
            if self._rescues:
                self._rescued += rescued[start : start + len(piece)] or [None] * len(piece)
            self._rows, self._bytes = self._rows + len(piece), self._bytes + piece.nbytes
            start += len(piece)
        self._outcome_indexes.append(object_index)
        self._outcomes.append(outcome)
        if len(self._outcomes) >= MAX_BATCH_ROWS:
            yield self.build()

    def build(self) -> pa.RecordBatch:
        """Return everything collected since the last batch; may be empty."""
        no_rows, no_outcomes = pa.nulls(self._rows, OUTCOME_TYPE), len(self._outcomes)
        value_type = self._schema.field("value").type
        columns = [
            pa.array(self._indexes + self._outcome_indexes, pa.int32()),
            pa.array(self._numbers + [None] * no_outcomes, pa.int64()),
            pa.concat_arrays([*self._pieces, pa.nulls(no_outcomes, value_type)]),
            pa.concat_arrays([no_rows, to_arrow(self._outcomes)]),
        ]
        if self._rescues:
            columns.append(pa.array(self._rescued + [None] * no_outcomes, pa.string()))
        self._clear()
        return pa.RecordBatch.from_arrays(columns, schema=self._schema)

    def _has_room(self, piece: pa.Array) -> bool:
        rows, size = self._rows + len(piece), self._bytes + int(piece.nbytes)
        return rows <= MAX_BATCH_ROWS and size <= MAX_BATCH_BYTES

    def _clear(self) -> None:
        self._pieces: list[pa.Array] = []
        self._indexes: list[int] = []
        self._numbers: list[int | None] = []
        self._rescued: list[str | None] = []
        self._outcome_indexes: list[int] = []
        self._outcomes: list[FetchOutcome] = []
        self._rows = self._bytes = 0


def _split(values: pa.Array) -> Iterator[pa.Array]:
    """Yield slices of about the maximum batch size; never splits a row."""
    if not len(values):
        return
    rows_by_bytes = len(values) * MAX_BATCH_BYTES // max(values.nbytes, 1)
    step = max(1, min(MAX_BATCH_ROWS, rows_by_bytes))
    for start in range(0, len(values), step):
        yield values.slice(start, step)
