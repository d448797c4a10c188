"""Converts points, queries and conditions to embedded Qdrant's types."""

from collections.abc import Mapping
from typing import Any

import qdrant_edge as qdrant

from headwater.rag.lexical.sparse_vector import SparseVector
from headwater.rag.vector_stores.payload import (
    build_path,
    build_payload,
    parse_point,
    to_match,
)
from headwater.rag.vector_stores.protocol import Filter, IndexCondition, Point, SearchRequest
from headwater.rag.vector_stores.spec import DENSE


def to_point(point: Point) -> qdrant.Point:
    """Convert a complete point."""
    vectors: dict[str, Any] = {DENSE: point.dense}
    for name, vector in point.sparse.items():
        if vector.indices:
            vectors[name] = qdrant.SparseVector(list(vector.indices), list(vector.values))
    return qdrant.Point(point.chunk_id, vectors, build_payload(point))


def parse_record(record: qdrant.Record) -> Point:
    """Parse the output of `to_point`."""
    vectors: Mapping[str, Any] = record.vector if isinstance(record.vector, dict) else {}
    sparse = {
        name: SparseVector(tuple(vector.indices), tuple(vector.values))
        for name, vector in vectors.items()
        if name != DENSE
    }
    return parse_point(record.id, record.payload or {}, list(vectors[DENSE]), sparse)


def build_query(request: SearchRequest, depth: int) -> qdrant.QueryRequest:
    """Build the query of one leg, to `depth` chunks."""
    vector: Any = request.vector
    if isinstance(vector, SparseVector):
        vector = qdrant.SparseVector(list(vector.indices), list(vector.values))
    return qdrant.QueryRequest(
        limit=depth,
        query=qdrant.Query.Nearest(vector, using=request.using),
        filter=_build_filter(request.conditions),
        # Converting a hit's payload costs more than finding it.
        with_payload=False,
    )


def _build_filter(conditions: Filter) -> qdrant.Filter | None:
    if not conditions:
        return None
    must: list[Any] = []
    must_not: list[Any] = []
    for condition in conditions:
        (must_not if condition.operator in {"ne", "not_in"} else must).append(_build_condition(condition))
    return qdrant.Filter(must=must, must_not=must_not)


def _build_condition(condition: IndexCondition) -> Any:
    operator, value = condition.operator, condition.value
    if operator in {"lt", "lte", "gt", "gte"}:
        limit: Any = {operator: value}
        return qdrant.FieldCondition(key=build_path(condition.field), range=qdrant.RangeFloat(**limit))
    values = value if isinstance(value, (list, tuple)) else [value]
    # An empty list has no match: an empty filter would match everything.
    return qdrant.Filter(should=[_build_match(condition.field, one) for one in values] or [_NOTHING])


_NOTHING = qdrant.HasIdCondition(set())


def _build_match(field: str, value: object) -> Any:
    is_flag, asked = to_match(value)
    path = build_path(field, is_flag=is_flag)
    if isinstance(asked, str):
        return qdrant.FieldCondition(key=path, match=qdrant.MatchValue(asked))
    return qdrant.FieldCondition(key=path, range=qdrant.RangeFloat(gte=asked, lte=asked))
