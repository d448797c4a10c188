"""Rows whose changes reach the index before the chunks table has them. Pure.

Committing chunks takes seconds. A server that syncs the index reads the data table's newest commits itself,
and writes points of their rows at once. The chunks remain the truth: as soon as they include a row's change,
the row follows them again. The checkpoint names the rows that are ahead, so that a process that knows nothing
else about them sets them back to their chunks.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from headwater.rag.chunk import Chunk
from headwater.rag.syncing.position import SyncPosition
from headwater.rag.vector_stores.protocol import Point, PointState

MOST_AHEAD = 1_000
"""Maximum number of rows ahead of the chunks: each is named in the checkpoint."""


@dataclass(frozen=True, slots=True)
class NewRows:
    """The state of changed rows as of a commit of the data table.

    `chunks` maps row keys to their chunks, without vectors; a removed row has none.
    """

    as_of: str
    chunks: Mapping[str, Sequence[Chunk]]


class RowSource(Protocol):
    """A source of changed rows."""

    def read_after(self, as_of: str) -> NewRows | None:
        """Return all rows changed by commits after `as_of`.

        None if there are none, or if they have to be taken from the chunks. Raises `HeadwaterError`.
        """
        ...


@dataclass(slots=True)
class Ahead:
    """What a process knows of rows that it has written ahead: the commit whose state each row has."""

    instants: dict[str, str] = field(default_factory=dict)

    def divide(self, stored: SyncPosition | None, as_of: str) -> "Division":
        """Divide the rows that may be ahead, for chunks with the data table's commit `as_of`."""
        named = set(stored.ahead) if stored else set()
        reached = stored.ahead_as_of if stored else ""
        known = {key: at for key, at in self.instants.items() if key in named}
        if stored is not None and as_of < stored.as_of:
            known = {}  # a restore has taken commits back
        held = {key: at for key, at in known.items() if at > as_of}
        # Written by another process, or named no longer by one that does not know of them.
        uncertain = (named | self.instants.keys()) - known.keys()
        if reached < as_of:
            # A commit of the chunks that was not read here may have changed a row back.
            uncertain |= known.keys() - held.keys()
        is_complete = reached > as_of and not uncertain
        return Division(held, uncertain, named | self.instants.keys(), reached if is_complete else "")

    def forget(self) -> None:
        """Have all rows set back to their chunks."""
        self.instants.clear()


@dataclass(frozen=True, slots=True)
class Division:
    """`held` rows stay as they are; `uncertain` ones have to be compared with the chunks; `touched` are all.

    The index then has the state of the data table's commit `as_of`; empty if that of the chunks.
    """

    held: Mapping[str, str]
    uncertain: Collection[str]
    touched: Collection[str]
    as_of: str


def skip_rows(states: Iterator[PointState], keys: Collection[str]) -> Iterator[PointState]:
    """Yield the states of all other rows."""
    return (state for state in states if state.row_key not in keys)


def keep_rows(states: Iterator[PointState], keys: Collection[str]) -> Iterator[PointState]:
    """Yield the states of these rows."""
    return (state for state in states if state.row_key in keys)


@dataclass(frozen=True, slots=True)
class PointWrites:
    """Chunks to write, those among them that lack a vector, and points to delete."""

    kept: Sequence[tuple[Chunk, Sequence[float]]]
    lacking: Sequence[Chunk]
    deleted: Sequence[str]


def compare_points(chunks: Sequence[Chunk], points: Sequence[Point]) -> PointWrites:
    """Compare the chunks of some rows with all of their points. Equal texts keep their vectors."""
    before = {point.chunk_id: point for point in points}
    vectors = {point.content_hash: point.dense for point in points}
    changed = [chunk for chunk in chunks if not _is_same(chunk, before.get(chunk.chunk_id))]
    present = {chunk.chunk_id for chunk in chunks}
    return PointWrites(
        kept=[(one, vectors[one.content_hash]) for one in changed if one.content_hash in vectors],
        lacking=[one for one in changed if one.content_hash not in vectors],
        deleted=[chunk_id for chunk_id in before if chunk_id not in present],
    )


def _is_same(chunk: Chunk, point: Point | None) -> bool:
    return (
        point is not None
        and point.row_key == chunk.row_key
        and point.content_hash == chunk.content_hash
        and point.fields_hash == chunk.fields_hash
    )
