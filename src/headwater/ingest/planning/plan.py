"""Plans one batch of one table: its events, its objects, its checkpoint. Pure."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

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
class Location:
    """Where a source has its objects, by the bucket's name in the lake: the keys with a prefix."""

    provider: str
    bucket: str
    prefix: str = ""

    def has(self, bucket: str, key: str) -> bool:
        """True if objects with this key are of the source."""
        return bucket == self.bucket and key.startswith(self.prefix)


@dataclass(frozen=True, slots=True)
class Scope:
    """The selection of a table: the locations of its sources, and its own rules.

    Of the objects with these keys, those last modified in the `window` belong to the table. Locations have no
    objects in common.
    Each key of the table begins, below the prefix, with one of `beginnings`: a quick check, as most keys of a
    bucket are of other tables. `other_buckets` are those of sources that the table does not take.
    """

    locations: tuple[Location, ...]
    selector: KeySelector
    beginnings: tuple[str, ...] = ("",)
    window: Window = EVERYTHING
    other_buckets: frozenset[str] = frozenset()

    @property
    def full_beginnings(self) -> tuple[str, ...]:
        """The beginnings of whole keys."""
        prefixes = {location.prefix for location in self.locations}
        return tuple(prefix + text for prefix in prefixes for text in self.beginnings)

    @property
    def buckets(self) -> frozenset[str]:
        """The buckets of the table's sources."""
        return frozenset(location.bucket for location in self.locations)

    def restrict(self, location: Location) -> "Scope":
        """Return the selection of one of the locations."""
        return replace(self, locations=(location,))

    def relative_key(self, bucket: str, key: str) -> str | None:
        """Return the key below its source's prefix; None if it is of no source of the table."""
        for location in self.locations:
            if location.has(bucket, key):
                return key[len(location.prefix) :]
        return None

    def includes(self, bucket: str, key: str) -> bool:
        """True if objects with this key belong to the table, as far as their time allows it."""
        relative = self.relative_key(bucket, key)
        return relative is not None and self.selector(relative) is None

    def includes_listed(self, bucket: str, listed: ListedObject) -> bool:
        """True if an object of the bucket belongs to the table."""
        return self.window.has(listed.last_modified) and self.includes(bucket, listed.key)


def take_batch(page: EventPage, scope: Scope, limits: Limits) -> Batch:
    """Select the table's events of a page in order until a limit is reached.

    A batch that ends inside a commit resumes there.
    """
    taken: list[StoredEvent] = []
    filtered = size = 0
    foreign: Counter[str] = Counter()
    end = page.end
    more = False
    buckets, beginnings = scope.buckets, scope.full_beginnings
    for stored in page.events:
        event = stored.event
        # A page that is read from disk has the events of all tables: the next line takes a quarter of the
        # time of those below it.
        if not event.key.startswith(beginnings) and event.bucket in buckets and not is_retract(event):
            filtered += 1
            continue
        if event.bucket not in buckets and event.bucket not in scope.other_buckets:
            # Never fetched: a forged message must not make headwater read another bucket.
            foreign[event.bucket] += 1
            continue
        if scope.includes(event.bucket, event.key) == is_retract(event):
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
