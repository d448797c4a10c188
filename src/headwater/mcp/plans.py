"""`Plans`: changes that were previewed, by the token that applies each of them once."""

import secrets
from collections.abc import Callable
from dataclasses import dataclass

from headwater.errors import UsageError
from headwater.mcp.commands import Arguments

LIFETIME_SECONDS = 15 * 60
_MOST_PLANS = 100


@dataclass(frozen=True, slots=True)
class _Plan:
    command: Arguments
    expires: float


class Plans:
    """Remembers planned commands in this process. `clock` counts seconds and never goes back."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._plans: dict[str, _Plan] = {}

    def add(self, command: Arguments) -> str:
        """Return the token of a command whose preview was shown."""
        now = self._clock()
        live = {token: plan for token, plan in self._plans.items() if plan.expires > now}
        self._plans = dict(list(live.items())[1 - _MOST_PLANS :])
        token = secrets.token_urlsafe(12)
        self._plans[token] = _Plan(command, now + LIFETIME_SECONDS)
        return token

    def take(self, token: str) -> Arguments:
        """Return the token's command, once. Raises `UsageError` for an unknown, used or expired token."""
        plan = self._plans.pop(token, None)
        if plan is None or plan.expires <= self._clock():
            raise UsageError(
                "the token is unknown, used or older than 15 minutes", hint="plan the change again"
            )
        return plan.command
