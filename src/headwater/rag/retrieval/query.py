"""What is asked and what is found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from headwater.rag.field_value import FieldValue
from headwater.rag.vector_stores.protocol import IndexCondition


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """`text` as typed. `conditions` were asked for explicitly and hold for every row found.

    `diversity` from 0 (most relevant) to 1 (most unlike each other); None: no re-ordering. `as_of` is an
    instant (`yyyyMMddHHmmssSSS`, UTC), such as a commit's completion time, or empty for now.
    """

    text: str
    limit: int = 10
    conditions: Sequence[IndexCondition] = ()
    tenant: str | None = None
    diversity: float | None = None
    as_of: str = ""


@dataclass(frozen=True, slots=True)
class FoundRow:
    """One row, with the chunk that matched best. `rank` begins at 1; `score` compares within a result."""

    row_key: str
    rank: int
    score: float
    text: str
    fields: Mapping[str, FieldValue]
    instant: str
    matched_terms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchResult:
    """`as_of` is the newest commit of the data table that the index holds; `understood` are conditions and
    corrections that were read out of the query's words, for people to see. `complete_at`: the index held all
    that the table had then; None when that is as `Freshness` tells. Without `is_answerable` the rows are the
    nearest and not what was asked for; `unmatched` are words for it that no row has."""

    rows: Sequence[FoundRow]
    index_version: str
    as_of: str
    understood: Mapping[str, str] = field(default_factory=dict)
    complete_at: datetime | None = None
    is_answerable: bool = True
    unmatched: tuple[str, ...] = ()
