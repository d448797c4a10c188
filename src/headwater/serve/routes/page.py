"""The page: static files of this package, the settings that it loads first, and products as cards."""

import time
from collections.abc import Callable
from importlib.resources import files
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from headwater.rag.generation.product import name_in_words
from headwater.rag.retrieval.query import SearchResult
from headwater.serve.access import Caller
from headwater.serve.cards import Card
from headwater.serve.problems import RequestError
from headwater.serve.routes.search import build_query
from headwater.serve.schemas import MAX_LIMIT, Request
from headwater.serve.service import Service, id_of

SIMILAR_PRODUCTS = 12

_KINDS = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


def build_router(service: Service) -> APIRouter:
    """Build the routes. The files require no key; the requests of the page do."""
    router = APIRouter(include_in_schema=False)
    Admitted = Annotated[Caller, Depends(service.access.admit)]  # noqa: N806 - a type, made from an object
    _add_files(router)

    @router.get("/page/setup")
    async def setup(caller: Admitted) -> dict[str, Any]:
        page = service.cards.page
        known = service.searcher.filterable()
        return {
            "fields": {name: kind for name, kind in known.items() if name not in (page.link, page.image)},
            "max_query_characters": service.config.max_query_characters,
            "operator": caller.is_operator,
            "examples": page.examples,
            "sort": [{"column": name, "name": name_in_words(name)} for name in page.sort],
            "has_images": page.image is not None,
        }

    @router.post("/page/search")
    async def search(body: Request, caller: Admitted) -> dict[str, Any]:
        query = build_query(body, MAX_LIMIT, caller, service)
        return await _list_cards(service, lambda: service.searcher.search(query))

    @router.get("/page/similar/{product_id:path}")
    async def similar(product_id: str, caller: Admitted) -> dict[str, Any]:
        return await _list_cards(
            service, lambda: service.searcher.similar(product_id, SIMILAR_PRODUCTS, caller.tenant)
        )

    return router


def _add_files(router: APIRouter) -> None:
    assets = {
        item.name: item.read_bytes()
        for item in files("headwater.serve").joinpath("web").iterdir()
        if item.name.rpartition(".")[2] in _KINDS
    }

    def respond(name: str) -> Response:
        if name not in assets:
            raise RequestError("not_found")
        kind = _KINDS[name.rpartition(".")[2]]
        headers = {"Cache-Control": "no-cache"}
        return Response(assets[name], media_type=f"{kind}; charset=utf-8", headers=headers)

    @router.get("/")
    async def index() -> Response:
        return respond("index.html")

    @router.get("/assets/{name}")
    async def asset(name: str) -> Response:
        return respond(name)


async def _list_cards(service: Service, find: Callable[[], SearchResult | None]) -> dict[str, Any]:
    """Return the products that `find` finds, as cards. Raises `RequestError` if it returns None."""
    started = time.perf_counter()

    def build() -> tuple[SearchResult, list[Card]]:
        found = find()
        if found is None:
            raise RequestError("product_not_found")
        return found, [service.cards.build_card(row, id_of(service, row)) for row in found.rows]

    # Markup is removed in the thread of the search: the event loop serves other requests.
    result, cards = await service.pool.run(build)
    seconds = time.perf_counter() - started
    service.metrics.observe("search_seconds", seconds)
    return {**dict(service.stamp(result, seconds)), "understood": result.understood, "cards": cards}
