"""`GET /docs`: the operations of the API as a page without scripts, which needs no other host."""

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

from headwater.serve.service import Service

_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>headwater API</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="/assets/style.css"></head>
<body><main><h1>headwater API {version}</h1>
<p>The machine-readable description is <a href="/openapi.json">openapi.json</a> (OpenAPI 3.1): open it in any
OpenAPI tool, or generate a client from it.</p>
{operations}</main></body></html>
"""


def build_router(service: Service) -> APIRouter:
    """Build the route. It requires no key, as the description itself."""
    del service
    router = APIRouter(include_in_schema=False)

    @router.get("/docs")
    async def docs(request: Request) -> HTMLResponse:
        description = request.app.openapi()
        operations = "\n".join(_iter_operations(description["paths"]))
        return HTMLResponse(
            _PAGE.format(version=escape(description["info"]["version"]), operations=operations)
        )

    return router


def _iter_operations(paths: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    for path, operations in paths.items():
        for method, operation in operations.items():
            yield f"<h2><code>{method.upper()} {escape(path)}</code></h2>"
            yield f"<p>{escape(operation.get('summary', ''))}.</p>"
            parameters = [
                f"<li><code>{escape(one['name'])}</code> ({escape(one['in'])})</li>"
                for one in operation.get("parameters", [])
            ]
            if parameters:
                yield f"<ul>{''.join(parameters)}</ul>"
            body = (
                operation.get("requestBody", {})
                .get("content", {})
                .get("application/json", {})
                .get("schema", {})
            )
            if body:
                yield f"<p>Body: <code>{escape(body.get('$ref', '').rpartition('/')[2])}</code> as JSON.</p>"
