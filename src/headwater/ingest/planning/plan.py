"""Plans one batch of one table: its events, its objects, its checkpoint. Pure."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from headwater.capture.position import Position
from headwater.capture.stored_event import EventPage, StoredEvent
from headwater.ingest.planning.decision import Action, Decision
from headwater.ingest.planning.ledger_entry import LedgerEntry
from headwater.ingest.planning.observation import is_retract
from headwater.ingest.planning.selection import KeySelector
from headwater.ingest.planning.window import EVERYTHING, Window
from headwater.sources.lister import ListedObject


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one batch. The first object is always included, whatever its size."""

    max_files: int
    max_bytes: int


@dataclass(frozen=True, slots=True)
class Batch:
    """The table's events in one batch; `end` is the checkpoint after it.

    `foreign` counts events of other buckets by bucket, `filtered` those excluded by the table's rules. `more`
    means that the page holds further events after `end`.
    """

    events: tuple[StoredEvent, ...]
    end: Position
    filtered: int
    foreign: Counter[str]
    more: bool


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """The decisions about the events of a batch, and the states of their objects, by object id."""

    batch: Batch
    decisions: tuple[Decision, ...]
    states: Mapping[str, LedgerEntry]

    def choose(self, *actions: Action) -> tuple[Decision, ...]:
        """Return the decisions for one of the actions."""
        return tuple(decision for decision in self.decisions if decision.action in actions)


@dataclass(frozen=True, slots=True)
class Scope:
    """The selection of a table: one bucket, keys under a prefix, and its own rules.

    Of the objects with these keys, those last modified in the `window` belong to the table.
    Each key of the table begins, below the prefix, with one of `beginnings`: a quick check, as most keys of a
    bucket are of other tables.
    """

    bucket: str
    prefix: str
    selector: KeySelector
    beginnings: tuple[str, ...] = ("",)
    window: Window = EVERYTHING

    @property
    def full_beginnings(self) -> tuple[str, ...]:
        """The beginnings of whole keys."""
        return tuple(self.prefix + text for text in self.beginnings)

    def relative_key(self, key: str) -> str | None:
        """Return the key below the source's prefix; None if it is outside."""
        return key[len(self.prefix) :] if key.startswith(self.prefix) else None

    def includes(self, bucket: str, key: str) -> bool:
        """True if objects with this key belong to the table, as far as their time allows it."""
        relative = self.relative_key(key)
        return bucket == self.bucket and relative is not None and self.selector(relative) is None

    def includes_listed(self, listed: ListedObject) -> bool:
        """True if an object of the bucket belongs to the table."""
        return self.window.has(listed.last_modified) and self.includes(self.bucket, listed.key)


def take_batch(page: EventPage, scope: Scope, limits: Limits) -> Batch:
    """Select the table's events of a page in order until a limit is reached.

    A batch that ends inside a commit resumes there.
    """
    taken: list[StoredEvent] = []
    filtered = size = 0
    foreign: Counter[str] = Counter()
    end = page.end
    more = False
    bucket, beginnings = scope.bucket, scope.full_beginnings
    for stored in page.events:
        event = stored.event
        # A page that is read from disk has the events of all tables: the next line takes a quarter of the
        # time of those below it.
        if not event.key.startswith(beginnings) and event.bucket == bucket and not is_retract(event):
            filtered += 1
            continue
        if event.bucket != bucket:
            # Never fetched: a forged message must not make headwater read another bucket.
            foreign[event.bucket] += 1
            continue
        relative = scope.relative_key(event.key)
        is_own = relative is not None and scope.selector(relative) is None
        if is_own == is_retract(event):
            # Counts keys that the rules exclude, or exclude no longer.
            filtered += 1
            continue
        event_size = event.size or 0
        if taken and (len(taken) >= limits.max_files or size + event_size > limits.max_bytes):
            end, more = taken[-1].position, True
            break
        taken.append(stored)
        size += event_size
    # Of a page that is not finished, the omitted ones are counted with the rest of it.
    return Batch(tuple(taken), end, filtered + (0 if more else page.omitted), foreign, more)
