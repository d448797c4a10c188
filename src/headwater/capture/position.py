"""`Position`: a consumer's offset in the events table. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

WHOLE_COMMIT = 2**31 - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_TEXT = re.compile(r"^(\d{17}):(\d+)$")


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """The offset after all events up to `batch_index` of the commit completed at `completed`.

    `completed` is a completion time of the events table (Hudi's `yyyyMMddHHmmssSSS`), so a commit
    requested early and completed late is never skipped.
    """

    completed: str
    batch_index: int = WHOLE_COMMIT

    def to_text(self) -> str:
        """Return the form stored in commit metadata."""
        return f"{self.completed}:{self.batch_index}"

    @classmethod
    def parse(cls, text: str) -> "Position":
        """Parse the result of `to_text`. Raises `ValueError`."""
        match = _TEXT.match(text)
        if match is None:
            raise ValueError(f"not an offset in the events table: {text!r}")
        return cls(match[1], int(match[2]))


def build_position(time: datetime) -> Position:
    """Return the offset after every commit completed before the time; a time without a zone is UTC."""
    when = time.astimezone(timezone.utc) if time.tzinfo else time.replace(tzinfo=timezone.utc)
    if when <= _EPOCH:
        return BEGINNING
    # A commit completed in the same millisecond is not before the time.
    last = when - timedelta(milliseconds=1)
    return Position(f"{last:%Y%m%d%H%M%S}{last.microsecond // 1000:03}")


def parse_instant(instant: str) -> datetime:
    """Return the time of a commit (`yyyyMMddHHmmssSSS`, UTC in our tables). Raises `ValueError`."""
    return datetime.strptime(f"{instant}000", "%Y%m%d%H%M%S%f").replace(tzinfo=timezone.utc)


BEGINNING = Position("0" * 17, WHOLE_COMMIT)
"""Before the first event."""
END = Position("9" * 17, WHOLE_COMMIT)
"""After every event, including those not committed yet."""


@dataclass(frozen=True, slots=True, order=True)
class EventRange:
    """The events after one offset, up to another one."""

    after: Position
    until: Position

    def has(self, position: Position) -> bool:
        """True if the event with this offset is in the range."""
        return self.after < position <= self.until


def find_gaps(ranges: Sequence[EventRange]) -> list[EventRange]:
    """Return the ranges of all events that are in none of these ranges, in order."""
    gaps, after = [], BEGINNING
    for one in sorted(ranges):
        if after < one.after:
            gaps.append(EventRange(after, one.after))
        after = max(after, one.until)
    return [*gaps, EventRange(after, END)]
