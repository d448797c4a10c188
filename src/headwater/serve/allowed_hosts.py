"""Rejects requests for other host names, which prevents DNS rebinding."""

from collections.abc import Sequence

from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from headwater.observability.metrics import Metrics
from headwater.serve.problems import RequestError

_ALLOWED = "is_host_allowed"


class AllowedHosts:
    """Starlette compares the host names; a rejected request gets a problem, as every other error."""

    def __init__(self, app: ASGIApp, metrics: Metrics, hosts: Sequence[str]) -> None:
        self._app = app
        self._metrics = metrics
        self._compare = TrustedHostMiddleware(_allow, allowed_hosts=hosts, www_redirect=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request; pass anything except HTTP through."""
        if scope["type"] == "http":
            await self._compare(scope, receive, _discard)
            if not scope["state"].get(_ALLOWED):
                problem = RequestError("host_not_allowed")
                self._metrics.count("requests_refused", reason=problem.code)
                response = problem.to_response(scope["state"]["request_id"])
                await response(scope, receive, send)
                return
        await self._app(scope, receive, send)


async def _allow(scope: Scope, receive: Receive, send: Send) -> None:
    del receive, send
    scope["state"][_ALLOWED] = True


async def _discard(message: Message) -> None:
    del message
