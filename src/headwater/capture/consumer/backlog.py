"""`Backlog`: the instant up to which all messages sent to the queue are captured. Pure."""

from collections import deque
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from headwater.sources.queue import Message

# A standard queue is only roughly first in, first out: one poll of young messages proves little.
_POLLS = 20


class Backlog:
    """Estimates the lag of capture from the ages of received messages. Not thread-safe.

    Requires a queue that reports send times and delivers roughly in that order, as SQS does.
    """

    def __init__(self) -> None:
        self._lags: deque[timedelta | None] = deque(maxlen=_POLLS)
        self._as_of: datetime | None = None
        self._open: dict[str, datetime | None] = {}

    def note_poll(self, messages: Sequence[Message], began: datetime, ended: datetime) -> None:
        """Record a receive call. Times are aware, UTC."""
        lags = [None if message.sent_at is None else ended - message.sent_at for message in messages]
        known = [lag for lag in lags if lag is not None]
        is_known = len(known) == len(lags)
        self._lags.append(max([*known, timedelta()]) if is_known else None)
        # An empty response describes the queue at the start of the call.
        as_of = ended if messages else began
        self._as_of = as_of if self._as_of is None else max(self._as_of, as_of)

    def find_lag(self) -> float:
        """Return the seconds that even the youngest recent poll's messages waited; 0 if unknown."""
        lags = [timedelta() if lag is None else lag for lag in self._lags]
        return min(lags, default=timedelta()).total_seconds()

    def open(self, message: Message) -> None:
        """Record a message that is received but not committed yet."""
        self._open[message.message_id] = message.sent_at

    def close(self, message_ids: Iterable[str]) -> None:
        """Record that the messages are committed."""
        for message_id in message_ids:
            self._open.pop(message_id, None)

    def find_captured_until(self) -> datetime | None:
        """Return the time before which every sent message is captured; None if unknown."""
        if self._as_of is None:
            return None
        lags = [lag for lag in self._lags if lag is not None]
        sent = [at for at in self._open.values() if at is not None]
        if len(lags) < len(self._lags) or len(sent) < len(self._open):
            return None
        return min([self._as_of - max(lags), *sent])
