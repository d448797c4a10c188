"""One hit a row out of a store that finds chunks: ask deeper until enough rows are there. Pure."""

from collections.abc import Callable, Sequence

from headwater.rag.vector_stores.protocol import Hit, SearchRequest

# Sums of the same numbers differ in the last bits from segment to segment; ties must not depend on that.
_DECIMALS = 6
# Most rows are one chunk, and each chunk asked for costs; where that is too few, one asks again, deeper.
_FIRST_SHARE = 1.25
_FIRST_EXTRA = 8
# Ties deeper than this are left in the order of the store.
_TIE_DEPTH = 1_024
_DEEPEST = 1_000_000

Fetch = Callable[[Sequence[tuple[SearchRequest, int]]], list[list[Hit]]]
"""Answers requests, each to its own depth, with chunks best first, in one round trip."""


def search_rows(requests: Sequence[SearchRequest], fetch: Fetch) -> list[list[Hit]]:
    """For each request the best chunk of each of the best rows; equal scores in the order of row keys."""
    found: list[list[Hit]] = [[] for _ in requests]
    depths = {
        at: int(_FIRST_SHARE * one.limit) + _FIRST_EXTRA for at, one in enumerate(requests) if one.limit > 0
    }
    while depths:
        answers = fetch([(requests[at], depth) for at, depth in depths.items()])
        deeper: dict[int, int] = {}
        for (at, depth), hits in zip(depths.items(), answers, strict=True):
            limit = requests[at].limit
            found[at] = group_hits(hits)[:limit]
            if len(hits) >= depth and not _is_settled(found[at], hits, limit, depth):
                deeper[at] = depth * 8
        depths = deeper
    return found


def group_hits(hits: Sequence[Hit]) -> list[Hit]:
    """The best hit of each row, best first."""
    best: dict[str, Hit] = {}
    for hit in sorted(hits, key=lambda hit: (-round(hit.score, _DECIMALS), hit.row_key, hit.chunk_number)):
        best.setdefault(hit.row_key, hit)
    return list(best.values())


def _is_settled(found: Sequence[Hit], hits: Sequence[Hit], limit: int, depth: int) -> bool:
    """Whether what lies deeper cannot change the answer."""
    if depth > _DEEPEST:
        return True
    if len(found) < limit:
        return False
    is_tied = round(found[-1].score, _DECIMALS) == round(hits[-1].score, _DECIMALS)
    return not is_tied or depth >= _TIE_DEPTH
