"""Reads the chunks table with hudi-rs: no JVM."""

from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from itertools import pairwise
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from headwater.errors import IndexNotFoundError
from headwater.lake.snapshot_reader import SnapshotReader
from headwater.rag.chunk import Chunk
from headwater.rag.index_state import IndexState, metadata_key, parse_index_state
from headwater.rag.syncing.position import SyncPosition
from headwater.rag.vector_stores.protocol import PointState

_STATE_COLUMNS = ("fingerprint", "chunk_id", "row_key", "content_hash", "fields_hash", "deleted")
CHUNK_COLUMNS = (
    *_STATE_COLUMNS,
    "chunk_number",
    "text",
    "fields",
    "tenant",
    "vector",
    "source_key",
    "instant",
    "content_revision",
)


class LakeChunks:
    """The chunks of one fingerprint in the lake."""

    def __init__(self, path: str, fingerprint: str, storage_options: Mapping[str, str]) -> None:
        self._path = path
        self._fingerprint = fingerprint
        self._options = storage_options

    def read_snapshot(self) -> "LakeSnapshot":
        """Return the current snapshot.

        Raises `LakeError`, and `IndexNotFoundError` when nothing has been indexed.
        """
        reader = SnapshotReader(self._path, self._options)
        state = self.find_state(reader)
        if state is None:
            raise IndexNotFoundError(
                f"{self._path}: no chunks for the configured model, text columns and chunk sizes",
                hint="create them with `headwater index build`; `headwater run` keeps them up to date",
            )
        return LakeSnapshot(reader, self._fingerprint, state)

    def find_state(self, reader: SnapshotReader | None = None) -> IndexState | None:
        """Return the newest commit's state; None when nothing has been indexed."""
        reader = reader or SnapshotReader(self._path, self._options)
        if not reader.exists():
            return None
        return parse_index_state(reader.find_metadata(metadata_key(self._fingerprint)), self._fingerprint)


class LakeSnapshot:
    """One snapshot of the table."""

    def __init__(self, reader: SnapshotReader, fingerprint: str, state: IndexState) -> None:
        self._reader = reader
        self._fingerprint = fingerprint
        self.state = state

    @cached_property
    def position(self) -> SyncPosition:
        """Return the snapshot's offset."""
        completed = self._reader.commit_names[-1].completed
        return SyncPosition(self.state.table_id, completed, self.state.revision, self.state.as_of)

    def iter_changes(self, since: SyncPosition) -> Iterator[Chunk] | None:
        """Yield chunks written after `since`; None when commits since then have left the timeline, or deleted
        chunks were purged."""
        first = self._reader.commit_names[0].completed
        is_covered = (
            since.table_id == self.state.table_id
            and max(first, self.state.purged) <= since.completed <= self.position.completed
        )
        if not is_covered:
            return None
        rows = self._reader.read_since(since.completed, CHUNK_COLUMNS)
        return parse_chunks(rows.filter(pc.equal(rows.column("fingerprint"), self._fingerprint)))

    def iter_chunks(self, chunk_ids: Collection[str] | None) -> Iterator[Chunk]:
        """Yield the chunks with these ids, without those that do not exist; all if None."""
        if chunk_ids is not None and not chunk_ids:
            return iter(())
        found = select_present(self._reader.read(CHUNK_COLUMNS), self._fingerprint)
        if chunk_ids is None:
            return parse_chunks(found)
        wanted = pc.is_in(found.column("chunk_id"), value_set=pa.array(chunk_ids, pa.string()))
        return parse_chunks(found.filter(wanted))

    def iter_states(self) -> Iterator[PointState]:
        """Yield the states of all existing chunks, by id."""
        found = select_present(self._reader.read(_STATE_COLUMNS), self._fingerprint).sort_by("chunk_id")
        names = ("chunk_id", "row_key", "content_hash", "fields_hash")
        for batch in found.select(names).to_batches():
            columns = [column.to_pylist() for column in batch.columns]
            yield from (PointState(*values) for values in zip(*columns, strict=True))


def select_present(rows: pa.Table, fingerprint: str) -> pa.Table:
    """Return rows of the fingerprint that are not deleted."""
    is_own = pc.equal(rows.column("fingerprint"), fingerprint)
    return rows.filter(pc.and_(is_own, pc.invert(rows.column("deleted"))))


def parse_chunks(rows: pa.Table) -> Iterator[Chunk]:
    """Parse rows of `CHUNK_COLUMNS`."""
    for batch in rows.to_batches(max_chunksize=4_096):
        yield from _parse_batch(batch)


def _parse_batch(batch: pa.RecordBatch) -> Iterator[Chunk]:
    names = [name for name in CHUNK_COLUMNS if name not in ("fingerprint", "vector")]
    columns = {name: batch.column(name).to_pylist() for name in names}
    vectors = _read_vectors(batch.column("vector"))
    for at, values in enumerate(zip(*columns.values(), strict=True)):
        plain: dict[str, Any] = dict(zip(names, values, strict=True))
        plain["text"] = plain["text"] or ""
        yield Chunk(**plain, vector=vectors[at])


def _read_vectors(column: pa.Array) -> list[Any]:
    """Return the vectors as numpy rows: one object per number would cost more than everything else."""
    offsets = column.offsets.to_pylist()
    numbers = column.values.to_numpy(zero_copy_only=False)
    return [numbers[start:end] for start, end in pairwise(offsets)]
