"""Authenticates callers and limits their request rates."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass

from fastapi import Request
from limits import RateLimitItemPerMinute
from limits.storage import MemoryStorage
from limits.strategies import SlidingWindowCounterRateLimiter

from headwater.config.search.keys import ApiKey, find_key
from headwater.serve.problems import RequestError

_MAX_KEY_CHARACTERS = 512


@dataclass(frozen=True, slots=True)
class Caller:
    """The caller. `tenant` goes into every query; `is_operator` may see the pipeline's state."""

    name: str
    tenant: str | None = None
    is_admin: bool = False
    is_operator: bool = False


class Access:
    """Admits a request or raises `RequestError`. Without keys, it admits every caller, with a rate limit per
    address."""

    def __init__(self, keys: Sequence[ApiKey], requests_per_minute: int) -> None:
        self._keys = keys
        self._rate = RateLimitItemPerMinute(requests_per_minute)
        self._limiter = SlidingWindowCounterRateLimiter(MemoryStorage())

    async def admit(self, request: Request) -> Caller:
        """Return the caller. Every route depends on it, except health, readiness and the page's files."""
        address = request.client.host if request.client else ""
        given = _read_key(request)
        key = find_key(self._keys, given) if self._keys and given else None
        # A wrong key counts against its address, which limits guessing.
        self._count(f"key:{key.name}" if key else f"address:{address}")
        if not self._keys:
            return Caller("", is_operator=True)
        if key is None:
            headers = {"WWW-Authenticate": "Bearer"}
            raise RequestError("key_wrong" if given else "key_missing", headers=headers)
        request.state.key_name = key.name
        return Caller(key.name, key.tenant, key.is_admin, key.is_admin or key.tenant is None)

    async def admit_operator(self, request: Request) -> Caller:
        """Return the caller. Raises `RequestError` if its key is a tenant's without scope admin."""
        caller = await self.admit(request)
        if not caller.is_operator:
            raise RequestError(
                "forbidden", "the pipeline state requires a key without a tenant, or with scope admin"
            )
        return caller

    def _count(self, who: str) -> None:
        if self._limiter.hit(self._rate, who):
            return
        reset = self._limiter.get_window_stats(self._rate, who).reset_time
        seconds = max(1, math.ceil(reset - time.time()))
        detail = f"the limit is {self._rate.amount} requests per minute"
        raise RequestError("rate_limited", detail, headers={"Retry-After": str(seconds)})


def _read_key(request: Request) -> str:
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    given = token.strip() if scheme.lower() == "bearer" else request.headers.get("X-API-Key", "")
    return given[:_MAX_KEY_CHARACTERS]
