"""The API as one ASGI application."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from prometheus_client import CollectorRegistry
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

from headwater.config.search.keys import ApiKey
from headwater.config.search.page import PageConfig
from headwater.config.search.serving import ServeConfig
from headwater.errors import HeadwaterError
from headwater.observability.metrics import Metrics
from headwater.rag.language_models.protocol import LanguageModel
from headwater.rag.recommender import AnswerRules, Recommender
from headwater.rag.searcher import Searcher
from headwater.serve.access import Access
from headwater.serve.allowed_hosts import AllowedHosts
from headwater.serve.background import LEARN_SECONDS, refresh_for_ever, sample_for_ever
from headwater.serve.cards import CardRules
from headwater.serve.frame import REQUEST_ID, Frame, build_policy
from headwater.serve.pipeline_state import PipelineState, ReadState
from headwater.serve.problems import (
    PROBLEM_TYPE,
    RequestError,
    translate_error,
    translate_http,
    translate_validation,
)
from headwater.serve.routes import operations, page, recommend, reference, search
from headwater.serve.schemas import ProblemBody
from headwater.serve.search_pool import SearchPool
from headwater.serve.service import Service
from headwater.version import __version__

_PROBLEM = {
    "model": ProblemBody,
    "description": "An error, identified by its `code`.",
    "content": {PROBLEM_TYPE: {}},
}
log = structlog.stdlib.get_logger(__name__)


def build_service(
    config: ServeConfig,
    searcher: Searcher,
    read_state: ReadState,
    *,
    model: LanguageModel | None = None,
    keys: Sequence[ApiKey] = (),
    rules: AnswerRules | None = None,
    page: PageConfig | None = None,
) -> Service:
    """Build the state that the routes share, with metrics in a separate registry."""
    pool = SearchPool(config.concurrency, config.timeout)
    rules = rules or AnswerRules()
    recommender = Recommender(
        lambda query: pool.run(searcher.search, query),
        model,
        rules,
    )
    return Service(
        config=config,
        searcher=searcher,
        recommender=recommender,
        pool=pool,
        access=Access(keys, config.requests_per_minute),
        metrics=Metrics(CollectorRegistry()),
        pipeline=PipelineState(read_state),
        cards=CardRules(page or PageConfig(), rules.title_fields, rules.config.currency),
    )


def build_api(
    service: Service,
    refresh: Callable[[], None] | None = None,
    close: Callable[[], None] | None = None,
    learn: Callable[[], None] | None = None,
) -> FastAPI:
    """Build the application. While it runs, `refresh` is called repeatedly, and `learn` at the start and at
    intervals; `close` is called once at the end."""

    @asynccontextmanager
    async def live(api: FastAPI) -> AsyncIterator[None]:
        del api
        tasks = [asyncio.create_task(step) for step in _list_steps(service, refresh, learn)]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            service.pool.close()
            service.pipeline.close()
            if close:
                close()

    api = FastAPI(
        title="headwater",
        version=__version__,
        summary="Search and recommendations, as fresh as the table and grounded in it.",
        lifespan=live,
        # Their pages load external scripts; `routes/reference.py` needs none.
        docs_url=None,
        redoc_url=None,
        responses={"4XX": _PROBLEM, "5XX": _PROBLEM},
    )
    for module in (search, recommend, operations, page, reference):
        api.include_router(module.build_router(service))
    _add_problem_handlers(api, service)
    _add_middleware(api, service)
    return api


def _list_steps(
    service: Service, refresh: Callable[[], None] | None, learn: Callable[[], None] | None
) -> list[Coroutine[None, None, None]]:
    """Return the background tasks of the server."""
    steps = [sample_for_ever(service)]
    if refresh:
        steps.append(refresh_for_ever(refresh, service.config.sync_interval))
    if learn:
        steps.append(refresh_for_ever(learn, LEARN_SECONDS, "learn"))
    return steps


def _add_middleware(api: FastAPI, service: Service) -> None:
    # The middleware added last is the outermost.
    if service.config.allowed_hosts:
        api.add_middleware(AllowedHosts, metrics=service.metrics, hosts=service.config.allowed_hosts)
    policy = build_policy(has_images=service.cards.page.image is not None)
    limit = service.config.max_body_bytes
    api.add_middleware(Frame, metrics=service.metrics, max_body_bytes=limit, policy=policy)
    if service.config.cors_origins:
        api.add_middleware(
            CORSMiddleware,
            allow_origins=service.config.cors_origins,
            allow_methods=["GET", "POST"],
            allow_headers=["Authorization", "Content-Type", "X-API-Key", REQUEST_ID],
            expose_headers=[REQUEST_ID, "Retry-After"],
        )


def _add_problem_handlers(api: FastAPI, service: Service) -> None:
    def respond(request: Request, problem: RequestError) -> JSONResponse:
        if problem.status < 500 or problem.code in {"overloaded", "timeout"}:
            service.metrics.count("requests_refused", reason=problem.code)
        return problem.to_response(getattr(request.state, "request_id", ""))

    @api.exception_handler(RequestError)
    async def on_problem(request: Request, error: RequestError) -> JSONResponse:
        return respond(request, error)

    @api.exception_handler(RequestValidationError)
    async def on_invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        return respond(request, translate_validation(request, error))

    @api.exception_handler(HTTPException)
    async def on_http(request: Request, error: HTTPException) -> JSONResponse:
        return respond(request, translate_http(error))

    @api.exception_handler(HeadwaterError)
    async def on_error(request: Request, error: HeadwaterError) -> JSONResponse:
        log.warning("search failed", error=str(error), kind=type(error).__name__)
        return respond(request, translate_error(error))
