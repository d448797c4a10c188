"""What headwater asks of a store of vectors. Versions of the index lie side by side; one is live."""

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

    `chunk_id` is a UUID as text, the same for the same row key and chunk number. `content_hash` is of what
    was embedded, `fields_hash` of the fields. `instant` is the completion time of the data table's commit
    that brought the row as it is. `stems` are those of the text, as `write_stems` has them.
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
    """What is compared to find out whether the index equals the chunks."""

    chunk_id: str
    row_key: str
    content_hash: str
    fields_hash: str


class PassageHit(NamedTuple):
    """A point found; `score` only compares within one answer."""

    passage: Passage
    score: float


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """One leg: `vector` is dense (`using="dense"`) or sparse (`using` is its name).

    Answered best first, at most one hit a row, at most `limit`; equal scores in the order of row keys.
    """

    using: str
    vector: Sequence[float] | SparseVector
    limit: int
    conditions: Filter = ()


@dataclass(frozen=True, slots=True)
class IndexSpec:
    """What a version of the index is made for. `fingerprint` is of model, normaliser, chunking and analysis:
    vectors of different ones never mix. `filtered` are fields that queries filter on, with their kinds."""

    dimensions: int
    sparse_names: tuple[str, ...]
    fingerprint: str
    filtered: Mapping[str, FieldKind] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """How far the chunks table is in the index; `sequence` rises by one with each write."""

    position: str
    sequence: int
    written_at: str


class Index(Protocol):
    """One version. All writes are idempotent. Raises `SearchError` when the store cannot be asked."""

    @property
    def spec(self) -> IndexSpec:
        """What it was made for."""
        ...

    def upsert(self, points: Sequence[Point]) -> None:
        """Write whole points; returns when searches see them."""
        ...

    def set_fields(self, points: Sequence[Point]) -> None:
        """Write all but text and vectors of points that are there; others are left out."""
        ...

    def delete(self, chunk_ids: Sequence[str]) -> None:
        """Remove points; those not there are no error."""
        ...

    def search(self, requests: Sequence[SearchRequest]) -> list[list[PassageHit]]:
        """One list of hits for each request, in one round trip."""
        ...

    def load(self, row_keys: Sequence[str]) -> list[Point]:
        """All chunks of the rows."""
        ...

    def iter_states(self) -> Iterator[PointState]:
        """All points, in the order of chunk ids."""
        ...

    def iter_passages(self) -> Iterator[Passage]:
        """All points, in no order."""
        ...

    def count(self) -> int:
        """Points."""
        ...

    def read_checkpoint(self) -> Checkpoint | None:
        """The newest written."""
        ...

    def write_checkpoint(self, checkpoint: Checkpoint, expected: Checkpoint | None) -> bool:
        """Write it if the stored one is still `expected`; False otherwise."""
        ...


class VectorStore(Protocol):
    """All versions of the index of one name. Raises `SearchError` when the store cannot be asked."""

    def list_versions(self) -> list[str]:
        """Names, in their order."""
        ...

    def create(self, version: str, spec: IndexSpec) -> Index:
        """An empty version; one that is there is opened when its spec is the same, else `SearchError`."""
        ...

    def open(self, version: str) -> Index:
        """Raises `SearchError` when there is none of that name."""
        ...

    def drop(self, versions: Iterable[str]) -> None:
        """Remove versions; those not there are no error. The live one is refused with `SearchError`."""
        ...

    def find_live(self) -> str | None:
        """The version that searches ask."""
        ...

    def set_live(self, version: str) -> None:
        """Switch, in one step: a search sees the one or the other."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...
