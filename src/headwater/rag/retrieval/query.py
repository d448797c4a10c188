"""Search queries and their results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from headwater.rag.field_value import FieldValue
from headwater.rag.vector_stores.protocol import IndexCondition


@dataclass(frozen=True, slots=True)
class SearchQuery:
    """One query. `text` is as typed; `conditions` are explicit and hold for every row found.

    `diversity` is from 0 (most relevant) to 1 (most different from each other); None keeps the order.
    `as_of` is an instant (`yyyyMMddHHmmssSSS`, UTC), such as a commit's completion time, or empty for now.
    `similarity` is the minimum cosine similarity of a row, instead of the configured thresholds.
    """

    text: str
    limit: int = 10
    conditions: Sequence[IndexCondition] = ()
    tenant: str | None = None
    diversity: float | None = None
    as_of: str = ""
    similarity: float | None = None


@dataclass(frozen=True, slots=True)
class FoundRow:
    """One row, with its best matching chunk. `rank` starts at 1; scores are comparable within a result."""

    row_key: str
    rank: int
    score: float
    text: str
    fields: Mapping[str, FieldValue]
    instant: str
    matched_terms: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SearchResult:
    """The rows found for a query.

    `as_of` is the newest data table commit in the index. `understood` are conditions and corrections derived
    from the query's words, for display. At `complete_at` the index held the complete table; if None, see
    `Freshness`. If `is_answerable` is false, the rows are only the nearest ones. `unmatched` are words for
    the wanted thing that no row has.
    """

    rows: Sequence[FoundRow]
    index_version: str
    as_of: str
    understood: Mapping[str, str] = field(default_factory=dict)
    complete_at: datetime | None = None
    is_answerable: bool = True
    unmatched: tuple[str, ...] = ()
