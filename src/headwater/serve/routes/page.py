"""The page: static files of this package, and the settings that it loads first."""

from importlib.resources import files
from typing import Annotated, Any

from fastapi import APIRouter, Depends
from fastapi.responses import Response

from headwater.serve.access import Caller
from headwater.serve.problems import RequestError
from headwater.serve.service import Service

_KINDS = {"html": "text/html", "css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}


def build_router(service: Service) -> APIRouter:
    """Build the routes. The files require no key; the requests of the page do."""
    router = APIRouter(include_in_schema=False)
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

    @router.get("/page/setup")
    async def setup(caller: Annotated[Caller, Depends(service.access.admit)]) -> dict[str, Any]:
        return {
            "fields": dict(service.searcher.filterable()),
            "max_query_characters": service.config.max_query_characters,
            "operator": caller.is_operator,
        }

    return router
