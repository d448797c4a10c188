"""`lake.search` and `lake.recommend`: the index in this process."""

import asyncio
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from headwater.config.environment import read_environment
from headwater.config.settings import Settings
from headwater.errors import UsageError

if TYPE_CHECKING:
    from headwater.app.search.live import LiveSearch
    from headwater.rag.recommender import Recommender
    from headwater.rag.retrieval.query import FoundRow, SearchQuery, SearchResult

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Recommendation:
    """An answer: `message` states only what the rows `products` support; `cited` are their keys."""

    message: str
    products: Sequence["FoundRow"]
    cited: Sequence[str]

    def __bool__(self) -> bool:
        """True if a row answers the question."""
        return bool(self.products)


class Searching:
    """The index of a lake, opened at the first query; each query is as fresh as the tables."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def search(self, query: str, limit: int, filters: Mapping[str, Any]) -> "SearchResult":
        """Search after a sync of the index."""
        live = self._refresh()
        return live.search(self._build(query, limit, filters, live))

    def recommend(self, question: str, limit: int, filters: Mapping[str, Any]) -> Recommendation:
        """Answer after a sync of the index."""
        live = self._refresh()
        found, answer = _run(self._recommender.recommend(self._build(question, limit, filters, live)))
        keys = {product.label: product.row.row_key for product in found.products}
        return Recommendation(
            answer.message,
            tuple(product.row for product in found.products),
            tuple(keys[label] for label in answer.cited),
        )

    def close(self) -> None:
        """Release the index."""
        live = self.__dict__.pop("_live", None)
        self.__dict__.pop("_recommender", None)
        if live is not None:
            live.close()

    @cached_property
    def _live(self) -> "LiveSearch":
        from headwater.config.extras.packages import ensure_extra

        ensure_extra("search", "lake.search()")
        from headwater.serve.launch import open_lake_search

        return open_lake_search(self._settings, read_environment(), syncs=True)

    @cached_property
    def _recommender(self) -> "Recommender":
        from headwater.rag.recommender import Recommender
        from headwater.serve.launch import build_answering

        async def search(query: "SearchQuery") -> "SearchResult":
            return self._live.search(query)

        model, rules = build_answering(self._settings, read_environment())
        return Recommender(search, model, rules)

    def _refresh(self) -> "LiveSearch":
        is_open = "_live" in self.__dict__
        live = self._live
        if is_open:
            live.refresh()
        return live

    def _build(self, text: str, limit: int, filters: Mapping[str, Any], live: "LiveSearch") -> "SearchQuery":
        from headwater.rag.retrieval.query import SearchQuery
        from headwater.serve.filters import parse_filters
        from headwater.serve.problems import RequestError

        try:
            conditions = tuple(parse_filters(filters, live.filterable()))
        except RequestError as error:
            details = "; ".join(f"{one['where']}: allowed: {one['allowed']}" for one in error.errors)
            raise UsageError(
                f"{error.title} {details or error.detail}", hint="filters are as in POST /search"
            ) from error
        return SearchQuery(text, limit, conditions)


def _run(answer: Coroutine[Any, Any, T]) -> T:
    """Wait for the answer, also where an event loop runs already, as in a notebook."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(asyncio.run, answer).result()
