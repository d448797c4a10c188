"""The statements of a search: one for each leg."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import sql

from headwater.rag.lexical.sparse_vector import SparseVector
from headwater.rag.vector_stores.pgvector.predicates import build_predicate
from headwater.rag.vector_stores.pgvector.tables import VersionTables
from headwater.rag.vector_stores.protocol import SearchRequest

# The graph answers an `order by` of the distance alone; the few points found are then ordered completely.
_NEAREST = """
select point.number, point.revision, found.score
from (
    select number, -(dense <#> %(vector)s::vector) as score from {vectors}
    order by dense <#> %(vector)s::vector limit %(depth)s
) found join {points} point using (number)
order by found.score desc, point.row_key, point.chunk_number
"""
_NEAREST_WHERE = """
select point.number, point.revision, -(vector.dense <#> %(vector)s::vector) as score
from {vectors} vector join {points} point using (number) where {predicate}
order by vector.dense <#> %(vector)s::vector limit %(depth)s
"""
# No index has an order of this sum, so all points that satisfy the conditions are compared.
_EXACT = """
select point.number, point.revision, -(vector.dense <#> %(vector)s::vector) as score
from {vectors} vector join {points} point using (number) where {predicate}
order by (vector.dense <#> %(vector)s::vector) + 0, point.row_key, point.chunk_number limit %(depth)s
"""
# The IDF of the current points: counting a term's postings costs less than reading them does.
_MATCHING = """
with query as materialized (
    select asked.term,
        asked.weight * ln((1 + (version.points - own.number + 0.5) / (own.number + 0.5))::float8) as weight
    from unnest(%(terms)s::integer[], %(weights)s::float8[]) asked (term, weight)
    cross join (select points from {versions} where name = %(version)s) version
    cross join lateral (select count(*) as number from {postings} where term = asked.term) own
)
select point.number, point.revision, found.score
from (
    select posting.number, sum(posting.weight * query.weight) as score
    from query join {postings} posting using (term) {where}
    group by posting.number order by score desc, posting.number limit %(depth)s
) found join {points} point using (number)
order by found.score desc, point.row_key, point.chunk_number
"""
_WHERE = "join {points} point using (number) where {predicate}"
_ALL = sql.SQL("true")
_TERM_OFFSET = 2**31


@dataclass(frozen=True, slots=True)
class Leg:
    """A statement whose rows are number, revision and score of points, best first."""

    statement: sql.Composed
    parameters: Mapping[str, Any]


def build_leg(tables: VersionTables, request: SearchRequest, depth: int, *, exact: bool = False) -> Leg:
    """Return the statement for the best `depth` points. `exact`: compares all points, without the graph."""
    predicate = build_predicate(request.conditions)
    where = sql.SQL(predicate.text) if predicate else None
    parameters: dict[str, Any] = {"depth": depth, **(predicate.parameters if predicate else {})}
    if isinstance(request.vector, SparseVector):
        own: dict[str, sql.Composable] = {"postings": tables.postings[request.using]}
        own["where"] = tables.write(_WHERE, predicate=where) if where else sql.SQL("")
        parameters["version"] = tables.version
        parameters["terms"] = to_terms(request.vector)
        parameters["weights"] = list(request.vector.values)
        return Leg(tables.write(_MATCHING, **own), parameters)
    parameters["vector"] = to_vector(request.vector)
    if exact:
        return Leg(tables.write(_EXACT, predicate=where or _ALL), parameters)
    if where is None:
        return Leg(tables.write(_NEAREST), parameters)
    return Leg(tables.write(_NEAREST_WHERE, predicate=where), parameters)


def to_vector(numbers: Sequence[float]) -> str:
    """Return a dense vector as pgvector reads it."""
    return f"[{','.join(repr(float(number)) for number in numbers)}]"


def to_terms(vector: SparseVector) -> list[int]:
    """Return the term ids, which have 32 bits, as signed numbers."""
    return [term - _TERM_OFFSET for term in vector.indices]


def from_terms(terms: Sequence[int]) -> tuple[int, ...]:
    """Reverse `to_terms`."""
    return tuple(term + _TERM_OFFSET for term in terms)
