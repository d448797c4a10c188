"""The interface of vector stores. Several versions of the index exist; one is live."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from headwater.rag.field_value import FieldValue
from headwater.rag.lexical.sparse_vector import SparseVector
from headwater.rag.passage import Passage

FieldKind = Literal["keyword", "number", "bool"]
Operator = Literal["eq", "ne", "in", "not_in", "lt", "lte", "gt", "gte"]


@dataclass(frozen=True, slots=True)
class IndexCondition:
    """One condition on a field (or `tenant`). A list field satisfies `eq` and `in` with any of its values; a
    point without the field satisfies only `ne` and `not_in`."""

    field: str
    operator: Operator
    value: FieldValue | Sequence[str | int | float | bool]


Filter = Sequence[IndexCondition]
"""All must hold."""


@dataclass(frozen=True, slots=True)
class Point:
    """One chunk in the index.

    `chunk_id` is a UUID as text, the same for the same row key and chunk number. `content_hash` is of the
    embedded text, `fields_hash` of the fields. `instant` is the completion time of the data table's commit
    with the row's current state. `stems` are those of the text, from `write_stems`.
    """

    chunk_id: str
    row_key: str
    chunk_number: int
    text: str
    content_hash: str
    fields_hash: str
    instant: str
    dense: Sequence[float]
    sparse: Mapping[str, SparseVector] = field(default_factory=dict)
    fields: Mapping[str, FieldValue] = field(default_factory=dict)
    tenant: str | None = None
    stems: str = ""


@dataclass(frozen=True, slots=True)
class PointState:
    """The state compared to find out whether the index equals the chunks."""

    chunk_id: str
    row_key: str
    content_hash: str
    fields_hash: str


class PassageHit(NamedTuple):
    """A point found; scores are comparable within one result."""

    passage: Passage
    score: float


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One leg: `vector` is dense (`using="dense"`) or sparse (`using` is its name).

    Answered best first, at most one hit per row, at most `limit`; equal scores in the order of row keys.
    """

    using: str
    vector: Sequence[float] | SparseVector
    limit: int
    conditions: Filter = ()


@dataclass(frozen=True, slots=True)
class IndexSpec:
    """The parameters with which a version of the index is built.

    `fingerprint` covers model, normaliser, chunking and analysis: vectors with different fingerprints never
    mix. `filtered` are fields that queries filter on, with their kinds.
    """

    dimensions: int
    sparse_names: tuple[str, ...]
    fingerprint: str
    filtered: Mapping[str, FieldKind] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """How far the index has consumed the chunks table; `sequence` increases by one with each write."""

    position: str
    sequence: int
    written_at: str


@dataclass(frozen=True, slots=True)
class VersionState:
    """What a version contains. Without a checkpoint it is still being filled."""

    spec: IndexSpec
    checkpoint: Checkpoint | None
    points: int


class Index(Protocol):
    """One version of the index. All writes are idempotent.

    Raises `SearchError` when the store cannot be called.
    """

    @property
    def spec(self) -> IndexSpec:
        """Return the spec of this version."""
        ...

    def upsert(self, points: Sequence[Point]) -> None:
        """Write complete points; return when searches see them."""
        ...

    def set_fields(self, points: Sequence[Point]) -> None:
        """Update existing points, except for text and vectors; ignore missing ones."""
        ...

    def delete(self, chunk_ids: Sequence[str]) -> None:
        """Remove points; ignore missing ones."""
        ...

    def search(self, requests: Sequence[SearchRequest]) -> list[list[PassageHit]]:
        """Return one list of hits for each request, in one round trip."""
        ...

    def load(self, row_keys: Sequence[str]) -> list[Point]:
        """Return all chunks of the rows."""
        ...

    def iter_states(self) -> Iterator[PointState]:
        """Yield the states of all points, in the order of chunk ids."""
        ...

    def iter_passages(self) -> Iterator[Passage]:
        """Yield all points, unordered."""
        ...

    def count(self) -> int:
        """Return the number of points."""
        ...

    def read_checkpoint(self) -> Checkpoint | None:
        """Return the newest checkpoint."""
        ...

    def write_checkpoint(self, checkpoint: Checkpoint, expected: Checkpoint | None) -> bool:
        """Write the checkpoint if the stored one is still `expected`; False otherwise."""
        ...

    def optimize(self) -> None:
        """Make searches faster, if enough was written since the last time.

        May take a minute for 100,000 points; searches continue concurrently, with the same results.
        """
        ...


class VectorStore(Protocol):
    """All versions of the index of one name. Raises `SearchError` when the store cannot be called."""

    def list_versions(self) -> list[str]:
        """Return the version names in order."""
        ...

    def create(self, version: str, spec: IndexSpec) -> Index:
        """Create an empty version, or open the existing one. Raises `SearchError` if its spec differs."""
        ...

    def open(self, version: str) -> Index:
        """Open a version. Raises `SearchError` for an unknown name, `IndexUnavailableError` if only one
        process can have it open, and another does."""
        ...

    def read_state(self, version: str) -> VersionState:
        """Read the state of a version, even if another process has it open.

        Raises `SearchError` for an unknown name.
        """
        ...

    def release(self, version: str) -> None:
        """Close a version that nothing in this process uses any more; it can be opened again."""
        ...

    def drop(self, versions: Iterable[str]) -> None:
        """Remove versions; ignore missing ones, and those that another process has open.

        Raises `SearchError` for the live one.
        """
        ...

    def find_live(self) -> str | None:
        """Return the version that searches use."""
        ...

    def set_live(self, version: str) -> None:
        """Make a version live atomically: a search sees either the old one or the new one."""
        ...

    def close(self) -> None:
        """Close files and connections."""
        ...
