"""Finds failing units by bisection: tries groups of them. Pure."""

from collections.abc import Callable, Mapping, Sequence
from typing import Generic, TypeVar

Unit = TypeVar("Unit")

Attempt = Callable[[Sequence[Unit]], str | None]
"""Tries units together; returns None on success, else the reason."""


class TooManyTriesError(Exception):
    """Raised when bisection is aborted because too many units fail."""


def find_failing(units: Sequence[Unit], attempt: Attempt[Unit], max_tries: int) -> Mapping[Unit, str]:
    """Return the units that fail on their own, each with the reason; `units` fail together.

    Empty if they fail only in combination. With k of n failing it takes at most 2 k (log2(n) + 1) tries and
    never more than 2 n. Raises `TooManyTriesError`, and the errors of `attempt`.
    """
    search = _Search(attempt, max_tries)
    search.split(units, "")
    return search.found


class _Search(Generic[Unit]):
    def __init__(self, attempt: Attempt[Unit], max_tries: int) -> None:
        self._attempt = attempt
        self._tries_left = max_tries
        self.found: dict[Unit, str] = {}

    def split(self, units: Sequence[Unit], reason: str) -> None:
        """Search units that fail together; without a `reason`, the failure is inferred, not tried."""
        if len(units) == 1:
            reason = reason or self._try(units) or ""
            if reason:
                self.found[units[0]] = reason
            return
        middle = (len(units) + 1) // 2
        left, right = units[:middle], units[middle:]
        if reason_left := self._try(left):
            self.split(left, reason_left)
            if reason_right := self._try(right):
                self.split(right, reason_right)
        else:
            # The left half works, so the right one fails: no try is needed.
            self.split(right, "")

    def _try(self, units: Sequence[Unit]) -> str | None:
        if not self._tries_left:
            raise TooManyTriesError
        self._tries_left -= 1
        return self._attempt(units)
