"""Wraps every request: its id, size limit, timing and log line; hides internals in errors."""

import re
import time
import uuid
from collections.abc import Mapping
from types import MappingProxyType

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headwater.observability.metrics import Metrics
from headwater.serve.problems import RequestError

REQUEST_ID = "X-Request-Id"
_GIVEN_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_READING = frozenset({"GET", "HEAD", "OPTIONS"})
_HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    }
)
log = structlog.stdlib.get_logger(__name__)


def build_policy(*, has_images: bool) -> str:
    """Return the content security policy of the page. Images of products come from any `https` host."""
    images = "'self' https:" if has_images else "'self'"
    return (
        f"default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src {images}; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
    )


class Frame:
    """Plain ASGI: a streaming response passes through part by part."""

    def __init__(self, app: ASGIApp, metrics: Metrics, max_body_bytes: int, policy: str) -> None:
        self._app = app
        self._metrics = metrics
        self._max_body_bytes = max_body_bytes
        self._headers = {"Content-Security-Policy": policy, **_HEADERS}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request; pass anything except HTTP through."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        given = Headers(scope=scope).get(REQUEST_ID, "")
        request_id = given if _GIVEN_ID.fullmatch(given) else uuid.uuid4().hex
        scope.setdefault("state", {})["request_id"] = request_id
        reply = _Reply(send, request_id, self._headers)
        started = time.perf_counter()
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            try:
                await self._pass_on(scope, receive, reply)
            except Exception:
                # The error text is for the log, which redacts secrets.
                log.exception("request failed")
                if not reply.status:
                    await RequestError("internal").to_response(request_id)(scope, receive, reply)
            finally:
                self._account(scope, reply.status, time.perf_counter() - started)

    async def _pass_on(self, scope: Scope, receive: Receive, reply: "_Reply") -> None:
        if scope["method"] in _READING:
            await self._app(scope, receive, reply)
            return
        try:
            body = await self._read_body(scope, receive)
        except RequestError as problem:
            self._metrics.count("requests_refused", reason=problem.code)
            response: Response = problem.to_response(scope["state"]["request_id"])
            # Unread bytes would be parsed as the next request.
            response.headers["Connection"] = "close"
            await response(scope, receive, reply)
            return
        await self._app(scope, _Replay(body, receive), reply)

    async def _read_body(self, scope: Scope, receive: Receive) -> bytes:
        headers = Headers(scope=scope)
        limit = self._max_body_bytes
        length = headers.get("Content-Length", "0")
        if not length.isdecimal() or len(length) > 12 or int(length) > limit:
            raise RequestError("body_too_large", f"the limit is {limit} bytes")
        body = bytearray()
        while True:
            message = await receive()
            body += message.get("body", b"")
            if len(body) > limit:
                raise RequestError("body_too_large", f"the limit is {limit} bytes")
            if not message.get("more_body") or message["type"] == "http.disconnect":
                break
        kind = headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise RequestError("unsupported_media_type")
        try:
            body.decode("utf-8")
        except UnicodeDecodeError as error:
            raise RequestError("not_utf8", f"invalid byte at offset {error.start}") from error
        return bytes(body)

    def _account(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "other")
        self._metrics.count("requests", route=route, status=str(status or 499))
        self._metrics.observe("request_seconds", seconds, route=route)
        # The query is not logged: it may contain personal data.
        log.info(
            "request",
            method=scope["method"],
            route=route,
            status=status or 499,
            took_ms=round(seconds * 1000, 1),
            key=scope["state"].get("key_name", ""),
        )


class _Reply:
    """`send` with our headers; `status` is 0 until the response has begun."""

    def __init__(self, send: Send, request_id: str, headers: Mapping[str, str]) -> None:
        self._send = send
        self._request_id = request_id
        self._headers = headers
        self.status = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers[REQUEST_ID] = self._request_id
            for name, value in self._headers.items():
                headers[name] = value
            headers.setdefault("Cache-Control", "no-store")
        await self._send(message)


class _Replay:
    """`receive` that returns a body already read, then the following messages."""

    def __init__(self, body: bytes, receive: Receive) -> None:
        self._body: bytes | None = body
        self._receive = receive

    async def __call__(self) -> Message:
        if self._body is None:
            return await self._receive()
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}
