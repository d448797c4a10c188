"""`Emptiness`: when "everything that was there at the start" has been received. Pure."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from headwater.capture.queues.protocol import Message

# A poll that returned only messages younger than our start weighs a tenth of an empty one.
_EMPTY_WEIGHT = 10
_YOUNGER_WEIGHT = 1
# Clocks of the queue and of this machine differ a little.
_CLOCK_TOLERANCE = timedelta(seconds=5)


class Emptiness:
    """Counts consecutive long polls that found nothing old. Not thread-safe."""

    def __init__(self, started: datetime, empty_polls: int) -> None:
        self._horizon = started + _CLOCK_TOLERANCE
        self._needed = empty_polls * _EMPTY_WEIGHT
        self._points = 0
        self._last_found = float("-inf")

    def report(self, messages: Iterable[Message], poll_started: float, poll_ended: float) -> None:
        """Take note of a poll; times are seconds of one monotonic clock."""
        messages = list(messages)
        if any(message.sent_at is None or message.sent_at <= self._horizon for message in messages):
            self._points = 0
            self._last_found = poll_ended
        elif poll_started >= self._last_found:
            # A poll that overlaps one with a result has seen the queue before it was empty.
            self._points += _YOUNGER_WEIGHT if messages else _EMPTY_WEIGHT

    def reset(self) -> None:
        """Somebody may have put something back."""
        self._points = 0

    @property
    def is_reached(self) -> bool:
        """True when enough polls in a row found nothing old."""
        return self._points >= self._needed
