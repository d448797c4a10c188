"""One data table's view of the ledger: the states of its objects, including the newest batches."""

import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

import structlog

from headwater.capture.position import Position
from headwater.capture.stored_event import StoredEvent
from headwater.errors import LakeError
from headwater.ingest.ledger.local_states import LocalStates
from headwater.ingest.ledger.outcome_log import OUTCOMES_KEY, decode_outcomes, encode_outcomes
from headwater.ingest.ledger.protocol import CommittedTable, EventLog, ReadableStates, WritableStates
from headwater.ingest.ledger.watermark import Watermark
from headwater.ingest.planning.ledger_entry import LedgerEntry, apply_outcome, is_found
from headwater.ingest.planning.observation import is_cleaning, is_from_listing
from headwater.ingest.planning.outcome import ObjectOutcome

log = structlog.stdlib.get_logger(__name__)

_BATCH_KEY = "batch"
_EVENTS_A_PAGE = 20_000
# The first limit that is reached writes the ledger. Commits older than the active timeline require a read of
# the archive at the next start, hence far fewer than Hudi keeps active.
_FLUSH_OUTCOMES = 5_000
_FLUSH_COMMITS = 16
_FLUSH_SECONDS = 30.0
# Outcomes without rows wait for the next commit with rows. The first limit that is reached commits them on
# their own: they are kept in memory, and until they are committed, the table seems to lag behind its events.
_UNCOMMITTED_OUTCOMES = 10_000
_UNCOMMITTED_SECONDS = 30.0
# A copy that is further behind is rebuilt: it takes microseconds per object, a commit milliseconds.
_FOLLOWED_COMMITS = 500


@dataclass(slots=True)
class Group:
    """Outcomes that one commit of the data table carries; `batch` is empty until then."""

    outcomes: list[ObjectOutcome] = field(default_factory=list)
    batch: str = ""
    instant: str = ""


