"""`SetupFinding`: what one check saw, and what to do about it."""

from dataclasses import dataclass
from typing import Literal

from headwater.errors import HeadwaterError

Status = Literal["ok", "warning", "problem"]


@dataclass(frozen=True, slots=True)
class SetupFinding:
    """`name` is what was looked at, dotted (`source.queue.policy`); `fix` is empty when all is well.

    A warning leaves headwater working, or is a doubt that cannot be settled from here.
    """

    name: str
    status: Status
    detail: str
    fix: str = ""


def to_finding(name: str, error: HeadwaterError) -> SetupFinding:
    """The problem that an error tells of."""
    return SetupFinding(name, "problem", error.message, error.hint)
