"""One hit per row from a store that finds chunks: queries deeper until there are enough rows. Pure."""

from collections.abc import Callable, Sequence

import numpy as np

from headwater.rag.vector_stores.protocol import PassageHit, SearchRequest

# Sums of the same numbers differ in the last bits between segments; ties must not depend on that.
_DECIMALS = 6
# Most rows are one chunk, and each requested chunk has a cost; if too few, the query is repeated deeper.
_FIRST_SHARE = 1.1
_FIRST_EXTRA = 8
# Among rows that tie with the last one, those deeper than this stay in the store's order. Trigrams tie
# thousands of rows, and each read has a cost.
_TIE_DEPTH = 128
_NEARLY = 1.25
_DEEPEST = 1_000_000

Fetch = Callable[[Sequence[tuple[SearchRequest, int]]], list[list[PassageHit]]]
"""Answers requests, each to its own depth, with chunks best first, in one round trip."""


def search_rows(requests: Sequence[SearchRequest], fetch: Fetch) -> list[list[PassageHit]]:
    """Return, per request, the best chunk of each of the best rows; equal scores in the order of row keys."""
    found: list[list[PassageHit]] = [[] for _ in requests]
    depths = {at: _choose_first_depth(one.limit) for at, one in enumerate(requests) if one.limit > 0}
    while depths:
        answers = fetch([(requests[at], depth) for at, depth in depths.items()])
        deeper: dict[int, int] = {}
        for (at, depth), hits in zip(depths.items(), answers, strict=True):
            limit = requests[at].limit
            found[at] = group_hits(hits)[:limit]
            if len(hits) >= depth and (next_depth := _choose_depth(found[at], hits, limit, depth)) > depth:
                deeper[at] = next_depth
        depths = deeper
    return found


def group_hits(hits: Sequence[PassageHit]) -> list[PassageHit]:
    """Return the best hit of each row, best first. `hits` are ordered by score."""
    scores = np.round([hit.score for hit in hits], _DECIMALS)
    ordered = list(hits)
    start = 0
    # Only ties need sorting.
    for end in (*(np.flatnonzero(scores[1:] != scores[:-1]) + 1).tolist(), len(hits)):
        if end - start > 1:
            ordered[start:end] = sorted(
                ordered[start:end], key=lambda hit: (hit.passage.row_key, hit.passage.chunk_number)
            )
        start = end
    best: dict[str, PassageHit] = {}
    for hit in ordered:
        best.setdefault(hit.passage.row_key, hit)
    return list(best.values())


def _choose_first_depth(limit: int) -> int:
    depth = int(_FIRST_SHARE * limit) + _FIRST_EXTRA
    # Ties are frequent: request the small remainder at once.
    return _TIE_DEPTH if _TIE_DEPTH / _NEARLY <= depth < _TIE_DEPTH else depth


def _choose_depth(found: Sequence[PassageHit], hits: Sequence[PassageHit], limit: int, depth: int) -> int:
    """Return the next depth; the same depth when deeper hits cannot change the result."""
    if len(found) < limit:
        return min(depth * 8, max(_DEEPEST, depth))
    is_tied = round(found[-1].score, _DECIMALS) == round(hits[-1].score, _DECIMALS)
    return max(depth, _TIE_DEPTH) if is_tied else depth
