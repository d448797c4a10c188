"""`SetupFinding`: the result of one check, with a fix."""

from dataclasses import dataclass
from typing import Literal

from headwater.errors import HeadwaterError

Status = Literal["ok", "warning", "problem"]


@dataclass(frozen=True, slots=True)
class SetupFinding:
    """`name` is the checked item, dotted (`source.queue.policy`); `fix` is empty if all is well.

    A warning leaves headwater working, or marks a property that cannot be checked from here.
    """

    name: str
    status: Status
    detail: str
    fix: str = ""


def to_finding(name: str, error: HeadwaterError) -> SetupFinding:
    """Convert an error to a finding with a problem."""
    return SetupFinding(name, "problem", error.message, error.hint)
