"""`POST /search` and `GET /products/{id}/similar`."""

import time
from typing import Annotated

from fastapi import APIRouter, Depends, Query

from headwater.rag.retrieval.query import SearchQuery, SearchResult
from headwater.serve.access import Caller
from headwater.serve.filters import parse_filters
from headwater.serve.problems import RequestError
from headwater.serve.schemas import MAX_LIMIT, Hit, Request, SearchAnswer, SearchBody
from headwater.serve.service import Service, id_of, plain_fields, score_of


def build_query(body: Request, limit: int, caller: Caller, service: Service) -> SearchQuery:
    """Build the query; the tenant comes from the key, never from the body. Raises `RequestError`."""
    allowed = service.config.max_query_characters
    if len(body.query) > allowed:
        raise RequestError(
            "query_too_long", f"the query has {len(body.query)} characters; the limit is {allowed}"
        )
    return SearchQuery(
        text=body.query,
        limit=limit,
        conditions=tuple(parse_filters(body.filters, service.searcher.filterable())),
        tenant=caller.tenant,
        diversity=body.diversity,
        as_of=body.as_of,
        similarity=body.similarity_threshold,
    )


def build_router(service: Service) -> APIRouter:
    """Build the routes."""
    router = APIRouter(tags=["search"])
    Admitted = Annotated[Caller, Depends(service.access.admit)]  # noqa: N806 - a type, made from an object

    @router.post("/search", response_model=SearchAnswer, summary="Find rows")
    async def search(body: SearchBody, caller: Admitted) -> SearchAnswer:
        started = time.perf_counter()
        if body.raw_scores and not caller.is_admin:
            raise RequestError("forbidden", "`raw_scores` requires a key with scope admin")
        query = build_query(body, body.limit, caller, service)
        result = await service.pool.run(service.searcher.search, query)
        return _build_answer(service, result, caller, started, body.raw_scores)

    @router.get(
        "/products/{product_id:path}/similar",
        response_model=SearchAnswer,
        summary="Find rows similar to this one",
    )
    async def similar(
        product_id: str, caller: Admitted, limit: Annotated[int, Query(ge=1, le=MAX_LIMIT)] = 10
    ) -> SearchAnswer:
        started = time.perf_counter()
        result = await service.pool.run(service.searcher.similar, product_id, limit, caller.tenant)
        if result is None:
            raise RequestError("product_not_found")
        return _build_answer(service, result, caller, started)

    return router


def _build_answer(
    service: Service, result: SearchResult, caller: Caller, started: float, raw: bool = False
) -> SearchAnswer:
    hits = [
        Hit(
            id=id_of(service, row),
            rank=row.rank,
            score=score_of(row, caller, raw),
            text=row.text,
            fields=plain_fields(row.fields),
            matched_terms=list(row.matched_terms),
        )
        for row in result.rows
    ]
    seconds = time.perf_counter() - started
    service.metrics.observe("search_seconds", seconds)
    stamp = service.stamp(result, seconds)
    return SearchAnswer(**dict(stamp), hits=hits, understood=dict(result.understood))
