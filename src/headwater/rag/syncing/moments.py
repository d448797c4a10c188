"""Chooses the chunks commit that answers as of an instant. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile

from headwater.errors import AsOfUnavailableError
from headwater.rag.index_state import IndexState

_HINT = "omit `as_of` to query the current index"
_INSTANT = re.compile(r"[0-9]{17}")


@dataclass(frozen=True, slots=True)
class Moment:
    """One commit of the chunks: when it was requested, and its state."""

    requested: str
    state: IndexState

    @property
    def as_of(self) -> str:
        """Return the completion time of the newest data table commit in it."""
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
            f"invalid instant {asked!r}; the format is `yyyyMMddHHmmssSSS` in UTC, such as {newest}",
            hint=_HINT,
        )
    if asked > newest:
        raise AsOfUnavailableError(
            f"the index does not reach {asked} yet; its newest commit is {newest or 'none'}",
            hint=_HINT,
        )


def choose_moment(answerable: Sequence[Moment], asked: str, newest: str) -> Choice:
    """Return the newest moment (oldest first) without data after `asked`, an instant up to `newest`.

    If several are as of the same commit, such as a purge or a repeated pass, the last one counts. Raises
    `AsOfUnavailableError` when all are later.
    """
    earlier = [moment for moment in answerable if moment.as_of <= asked]
    if not earlier:
        oldest = answerable[0].as_of if answerable else newest
        raise AsOfUnavailableError(
            f"the index no longer reaches back to {asked}; it covers {oldest} to {newest}",
            hint="to keep more commits from the next one on, increase search.keep_commits",
        )
    # Not simply the `as_of` of the next moment: after a restore of the data table, a commit may be as of an
    # earlier one.
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
