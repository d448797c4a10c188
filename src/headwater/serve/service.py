"""State shared by the routes."""

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone

from headwater.config.search.serving import ServeConfig
from headwater.observability.metrics import Metrics
from headwater.rag.recommender import Recommender
from headwater.rag.retrieval.query import FoundRow, SearchResult
from headwater.rag.searcher import Searcher
from headwater.serve.access import Access, Caller
from headwater.serve.cards import CardRules
from headwater.serve.pipeline_state import PipelineState
from headwater.serve.schemas import Stamp
from headwater.serve.search_pool import SearchPool

HISTORY_SAMPLES = 720


@dataclass(frozen=True, slots=True)
class LagSample:
    """One sample of the index's age."""

    at: datetime
    lag_seconds: float | None


def read_clock() -> datetime:
    """Return the current time in UTC."""
    return datetime.now(timezone.utc)


@dataclass(slots=True)
class Service:
    """The state shared by the routes, built once per process. `history` holds the last lags, oldest first."""

    config: ServeConfig
    searcher: Searcher
    recommender: Recommender
    pool: SearchPool
    access: Access
    metrics: Metrics
    pipeline: PipelineState
    cards: CardRules = field(default_factory=CardRules)
    now: Callable[[], datetime] = read_clock
    history: deque[LagSample] = field(default_factory=lambda: deque(maxlen=HISTORY_SAMPLES))

    def lag_seconds(self) -> float | None:
        """Return the current age of the live index."""
        return self.searcher.freshness().lag_seconds(self.now())

    def stamp(self, result: SearchResult, took_seconds: float) -> Stamp:
        """Return the stamp of an answer."""
        known = self.searcher.freshness()
        if result.complete_at:
            known = replace(known, complete_at=result.complete_at)
        lag = known.lag_seconds(self.now())
        return Stamp(
            index_version=result.index_version,
            as_of=result.as_of,
            lag_seconds=None if lag is None else round(lag, 3),
            took_ms=round(took_seconds * 1000, 1),
        )


def id_of(service: Service, row: FoundRow) -> str | int:
    """Return the row's key in the type of its column: a number stays a number."""
    is_number = service.searcher.freshness().has_integer_ids and row.row_key.lstrip("-").isdecimal()
    return int(row.row_key) if is_number else row.row_key


def score_of(row: FoundRow, caller: Caller, raw: bool = False) -> float:
    """Return a score by rank, so that callers cannot measure similarity to hidden text."""
    return row.score if raw and caller.is_admin else round(1 / row.rank, 3)


def plain_fields(fields: Mapping[str, object]) -> dict[str, object]:
    """Return the fields as JSON values."""
    return {name: value for name, value in fields.items() if value is not None}
