"""What answers are made from: a search that is there for as long as the process is."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from headwater.rag.retrieval.query import SearchQuery, SearchResult
from headwater.rag.vector_stores.protocol import FieldKind


@dataclass(frozen=True, slots=True)
class Freshness:
    """How the live index stands to the lake.

    `complete_at` is the latest moment of which it is known that the index held all that the lake had; None
    when that was never so. `as_of` is the newest commit of the data table in the index. `error` says why the
    last look or sync failed, empty after one that did not. `has_integer_ids`: rows are named by one column of
    whole numbers.
    """

    index_version: str
    as_of: str
    complete_at: datetime | None
    points: int
    error: str = ""
    has_integer_ids: bool = False

    def lag_seconds(self, now: datetime) -> float | None:
        """How old the index may be at most; None when that is not known."""
        return None if self.complete_at is None else max(0.0, (now - self.complete_at).total_seconds())


class Searcher(Protocol):
    """Thread-safe; `search` and `similar` block. Raises `SearchError` when the index cannot be asked."""

    def search(self, query: SearchQuery) -> SearchResult:
        """Rows, best first: of now, or of the newest indexed commit that is not behind `query.as_of`. Raises
        `AsOfUnavailableError` for one that cannot be answered."""
        ...

    def similar(self, row_key: str, limit: int, tenant: str | None = None) -> SearchResult | None:
        """Rows like that one, itself left out; None when there is no such row for that tenant."""
        ...

    def filterable(self) -> Mapping[str, FieldKind]:
        """Fields that conditions may name. Asks nobody."""
        ...

    def freshness(self) -> Freshness:
        """As of the last look. Asks nobody."""
        ...
