"""The interface of the searcher behind all answers; it lives as long as the process."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from headwater.rag.retrieval.query import SearchQuery, SearchResult
from headwater.rag.vector_stores.protocol import FieldKind


@dataclass(frozen=True, slots=True)
class Freshness:
    """The live index compared with the lake.

    `complete_at` is the latest time at which the index is known to have held the whole lake; None if never.
    `as_of` is the newest data table commit in the index. `error` says why the last read or sync failed; empty
    after a success. `has_integer_ids`: one integer column identifies the rows.
    """

    index_version: str
    as_of: str
    complete_at: datetime | None
    points: int
    error: str = ""
    has_integer_ids: bool = False

    def lag_seconds(self, now: datetime) -> float | None:
        """Return the maximum age of the index; None when unknown."""
        return None if self.complete_at is None else max(0.0, (now - self.complete_at).total_seconds())


class Searcher(Protocol):
    """Searches the live index. Thread-safe; `search` and `similar` block.

    Raises `SearchError` when the index cannot be queried.
    """

    def search(self, query: SearchQuery) -> SearchResult:
        """Return rows, best first.

        With `query.as_of`, they are of the newest indexed commit not after it. Raises `AsOfUnavailableError`
        when the index does not cover that instant.
        """
        ...

    def similar(self, row_key: str, limit: int, tenant: str | None = None) -> SearchResult | None:
        """Return rows similar to that one, without itself; None when that tenant has no such row."""
        ...

    def filterable(self) -> Mapping[str, FieldKind]:
        """Return the fields that conditions may name. Makes no request."""
        ...

    def freshness(self) -> Freshness:
        """Return the freshness at the last refresh. Makes no request."""
        ...
