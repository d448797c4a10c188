"""What a sync asks of the chunks: one look at a time, which does not change after it was taken."""

from collections.abc import Collection, Iterator, Mapping
from typing import Protocol

from headwater.rag.chunk import Chunk
from headwater.rag.field_value import FieldValue
from headwater.rag.lexical.sparse_vector import SparseVector
from headwater.rag.syncing.position import SyncPosition
from headwater.rag.vector_stores.protocol import PointState


class ChunkLook(Protocol):
    """All chunks of one fingerprint at one time. Raises `HeadwaterError` when they cannot be read."""

    @property
    def position(self) -> SyncPosition:
        """What it holds."""
        ...

    def iter_changes(self, since: SyncPosition) -> Iterator[Chunk] | None:
        """The present state, deleted ones included, of all chunks written behind `since`; None when that
        cannot be told any more: then only a comparison helps."""
        ...

    def iter_chunks(self, chunk_ids: Collection[str] | None) -> Iterator[Chunk]:
        """Those of the chunks that are there, or all of them, in no order."""
        ...

    def iter_states(self) -> Iterator[PointState]:
        """All chunks that are there, in the order of their ids."""
        ...


class ChunkSource(Protocol):
    """Where chunks come from."""

    def look(self) -> ChunkLook:
        """What is there now. Raises `IndexNotFoundError` when nothing was ever indexed."""
        ...


class PassageEncoder(Protocol):
    """Texts as sparse vectors and as stems; pure and thread-safe."""

    def encode_passage(
        self, text: str, fields: Mapping[str, FieldValue] | None = None
    ) -> Mapping[str, SparseVector]:
        """Vectors by name; they hang on the text and on `list_keywords(fields)` only."""
        ...

    def encode_stems(self, text: str) -> str:
        """`Point.stems`."""
        ...
