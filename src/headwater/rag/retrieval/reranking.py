"""Reranks the best rows with a cross-encoder, within a time budget. Off by default."""

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from headwater.config.extras.packages import importing_extra
from headwater.config.search.retrieval import RerankConfig
from headwater.errors import SearchError

_BATCH = 4


class Reranker(Protocol):
    """Scores texts for a query. Thread-safe."""

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one score for each text; higher is better."""
        ...


class CrossEncoderReranker:
    """A cross-encoder of the sentence-transformers library."""

    def __init__(self, config: RerankConfig) -> None:
        self._model: Any = _load(config.model)
        self._lock = threading.Lock()

    def score(self, query: str, texts: Sequence[str]) -> list[float]:
        """Return one score for each text."""
        with self._lock:
            scores = self._model.predict([(query, text) for text in texts], show_progress_bar=False)
        return [float(score) for score in scores]


def reorder(
    query: str,
    texts: Sequence[str],
    reranker: Reranker,
    budget: float,
    clock: Callable[[], float] = time.monotonic,
) -> list[int]:
    """Return the indexes of the texts in their new order.

    Reads from the top, a few at a time, until `budget` seconds have passed; unread texts keep their order,
    below the read ones.
    """
    deadline = clock() + budget
    scores: list[float] = []
    while len(scores) < len(texts) and clock() < deadline:
        scores += reranker.score(query, texts[len(scores) : len(scores) + _BATCH])
    read = sorted(range(len(scores)), key=lambda number: (-scores[number], number))
    return [*read, *range(len(scores), len(texts))]


def _load(model: str) -> Any:
    with importing_extra("sentence-transformers", "search.retrieval.rerank"):
        from sentence_transformers import CrossEncoder
    try:
        return CrossEncoder(model, device="cpu")
    except (OSError, ValueError, RuntimeError) as error:
        raise SearchError(
            f"search.retrieval.rerank.model: cannot load {model!r}: {error}",
            hint="specify a model of the Hugging Face hub, or the folder of a downloaded model",
        ) from error