class TableLedger:
    """States of one table's objects. Used by the thread of that table.

    Outcomes are recorded at once, committed with the table's rows, and written to the ledger later. Outcomes
    committed but not written, as after a crash, are written on first use.
    """

    def __init__(
        self,
        name: str,
        ledger: WritableStates,
        table: CommittedTable,
        events: EventLog,
        local: LocalStates,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name = name
        self._ledger = ledger
        self._table = table
        self._events = events
        self._clock = clock
        self._loaded: Watermark | None = None
        self._local = local
        self._groups: list[Group] = [Group()]
        self._recent: defaultdict[str, list[ObjectOutcome]] = defaultdict(list)
        self._position: Position | None = None
        self._uncommitted_since: float | None = None
        self._unwritten_since: float | None = None
        self._has_unconfirmed = False

    @property
    def has_unconfirmed(self) -> bool:
        """True if content was found without a notification, which may still arrive."""
        return self._has_unconfirmed or self._load().has_unconfirmed

    def find_states(self, object_ids: Collection[str]) -> dict[str, LedgerEntry]:
        """Return the states of the objects that the table has applied; omit unknown objects."""
        self._load()
        known = self._open_states().find(object_ids)
        states = {}
        for object_id in object_ids:
            state = known.get(object_id)
            for outcome in self._recent.get(object_id, ()):
                state = apply_outcome(state, outcome)
            if state is not None:
                states[object_id] = state
        return states

    def record(self, outcomes: Sequence[ObjectOutcome]) -> None:
        """Record the outcomes of a completed batch, in the order of each object's events."""
        self._load()
        if outcomes and self._uncommitted_since is None:
            self._uncommitted_since = self._clock()
        self._groups[-1].outcomes += outcomes
        for outcome in outcomes:
            self._recent[outcome.stored.event.object_id].append(outcome)
            self._has_unconfirmed = self._has_unconfirmed or _is_unnamed(outcome)

    @property
    def is_commit_due(self) -> bool:
        """True if outcomes that no commit carries yet should not wait for one with rows."""
        if self._uncommitted_since is None:
            return False
        is_many = len(self._groups[-1].outcomes) >= _UNCOMMITTED_OUTCOMES
        return is_many or self._clock() - self._uncommitted_since >= _UNCOMMITTED_SECONDS

    def build_metadata(self, outcomes: Sequence[ObjectOutcome] = ()) -> dict[str, str]:
        """Return metadata for the next commit: outcomes that no commit carries yet, and `outcomes`."""
        group = self._groups[-1]
        group.batch = group.batch or uuid.uuid4().hex
        return {_BATCH_KEY: group.batch, OUTCOMES_KEY: encode_outcomes([*group.outcomes, *outcomes])}

    def note_commit(self, position: Position) -> None:
        """Record that the commit with `build_metadata` is completed; `position` is its checkpoint."""
        self._groups.append(Group())
        self._uncommitted_since = None
        self._position = position
        if self._unwritten_since is None:
            self._unwritten_since = self._clock()

    def write_due(self) -> None:
        """Write the ledger when a limit is reached. Raises `LakeError`; the next call retries."""
        carried = self._groups[:-1]
        if self._unwritten_since is None:
            return
        is_due = (
            len(carried) >= _FLUSH_COMMITS
            or sum(len(group.outcomes) for group in carried) >= _FLUSH_OUTCOMES
            or self._clock() - self._unwritten_since >= _FLUSH_SECONDS
        )
        if is_due:
            self.write()

    def write(self) -> None:
        """Update the ledger to the table's newest commit of this process. Raises `LakeError`."""
        carried = self._groups[:-1]
        if not carried or self._position is None:
            return
        newest = self._resolve_instants(carried)
        self._write(carried, Watermark(newest, self._position, self.has_unconfirmed))

    def close(self) -> None:
        """Leave the copy of the ledger to the next process; the next call opens it again."""
        self._local.close()

    def _write(self, carried: Sequence[Group], watermark: Watermark) -> None:
        local = self._open_states()
        states = _apply(local, carried)
        self._ledger.write(self._name, states, watermark)
        self._loaded = watermark
        self._groups = self._groups[-1:]
        self._recent.clear()
        for outcome in self._groups[-1].outcomes:
            self._recent[outcome.stored.event.object_id].append(outcome)
        self._unwritten_since = None
        # Last: if it fails, the ledger has the states nevertheless.
        local.put(states, watermark)

    def _open_states(self) -> LocalStates:
        """Return the copy of the ledger, as of the ledger's watermark."""
        known, watermark = self._local.open(), self._loaded or Watermark()
        if known != watermark and not self._follow(known, watermark):
            self._local.load(partial(self._ledger.iter_texts, self._name), watermark)
        return self._local

    def _follow(self, known: Watermark | None, end: Watermark) -> bool:
        """Apply what the table has committed since the copy was made; False if it must be rebuilt."""
        if known is None or not "" < known.commit < end.commit:
            return False
        try:
            if not self._table.load_timeline().has_completed(known.commit):
                return False
            newer = iter_unwritten(self._table, self._events, known)
            for group, watermark in islice(newer, _FOLLOWED_COMMITS):
                if watermark.commit > end.commit:
                    break
                self._local.put(_apply(self._local, [group]), watermark)
            followed = self._local.open()
            if followed is None or followed.commit != end.commit:
                return False
            self._local.put((), end)
        except LakeError as error:
            log.warning("ledger is copied again", table=self._name, reason=error.message)
            return False
        return True

    def _resolve_instants(self, carried: Sequence[Group]) -> str:
        """Find the commits that carry the groups; return the completion time of the newest."""
        # Not only the active timeline: table services may have archived a commit since.
        behind = self._table.load_timeline().iter_metadata(self._loaded.commit if self._loaded else "")
        wanted = {group.batch: group for group in carried}
        newest = ""
        for commit, metadata in behind:
            group = wanted.pop(metadata.get(_BATCH_KEY, ""), None)
            if group is not None:
                group.instant = commit.requested
                newest = max(newest, commit.completed)
            if not wanted:
                return newest
        raise LakeError(
            f"table {self._name}: a commit of this run is no longer on the timeline",
            hint="another process may have rolled the table back; restart headwater to rebuild the ledger",
        )

    def _load(self) -> Watermark:
        if self._loaded is None:
            watermark = self._ledger.find_watermark(self._name)
            if watermark.commit and not self._table.load_timeline().has_completed(watermark.commit):
                # The ledger's newer entries would count as done, and never be read again.
                log.warning("table was rolled back; rebuilding its ledger", table=self._name)
                self._ledger.forget(self._name)
                watermark = Watermark()
            self._loaded = watermark
            self._catch_up(watermark)
        return self._loaded

    def _catch_up(self, watermark: Watermark) -> None:
        """Write the outcomes of the table's commits after the watermark."""
        waiting: list[Group] = []
        for group, end in iter_unwritten(self._table, self._events, watermark):
            waiting.append(group)
            self._has_unconfirmed = end.has_unconfirmed
            watermark = end
            if sum(len(group.outcomes) for group in waiting) >= _FLUSH_OUTCOMES:
                self._write(waiting, watermark)
                waiting = []
        if waiting:
            self._write(waiting, watermark)


def _apply(local: LocalStates, groups: Sequence[Group]) -> Collection[LedgerEntry]:
    """Return the new states of the objects in committed groups, given those before them."""
    known = local.find({outcome.stored.event.object_id for group in groups for outcome in group.outcomes})
    states: dict[str, LedgerEntry] = {}
    for group in groups:
        for outcome in group.outcomes:
            object_id = outcome.stored.event.object_id
            prior = states.get(object_id) or known.get(object_id)
            states[object_id] = apply_outcome(prior, outcome, group.instant)
    return states.values()


def iter_unwritten(
    table: CommittedTable, events: EventLog, watermark: Watermark
) -> Iterator[tuple[Group, Watermark]]:
    """Yield outcomes of a data table's commits after the watermark, in order, each with its new watermark.

    Raises `LakeError` if an event that a commit names does not exist.
    """
    timeline = table.load_timeline()
    if not timeline.exists():
        return
    found = _EventFinder(events, watermark.position)
    has_unconfirmed = watermark.has_unconfirmed
    for commit, metadata in timeline.iter_metadata(watermark.commit):
        if "checkpoint" not in metadata:
            continue
        logged = decode_outcomes(metadata)
        by_id = found.find({entry.event_id for entry in logged})
        group = Group([entry.to_outcome(by_id[entry.event_id]) for entry in logged], "", commit.requested)
        has_unconfirmed = has_unconfirmed or any(map(_is_unnamed, group.outcomes))
        position = Position.parse(metadata["checkpoint"])
        found.forget(position)
        yield group, Watermark(commit.completed, position, has_unconfirmed)


def load_newest_states(
    name: str, ledger: ReadableStates, table: CommittedTable, events: EventLog
) -> dict[str, LedgerEntry]:
    """Return the object states of commits that the ledger does not have yet, by object id.

    Raises `LakeError`.
    """
    outcomes = [
        (outcome, group.instant)
        for group, _ in iter_unwritten(table, events, ledger.find_watermark(name))
        for outcome in group.outcomes
    ]
    states = ledger.read_states(name, {outcome.stored.event.object_id for outcome, _ in outcomes})
    for outcome, instant in outcomes:
        object_id = outcome.stored.event.object_id
        states[object_id] = apply_outcome(states.get(object_id), outcome, instant)
    return states


def _is_unnamed(outcome: ObjectOutcome) -> bool:
    """True if the content was found without a notification, which may still arrive."""
    is_listed = is_from_listing(outcome.stored) and not is_cleaning(outcome.stored.event)
    return is_found(outcome) or is_listed


class _EventFinder:
    """Finds events by id in a scan of the events table that follows the commits of a data table."""

    def __init__(self, events: EventLog, start: Position) -> None:
        self._events = events
        self._position = start
        self._waiting: dict[str, StoredEvent] = {}

    def find(self, event_ids: Collection[str]) -> dict[str, StoredEvent]:
        """Return all of the events. Raises `LakeError` for one that the events table does not have."""
        found: dict[str, StoredEvent] = {}
        missing = set(event_ids)
        while True:
            for event_id in missing & self._waiting.keys():
                found[event_id] = self._waiting.pop(event_id)
            missing -= found.keys()
            if not missing:
                return found
            page = self._events.read_after(self._position, _EVENTS_A_PAGE)
            if not page.events and page.end == self._position:
                break
            self._position = page.end
            self._waiting |= {stored.event_id: stored for stored in page.events}
        found |= self._events.find_events(missing)
        if missing - found.keys():
            raise LakeError(
                f"{len(missing - found.keys())} events that the table ingested are not in the events table",
                hint="restore the events table: headwater cannot rebuild the objects' history without it",
            )
        return found

    def forget(self, position: Position) -> None:
        """Drop events up to the offset, which are not needed again."""
        self._waiting = {
            event_id: stored for event_id, stored in self._waiting.items() if stored.position > position
        }
