"""Quality of a run: nDCG@10, recall@20 and MRR by query, with intervals. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pytrec_eval

from headwater.rag.evaluation.judged import RELEVANT_GAIN

Run = Mapping[str, Sequence[str]]
"""Products found by query, best first."""

RESAMPLES = 2_000
_SEED = 11


@dataclass(frozen=True, slots=True)
class Score:
    """Scores of one query."""

    ndcg: float
    recall: float
    reciprocal_rank: float
    found: int


def score_run(run: Run, gains: Mapping[str, Mapping[str, int]]) -> dict[str, Score]:
    """Score all queries with a judgement above irrelevant; a query without results scores 0."""
    judged = {
        query: {product: gain for product, gain in products.items() if gain > 0}
        for query, products in gains.items()
        if any(gain > 0 for gain in products.values())
    }
    # trec_eval orders by score, so ranks become scores.
    ranked = {
        query: {product: float(-rank) for rank, product in enumerate(run.get(query, ()))} for query in judged
    }
    graded = pytrec_eval.RelevanceEvaluator(judged, {"ndcg_cut.10"}).evaluate(ranked)
    binary = pytrec_eval.RelevanceEvaluator(
        judged, {"recall.20", "recip_rank"}, relevance_level=RELEVANT_GAIN
    ).evaluate(ranked)
    return {
        query: Score(
            graded.get(query, {}).get("ndcg_cut_10", 0.0),
            binary.get(query, {}).get("recall_20", 0.0),
            binary.get(query, {}).get("recip_rank", 0.0),
            len(run.get(query, ())),
        )
        for query in judged
    }


def find_interval(values: Sequence[float], *, seed: int = _SEED) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of the mean; deterministic for the same values."""
    if not values:
        return (0.0, 0.0)
    sample = np.asarray(values, dtype=np.float64)
    drawn = np.random.default_rng(seed).integers(0, len(sample), size=(RESAMPLES, len(sample)))
    low, high = np.percentile(sample[drawn].mean(axis=1), (2.5, 97.5))
    return (float(low), float(high))


def mean(values: Sequence[float]) -> float:
    """Return the mean; 0 for no values."""
    return float(np.mean(values)) if values else 0.0
