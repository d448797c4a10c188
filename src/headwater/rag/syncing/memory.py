"""A chunks table in this process, for tests."""

import threading
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from headwater.errors import IndexNotFoundError
from headwater.rag.chunk import Chunk
from headwater.rag.syncing.position import SyncPosition
from headwater.rag.vector_stores.protocol import PointState


class MemoryChunks:
    """A chunks table in memory: commits, soft deletes, and purges of old deletes."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._rows: dict[str, tuple[int, Chunk]] = {}
        self._table_id = uuid.uuid4().hex
        self._revision = 0
        self._as_of = ""
        self._purged = 0

    @property
    def revision(self) -> int:
        """Return the revision of the newest commit."""
        return self._revision

    def commit(self, chunks: Iterable[Chunk], as_of: str) -> None:
        """Commit one indexing run: new, changed or deleted chunks."""
        with self._lock:
            self._revision += 1
            self._as_of = as_of
            self._rows |= {chunk.chunk_id: (self._revision, chunk) for chunk in chunks}

    def purge(self) -> None:
        """Purge deleted chunks; sync from earlier offsets then requires a comparison."""
        with self._lock:
            self._purged = self._revision
            self._rows = {key: row for key, row in self._rows.items() if not row[1].deleted}

    def read_snapshot(self) -> "MemorySnapshot":
        """Return the current snapshot."""
        with self._lock:
            if not self._revision:
                raise IndexNotFoundError("nothing has been indexed yet", hint="run headwater index build")
            position = SyncPosition(self._table_id, f"{self._revision:017}", self._revision, self._as_of)
            return MemorySnapshot(dict(self._rows), position, self._purged)


@dataclass(frozen=True, slots=True)
class MemorySnapshot:
    """A snapshot of the chunks."""

    rows: Mapping[str, tuple[int, Chunk]]
    position: SyncPosition
    purged: int

    def iter_changes(self, since: SyncPosition) -> Iterator[Chunk] | None:
        """Yield chunks written after `since`."""
        if since.table_id != self.position.table_id or since.revision < self.purged:
            return None
        return (chunk for revision, chunk in self.rows.values() if revision > since.revision)

    def iter_chunks(self, chunk_ids: Collection[str] | None) -> Iterator[Chunk]:
        """Yield the chunks with these ids, without those that do not exist; all if None."""
        found = (self.rows.get(chunk_id) for chunk_id in (self.rows if chunk_ids is None else chunk_ids))
        return (row[1] for row in found if row is not None and not row[1].deleted)

    def iter_states(self) -> Iterator[PointState]:
        """Yield the states of all existing chunks, by id."""
        return (self.rows[key][1].state for key in sorted(self.rows) if not self.rows[key][1].deleted)
