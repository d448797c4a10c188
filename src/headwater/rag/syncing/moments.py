"""Chooses the chunks commit that answers as of an instant. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile

from headwater.errors import AsOfUnavailableError
from headwater.rag.index_state import IndexState

_HINT = "ask without `as_of` for an answer of now"
_INSTANT = re.compile(r"[0-9]{17}")


@dataclass(frozen=True, slots=True)
class Moment:
    """One commit of the chunks: when it was requested, and its state."""

    requested: str
    state: IndexState

    @property
    def as_of(self) -> str:
        """Return the completion time of the data table's newest commit in it."""
        return self.state.as_of


@dataclass(frozen=True, slots=True)
class Choice:
    """The moment that answers as of every instant from its own `as_of` to before `until`."""

    moment: Moment
    until: str


def keep_answerable(moments: Sequence[Moment], selection: str) -> list[Moment]:
    """Return the newest moments (oldest first), back to the last change of rows, fields or tenant.

    An older chunk may belong to another tenant, or be of a row that is now excluded.
    """
    found = list(takewhile(lambda moment: moment.state.selection == selection, reversed(moments)))
    return found[::-1]


def check_instant(asked: str, newest: str) -> None:
    """Raise `AsOfUnavailableError` for an invalid instant, or one after `newest`, the index's commit."""
    if not _is_instant(asked):
        raise AsOfUnavailableError(
            f"{asked!r} is no instant; one is `yyyyMMddHHmmssSSS` in UTC, such as {newest}", hint=_HINT
        )
    if asked > newest:
        raise AsOfUnavailableError(
            f"what the table holds as of {asked} is not known yet: the index holds {newest or 'no commit'}",
            hint=_HINT,
        )


def choose_moment(answerable: Sequence[Moment], asked: str, newest: str) -> Choice:
    """Return the newest moment (oldest first) without data after `asked`, an instant up to `newest`.

    Among several as of the same commit, the last one counts, such as a purge or a repeated pass. Raises
    `AsOfUnavailableError` when all are later.
    """
    earlier = [moment for moment in answerable if moment.as_of <= asked]
    if not earlier:
        oldest = answerable[0].as_of if answerable else newest
        raise AsOfUnavailableError(
            f"there is no answer as of {asked} any more: the oldest is of {oldest}, the newest of {newest}",
            hint="search.keep_commits says how far back answers reach, from the next commit on",
        )
    # Not simply the next one's: after a restore of the data table, a commit may be as of an earlier one.
    later = (moment.as_of for moment in answerable if moment.as_of > asked)
    return Choice(earlier[-1], min(later, default=newest))


def _is_instant(text: str) -> bool:
    if not _INSTANT.fullmatch(text):
        return False
    try:
        datetime.strptime(f"{text}000", "%Y%m%d%H%M%S%f")
    except ValueError:
        return False
    return True
