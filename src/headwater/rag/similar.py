"""Rows similar to a row: near to the mean of its chunks."""

import numpy as np

from headwater.rag.retrieval.query import FoundRow
from headwater.rag.vector_stores.conditions import TENANT
from headwater.rag.vector_stores.protocol import Index, IndexCondition, SearchRequest

_DENSE = "dense"


def find_similar(index: Index, row_key: str, limit: int, tenant: str | None) -> list[FoundRow] | None:
    """Return at most `limit` other rows, nearest first; None when that tenant has no such row."""
    points = [point for point in index.load([row_key]) if tenant is None or point.tenant == tenant]
    if not points:
        return None
    middle = np.mean(np.asarray([point.dense for point in points], dtype=np.float32), axis=0)
    length = float(np.linalg.norm(middle))
    if not length:
        return []
    conditions = [IndexCondition(TENANT, "eq", tenant)] if tenant is not None else []
    # One more: the results include the row itself.
    [hits] = index.search([SearchRequest(_DENSE, (middle / length).tolist(), limit + 1, conditions)])
    others = [hit for hit in hits if hit.passage.row_key != row_key][:limit]
    return [
        FoundRow(
            hit.passage.row_key, rank, hit.score, hit.passage.text, hit.passage.fields, hit.passage.instant
        )
        for rank, hit in enumerate(others, 1)
    ]
