"""Fusion of several rankings: reciprocal ranks (RRF) or score distributions (DBSF). Pure."""

import math
from collections.abc import Mapping, Sequence

Ranking = Sequence[tuple[str, float]]
"""Keys and scores, best first."""


def fuse_ranks(
    rankings: Sequence[Ranking], *, k: float = 60.0, weights: Sequence[float] | None = None
) -> dict[str, float]:
    """Return the sum of weight / (k + rank) for each key, ranks from 1, best first; ties by key.

    A small `k` favours the first ranks strongly.
    """
    fused: dict[str, float] = {}
    for ranking, weight in _weigh(rankings, weights):
        for rank, (key, _) in enumerate(ranking, start=1):
            fused[key] = fused.get(key, 0.0) + weight / (k + rank)
    return order(fused)


def fuse_distributions(
    rankings: Sequence[Ranking], *, weights: Sequence[float] | None = None
) -> dict[str, float]:
    """Return the sum of scores, each list scaled so that mean +- 3 deviations become 0 and 1; ties by key."""
    fused: dict[str, float] = {}
    for ranking, weight in _weigh(rankings, weights):
        for key, score in stretch(ranking).items():
            fused[key] = fused.get(key, 0.0) + weight * score
    return order(fused)


def stretch(ranking: Ranking) -> dict[str, float]:
    """Scale scores: mean - 3 deviations to 0, mean + 3 deviations to 1; equal scores are 0.5."""
    scores = [score for _, score in ranking]
    if not scores:
        return {}
    mean = math.fsum(scores) / len(scores)
    deviation = math.sqrt(math.fsum((score - mean) ** 2 for score in scores) / max(len(scores) - 1, 1))
    if deviation <= 1e-12 * max(1.0, abs(mean)):
        return dict.fromkeys((key for key, _ in ranking), 0.5)
    return {key: (score - mean) / (6 * deviation) + 0.5 for key, score in ranking}


def order(scores: Mapping[str, float]) -> dict[str, float]:
    """Sort best first; equal scores in key order."""
    return dict(sorted(scores.items(), key=lambda item: (-item[1], item[0])))


def _weigh(rankings: Sequence[Ranking], weights: Sequence[float] | None) -> list[tuple[Ranking, float]]:
    return list(zip(rankings, [1.0] * len(rankings) if weights is None else weights, strict=True))
