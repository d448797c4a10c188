"""Plan one batch of one table: which events, which objects, where the checkpoint ends. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from headwater.capture.position import Position
from headwater.capture.stored_event import StoredEvent
from headwater.ingest.planning.decision import Action, Decision
from headwater.ingest.planning.ledger_entry import LedgerEntry
from headwater.ingest.planning.observation import is_retract
from headwater.ingest.planning.selection import KeySelector


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one batch. The first object is always taken, however big."""

    max_files: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class Batch:
    """The table's own events of one batch; `end` is the checkpoint after it.

    `foreign` counts events of other buckets by bucket, `filtered` those the table's rules left out. `more`
    says that the page holds further events behind `end`.
    """

    events: tuple[StoredEvent, ...]
    end: Position
    filtered: int
    foreign: Counter[str]
    more: bool


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """What is decided about the events of a batch, and what is known of their objects, by object id."""

    batch: Batch
    decisions: tuple[Decision, ...]
    states: Mapping[str, LedgerEntry]

    def choose(self, *actions: Action) -> tuple[Decision, ...]:
        """The decisions for one of the actions."""
        return tuple(decision for decision in self.decisions if decision.action in actions)


@dataclass(frozen=True, slots=True)
class Scope:
    """What a table looks at: one bucket, keys under a prefix, and its own rules."""

    bucket: str
    prefix: str
    selector: KeySelector

    def relative_key(self, key: str) -> str | None:
        """The key below the source's prefix; None when it is outside."""
        return key[len(self.prefix) :] if key.startswith(self.prefix) else None

    def includes(self, bucket: str, key: str) -> bool:
        """Whether an object belongs to the table."""
        relative = self.relative_key(key)
        return bucket == self.bucket and relative is not None and self.selector(relative) is None


def take_batch(events: Sequence[StoredEvent], page_end: Position, scope: Scope, limits: Limits) -> Batch:
    """Take the table's events in order until a limit is met.

    `events` are one page, in order of position; a batch that ends inside a commit resumes there.
    """
    taken: list[StoredEvent] = []
    filtered = size = 0
    foreign: Counter[str] = Counter()
    end = page_end
    more = False
    for stored in events:
        event = stored.event
        if event.bucket != scope.bucket:
            # Never fetched: a forged message must not make us read somebody else's bucket.
            foreign[event.bucket] += 1
            continue
        relative = scope.relative_key(event.key)
        is_own = relative is not None and scope.selector(relative) is None
        if is_own == is_retract(event):
            # What the rules leave out; and what they do not leave out any more.
            filtered += 1
            continue
        event_size = event.size or 0
        if taken and (len(taken) >= limits.max_files or size + event_size > limits.max_bytes):
            end, more = taken[-1].position, True
            break
        taken.append(stored)
        size += event_size
    return Batch(tuple(taken), end, filtered, foreign, more)
