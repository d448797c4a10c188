"""`Emptiness`: detects that all messages present at the start were received. Pure."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from headwater.sources.queue import Message

# A poll with only messages younger than the start of the run weighs a tenth of an empty one.
_EMPTY_WEIGHT = 10
_YOUNGER_WEIGHT = 1
# Clocks of the queue and of this machine differ a little.
_CLOCK_TOLERANCE = timedelta(seconds=5)


class Emptiness:
    """Counts consecutive long polls without an old message. Not thread-safe."""

    def __init__(self, started: datetime, empty_polls: int) -> None:
        self._horizon = started + _CLOCK_TOLERANCE
        self._needed = empty_polls * _EMPTY_WEIGHT
        self._points = 0
        self._last_found = float("-inf")

    def report(self, messages: Iterable[Message], poll_started: float, poll_ended: float) -> None:
        """Record a poll; times are seconds of one monotonic clock."""
        messages = list(messages)
        if any(message.sent_at is None or message.sent_at <= self._horizon for message in messages):
            self._points = 0
            self._last_found = poll_ended
        elif poll_started >= self._last_found:
            # A poll that overlaps one with a result may have read the queue before it was empty.
            self._points += _YOUNGER_WEIGHT if messages else _EMPTY_WEIGHT

    def reset(self) -> None:
        """Restart the count: messages may have returned to the queue."""
        self._points = 0

    @property
    def is_reached(self) -> bool:
        """True if enough consecutive polls found no old message."""
        return self._points >= self._needed
