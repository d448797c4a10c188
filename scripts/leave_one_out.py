"""Chooses the weights of the ranking on some shops, to score them on one that was left out."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
import numpy.typing as npt

from headwater.rag.embedding.protocol import Embedder
from headwater.rag.evaluation.judged import JudgedSet
from headwater.rag.evaluation.runs import build_index
from headwater.rag.retrieval.query import SearchQuery
from headwater.rag.retrieval.ranking import Weights, measure
from headwater.rag.retrieval.retriever import Retriever

PAGE = 10
STEPS = ((0.3, -0.3, 0.1, -0.1), (0.1, -0.1, 0.05, -0.05))
LEAST_GAIN = 0.0003
NAMES = tuple(asdict(Weights()))

_Numbers = npt.NDArray[np.float64]
_DISCOUNTS = 1 / np.log2(np.arange(PAGE) + 2)


@dataclass(frozen=True)
class Measured:
    """One query: features (a row each) and gains of its candidates, and the sum of the best ranking."""

    features: _Numbers
    gains: _Numbers
    ideal: float

    def score(self, weights: _Numbers) -> float:
        """nDCG@10 of the ranking with these weights."""
        scores = np.round(weights @ self.features, 9)
        best = np.argsort(-scores, kind="stable")[:PAGE]
        return float(self.gains[best] @ _DISCOUNTS[: len(best)] / self.ideal)


def measure_shop(judged: JudgedSet, embedder: Embedder) -> list[Measured]:
    """Measure the candidates of all queries once; any weights can be scored with them."""
    retriever = Retriever(build_index(judged, embedder), embedder)
    retriever.learn_words()
    found = []
    for query in judged.queries:
        candidates, reading, _ = retriever.gather(SearchQuery(query.text))
        # Ties are broken by key.
        candidates = sorted(candidates, key=lambda one: one.passage.row_key)
        measured = measure(candidates, reading.stems, reading.understanding) if candidates else {}
        zeros = np.zeros(len(candidates))
        gains = judged.gains[query.query_id]
        best = np.sort(np.array(list(gains.values()), dtype=np.float64))[::-1][:PAGE]
        found.append(
            Measured(
                np.array([measured.get(name, zeros) for name in NAMES]),
                np.array([gains.get(one.passage.row_key, 0) for one in candidates], dtype=np.float64),
                float(best @ _DISCOUNTS[: len(best)]),
            )
        )
    return found


def score_shop(shop: Sequence[Measured], weights: Weights) -> float:
    """The mean over a shop's queries."""
    vector = np.array(list(asdict(weights).values()))
    return float(np.mean([query.score(vector) for query in shop]))


def choose_weights(shops: Sequence[Sequence[Measured]], start: Weights) -> Weights:
    """Move one weight at a time while the mean over the shops grows; `cheap` is in no judged query."""
    best = np.mean([score_shop(shop, start) for shop in shops])
    for steps in STEPS:
        for name in NAMES:
            for step in steps:
                while True:
                    moved = replace(start, **{name: round(getattr(start, name) + step, 2)})
                    score = np.mean([score_shop(shop, moved) for shop in shops])
                    if score <= best + LEAST_GAIN:
                        break
                    start, best = moved, score
    return start


def leave_out(shops: Mapping[str, Sequence[Measured]], start: Weights) -> dict[str, tuple[float, Weights]]:
    """Return for each shop the score of weights that were chosen on all others."""
    found = {}
    for name, shop in shops.items():
        chosen = choose_weights([one for other, one in shops.items() if other != name], start)
        found[name] = (score_shop(shop, chosen), chosen)
    return found
