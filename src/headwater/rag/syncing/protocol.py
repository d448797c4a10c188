"""The interface of chunk sources: immutable snapshots, one at a time."""

from collections.abc import Collection, Iterator, Mapping
from typing import Protocol

from headwater.rag.chunk import Chunk
from headwater.rag.field_value import FieldValue
from headwater.rag.lexical.sparse_vector import SparseVector
from headwater.rag.syncing.position import SyncPosition
from headwater.rag.vector_stores.protocol import PointState


class ChunkSnapshot(Protocol):
    """A snapshot of all chunks of one fingerprint. Raises `HeadwaterError` when they cannot be read."""

    @property
    def position(self) -> SyncPosition:
        """Return the snapshot's offset."""
        ...

    def iter_changes(self, since: SyncPosition) -> Iterator[Chunk] | None:
        """Yield the current state of all chunks written after `since`, including deleted ones.

        None when they are no longer known; the caller then has to compare everything.
        """
        ...

    def iter_chunks(self, chunk_ids: Collection[str] | None) -> Iterator[Chunk]:
        """Yield the chunks with these ids, without those that do not exist; all if None. Unordered."""
        ...

    def iter_states(self) -> Iterator[PointState]:
        """Yield the states of all existing chunks, in the order of their ids."""
        ...


class ChunkSource(Protocol):
    """A source of chunks."""

    def read_snapshot(self) -> ChunkSnapshot:
        """Return the current snapshot. Raises `IndexNotFoundError` when nothing has been indexed."""
        ...


class PassageEncoder(Protocol):
    """Encodes texts as sparse vectors and as stems; pure and thread-safe."""

    def encode_passage(
        self, text: str, fields: Mapping[str, FieldValue] | None = None
    ) -> Mapping[str, SparseVector]:
        """Return vectors by name; they depend only on the text and on `list_keywords(fields)`."""
        ...

    def encode_stems(self, text: str) -> str:
        """Return the text for `Point.stems`."""
        ...
