"""A batch and its closing rule: by age, count or bytes, adapted to the load. Pure."""

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from headwater.capture.captured_event import CapturedEvent
from headwater.capture.consumer.reading import MessageReading
from headwater.capture.quarantine_item import QuarantineItem

# After a pause, a batch closes when it has not grown for this share of its maximum age.
_QUIET_SHARE = 0.25
_PAUSE_FACTOR = 4
Demand = Literal["all", "some", "none"]
"""How many readers of the events wait for the next commit and are idle."""

# Objects that arrive together are committed together if all tables wait. If none waits, a commit now would
# only delay theirs, and they would read it no sooner.
_AGE_BY_DEMAND: Mapping[Demand, float] = {"all": 0.1, "some": 1, "none": 2}

# Under load a batch lasts as long as two commits, so commits take at most a third of the time. Objects that
# waited in the queue for longer than a batch may last are late already: they go into full batches.
_COMMITS_PER_BATCH = 2
_MAX_LOADED_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """Limits that close a batch; `min_interval` is the minimum time in seconds between two commit starts."""

    seconds: float
    messages: int
    bytes: int
    min_interval: float = 0


@dataclass(frozen=True, slots=True)
class Pace:
    """Measured progress, in seconds of the monotonic clock.

    `loaded`: receive calls return full batches. `lag_seconds`: how long recent messages waited in the queue.
    """

    commit_started: float = -math.inf
    commit_ended: float = -math.inf
    commit_seconds: float = 0
    loaded: bool = False
    lag_seconds: float = 0
    demand: Demand = "some"


@dataclass(slots=True)
class MessageBatch:
    """Messages that become one commit. Duplicate events and bad parts are added only once.

    The first message was received at `received_at`, and parsed at `opened_at`. Parsing took `parse_seconds`
    in the threads of all receivers.
    """

    received_at: float = 0
    parse_seconds: float = 0
    opened_at: float = 0
    touched_at: float = 0
    size: int = 0
    message_ids: list[str] = field(default_factory=list)
    events: dict[str, CapturedEvent] = field(default_factory=dict)
    quarantine: dict[str, QuarantineItem] = field(default_factory=dict)
    skipped: Counter[str] = field(default_factory=Counter)
    duplicates: int = 0

    def note_parsing(self, began: float, ended: float) -> None:
        """Record when messages were received and parsed. Call it before they are added."""
        if not self.message_ids:
            self.received_at = began
        self.parse_seconds += ended - began

    def add(self, reading: MessageReading, now: float) -> None:
        """Add the contents of a message."""
        if not self.message_ids:
            self.opened_at = now
        self.touched_at = now
        self.size += reading.size
        self.message_ids.append(reading.message_id)
        if reading.skipped:
            self.skipped.update(reading.skipped)
        for captured in reading.events:
            event_id = captured.event.event_id
            if event_id in self.events:
                self.duplicates += 1
            else:
                self.events[event_id] = captured
        for item in reading.quarantine:
            self.quarantine.setdefault(item.quarantine_id, item)

    def is_full(self, limits: BatchLimits) -> bool:
        """True if no more messages should be received for the batch."""
        return len(self.message_ids) >= limits.messages or self.size >= limits.bytes

    def seconds_until_close(self, limits: BatchLimits, pace: Pace, now: float) -> float:
        """Return the seconds until the batch closes: 0 closes it now, infinity means it is empty."""
        if not self.message_ids:
            return math.inf
        hold = pace.commit_started + limits.min_interval - now
        if self.is_full(limits):
            return max(0.0, hold)
        due = self.opened_at + limits.seconds * _AGE_BY_DEMAND[pace.demand]
        quiet = self.touched_at + _QUIET_SHARE * limits.seconds
        if self.opened_at - pace.commit_ended >= _PAUSE_FACTOR * limits.seconds:
            # The first object after a pause: waiting longer would rarely add another one.
            due = min(due, quiet)
        elif pace.loaded:
            # A batch that stopped growing marks the end of the load, even if receive calls still wait.
            due = max(due, min(self.opened_at + _loaded_age_limit(pace), quiet))
        return max(0.0, due - now, hold)


def _loaded_age_limit(pace: Pace) -> float:
    if pace.lag_seconds > _MAX_LOADED_SECONDS:
        return _MAX_LOADED_SECONDS
    return min(_COMMITS_PER_BATCH * pace.commit_seconds, _MAX_LOADED_SECONDS)


def choose_active_receivers(active: int, most: int, received: int, asked: int) -> int:
    """Return the number of receivers to run after a call that requested `asked` and got `received` messages.

    Adds one while responses are at least half full (SQS rarely fills them), removes one after an empty
    response; the minimum is one.
    """
    if received == 0:
        return max(1, active - 1)
    return min(most, active + 1) if received * 2 >= asked else active
