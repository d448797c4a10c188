"""`Backlog`: up to which instant everything that was sent to the queue is captured. Pure."""

from collections import deque
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from headwater.capture.queues.protocol import Message

# A standard queue is first in, first out only more or less: one poll of young messages proves little.
_POLLS = 20


class Backlog:
    """Estimates from the ages of received messages how far behind the queue capture is. Not thread-safe.

    Needs a queue that tells when a message was sent and that delivers roughly in that order, as SQS does.
    """

    def __init__(self) -> None:
        self._lags: deque[timedelta | None] = deque(maxlen=_POLLS)
        self._as_of: datetime | None = None
        self._open: dict[str, datetime | None] = {}

    def note_poll(self, messages: Sequence[Message], began: datetime, ended: datetime) -> None:
        """Take note of a receive call. Times are aware, UTC."""
        lags = [None if message.sent_at is None else ended - message.sent_at for message in messages]
        known = [lag for lag in lags if lag is not None]
        is_known = len(known) == len(lags)
        self._lags.append(max([*known, timedelta()]) if is_known else None)
        # A call that came back empty says what was so when it began.
        as_of = ended if messages else began
        self._as_of = as_of if self._as_of is None else max(self._as_of, as_of)

    def open(self, message: Message) -> None:
        """The message is received and not committed yet."""
        self._open[message.message_id] = message.sent_at

    def close(self, message_ids: Iterable[str]) -> None:
        """The messages are committed."""
        for message_id in message_ids:
            self._open.pop(message_id, None)

    def find_captured_until(self) -> datetime | None:
        """Everything sent before is captured; None when that is unknown."""
        if self._as_of is None:
            return None
        lags = [lag for lag in self._lags if lag is not None]
        sent = [at for at in self._open.values() if at is not None]
        if len(lags) < len(self._lags) or len(sent) < len(self._open):
            return None
        return min([self._as_of - max(lags), *sent])
