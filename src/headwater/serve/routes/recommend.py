"""`POST /recommend`: an answer, as one response or as server-sent events."""

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Annotated, Any

import structlog
from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response, StreamingResponse
from fastapi.sse import format_sse_event
from pydantic_core import to_json

from headwater.errors import HeadwaterError
from headwater.rag.recommender import Answer, Found, Said
from headwater.rag.retrieval.query import SearchQuery
from headwater.serve.access import Caller
from headwater.serve.problems import RequestError, translate_error
from headwater.serve.routes.search import build_query
from headwater.serve.schemas import Recommendation, RecommendBody, RecommendedProduct
from headwater.serve.service import Service, id_of, plain_fields, score_of

EVENT_STREAM = "text/event-stream"
log = structlog.stdlib.get_logger(__name__)
_STREAM_DOCS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "The answer; as events: `products`, `token` (one checked statement each), `done`.",
        "content": {EVENT_STREAM: {"schema": {"type": "string"}}},
    }
}


def build_router(service: Service) -> APIRouter:
    """Build the route."""
    router = APIRouter(tags=["recommend"])
    Admitted = Annotated[Caller, Depends(service.access.admit)]  # noqa: N806 - a type, made from an object

    @router.post(
        "/recommend", response_model=Recommendation, summary="Answer a question", responses=_STREAM_DOCS
    )
    async def recommend(body: RecommendBody, request: Request, caller: Admitted) -> Recommendation | Response:
        started = time.perf_counter()
        query = build_query(body, body.limit, caller, service)
        if body.stream or EVENT_STREAM in request.headers.get("Accept", ""):
            events = _iter_events(service, query, caller, started, request.state.request_id)
            # Search before the first byte, so that a failure can still set the status.
            first = await anext(events)
            return StreamingResponse(
                _chain(first, events), media_type=EVENT_STREAM, headers={"X-Accel-Buffering": "no"}
            )
        found, answer = await service.recommender.recommend(query)
        return _build(service, query, caller, started, found, answer)

    return router


async def _chain(first: bytes, rest: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    async with aclosing(rest):
        yield first
        async for part in rest:
            yield part


async def _iter_events(
    service: Service, query: SearchQuery, caller: Caller, started: float, request_id: str
) -> AsyncGenerator[bytes, None]:
    found: Found | None = None
    try:
        async with aclosing(service.recommender.stream(query)) as events:
            async for event in events:
                if isinstance(event, Found):
                    found = event
                    stamp = service.stamp(event.result, time.perf_counter() - started)
                    yield _event(
                        "products", {**dict(stamp), "products": _list_products(service, event, caller)}
                    )
                elif isinstance(event, Said):
                    yield _event("token", {"text": event.text})
                elif found:
                    yield _event("done", _build(service, query, caller, started, found, event))
    except Exception as error:
        if found is None:
            raise
        # The status has been sent, so an event reports the error.
        log.exception("answer interrupted")
        problem = translate_error(error) if isinstance(error, HeadwaterError) else RequestError("internal")
        yield _event("error", problem.to_body(request_id))


def _build(
    service: Service, query: SearchQuery, caller: Caller, started: float, found: Found, answer: Answer
) -> Recommendation:
    _count(service, answer)
    ids = {item.label: id_of(service, item.row) for item in found.products}
    seconds = time.perf_counter() - started
    service.metrics.observe("answer_seconds", seconds, mode=answer.mode)
    return Recommendation(
        **dict(service.stamp(found.result, seconds)),
        success=bool(found.products),
        query=query.text,
        message=answer.message,
        products=_list_products(service, found, caller),
        mode=answer.mode,
        degraded=answer.degraded,
        degraded_reason=answer.reason if answer.degraded else "",
        citations=[ids[label] for label in answer.cited],
        removed=dict(answer.removed),
        prompt_version=answer.prompt_version,
        understood=dict(found.result.understood),
    )


def _count(service: Service, answer: Answer) -> None:
    service.metrics.count("answers", mode=answer.mode)
    if answer.degraded:
        service.metrics.count("answers_degraded", reason=answer.reason)
    for fault, amount in answer.removed.items():
        service.metrics.count("statements_ungrounded", amount, fault=fault)


def _list_products(service: Service, found: Found, caller: Caller) -> list[RecommendedProduct]:
    return [
        RecommendedProduct(
            id=id_of(service, item.row),
            matched_content=[item.row.text],
            title=item.title,
            score=score_of(item.row, caller),
            fields=plain_fields(item.row.fields),
            matched_terms=list(item.row.matched_terms),
        )
        for item in found.products
    ]


def _event(name: str, data: object) -> bytes:
    return format_sse_event(event=name, data_str=to_json(data).decode("utf-8"))
