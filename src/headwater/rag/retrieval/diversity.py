"""Relevant rows that differ from each other: maximal marginal relevance. Pure."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt


def diversify(
    relevance: Sequence[float], vectors: npt.NDArray[np.float32], diversity: float, limit: int
) -> list[int]:
    """Return the chosen indexes in order.

    Each is the one with the greatest (1 - diversity) * relevance - diversity * (similarity to the nearest
    chosen one). Relevance is scaled to 0..1; similarity is the dot product of unit vectors. `diversity` 0
    keeps the order of relevance, best first; ties keep theirs.
    """
    scores = np.asarray(relevance, dtype=np.float64)
    count = len(scores)
    if not count:
        return []
    span = float(scores.max() - scores.min())
    scores = (scores - scores.min()) / span if span > 0 else np.ones(count)
    likeness = vectors.astype(np.float64) @ vectors.T.astype(np.float64)
    nearest = np.zeros(count)
    is_open = np.ones(count, dtype=np.bool_)
    chosen: list[int] = []
    while len(chosen) < min(limit, count):
        gains = np.where(is_open, (1 - diversity) * scores - diversity * nearest, -np.inf)
        best = int(np.argmax(gains))
        chosen.append(best)
        is_open[best] = False
        nearest = np.maximum(nearest, likeness[best]) if len(chosen) > 1 else likeness[best].copy()
    return chosen
