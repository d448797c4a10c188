"""The invariants (docs/reference/simulator.md), checked at each effect and at rest."""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from typing import NamedTuple

from headwater.capture.consumer.reading import MessageReading, read_message
from headwater.capture.control_events import LISTED_EVENT
from headwater.capture.position import BEGINNING, Position
from headwater.capture.stored_event import StoredEvent
from headwater.ingest.accounting import QUARANTINED
from headwater.ingest.ledger.local_states import LocalStates
from headwater.ingest.ledger.state_text import format_state
from headwater.ingest.ledger.watermark import Watermark
from headwater.ingest.planning.ledger_entry import LedgerEntry
from headwater.ingest.planning.observation import is_cleaning
from headwater.ingest.planning.outcome import ObjectOutcome
from headwater.ingest.planning.plan import BatchPlan
from headwater.ingest.planning.verification import Known, judge_present
from headwater.sources.message_parser import parse_message
from headwater.sources.object_event import ObjectEvent
from headwater.sources.queue import Message
from simulator.bugs import NO_BUGS
from simulator.contents import list_rows
from simulator.expected import check_mirrored, check_table
from simulator.outside.bucket import Bucket, BucketStore
from simulator.outside.clock import START
from simulator.outside.hudi import Commit, Write
from simulator.outside.queue import Letter, SimulatedQueue
from simulator.product.data_rows import DataRow, TableKind, build_rules, count_rows, list_writes
from simulator.product.events_table import EventRow
from simulator.product.ledger import build_table_ledger
from simulator.product.process import Lake, Process
from simulator.violation import InvariantBrokenError

# A delivery may come in between once or twice.
_STALE_DELETIONS = 2


class Identity(NamedTuple):
    """Identifies an event by the values it was sent with, which a wrong order key cannot corrupt."""

    key: str
    version_id: str | None
    moment: str
    kind: str


def identify(event: ObjectEvent) -> Identity:
    moment = event.sequencer or f"{event.event_time.isoformat()} {event.event_name} {event.etag}"
    if event.event_name == LISTED_EVENT:
        # A pass that resumes after a crash keeps its time and may list an object twice, overwritten in
        # between, possibly with the same content.
        moment = f"{moment} {event.event_time.isoformat()} {event.etag}"
    return Identity(event.key, event.version_id, moment, event.kind)


def read_letter(letter: Letter) -> MessageReading:
    """Returns the true reading of the message."""
    message = Message(letter.message_id, "", letter.body, START, letter.attributes)
    return read_message(message, parse_message)


class Watch:
    """Knows what was written and sent. Shares only the parsers with the code it checks."""

    def __init__(self, bucket: Bucket, store: BucketStore, lake: Lake, queue: SimulatedQueue) -> None:
        self._bucket = bucket
        self._lake = lake
        self._queue = queue
        self.counts: Counter[str] = Counter()
        self.on_note: Callable[[str], None] = lambda _: None
        self._checkpoints: dict[TableKind, Position] = {}
        self._applied: dict[tuple[TableKind, str], int] = {}
        self._undone: list[tuple[TableKind, str, int]] = []
        self._reported: Counter[Identity] = Counter()
        self._stale: Counter[str] = Counter()
        self._due: dict[str, int] = {}
        # When each key of the mirror was last checked: in the current batch, in the decided one, and
        # committed.
        self._reads: dict[str, int] = {}
        self._completed_reads: dict[str, int] = {}
        self._seen: dict[str, int] = {}
        store.on_read = self._note_read
        queue.on_delete = self._note_deleted
        queue.on_stale = self._note_stale
        lake.events.on_commit = self._note_events
        for kind, table in lake.data.items():
            table.on_commit = partial(self._note_commit, kind)

    # --- at each effect ---

    def _note_deleted(self, letter: Letter) -> None:
        reading = read_letter(letter)
        for captured in reading.events:
            event = identify(captured.event)
            if event not in self._reported:
                raise InvariantBrokenError(
                    "I3", f"{letter.message_id} was deleted before its event of {event.key!r} was written"
                )
        for item in reading.quarantine:
            if self._lake.quarantine.find(item.quarantine_id) is None:
                raise InvariantBrokenError(
                    "I9", f"{letter.message_id} was deleted, and what is wrong with it is not in quarantine"
                )

    def _note_stale(self, letter: Letter) -> None:
        """Counts deletes with a stale handle, which delete nothing: an endless series of them is a bug."""
        self._stale[letter.message_id] += 1
        if self._stale[letter.message_id] > _STALE_DELETIONS:
            raise InvariantBrokenError("Q3", f"{letter.message_id} is deleted with old handles only")

    def _note_events(self, _commit: Commit, write: Write[EventRow]) -> None:
        events = [row.captured.event for _, row in write.rows]
        self._reported.update(map(identify, events))
        for event in filter(is_cleaning, events):
            self._bucket.note_cleaned(event.key, self._due[event.key])
            self.counts["announced"] += 1

    def note_due(self, key: str) -> None:
        """Records the decision that the object under the key may be cleaned."""
        live = self._bucket.find_live(key)
        assert live is not None
        self._due[key] = live.order

    def note_clean(self, key: str) -> None:
        """Checks a cleaning before it happens: it was announced (C2), and every table has the object (C1)."""
        live = self._bucket.find_live(key)
        assert live is not None
        if self._bucket.cleaned.get(key) is not live:
            raise InvariantBrokenError("C2", f"{key!r} is cleaned, and no event has said so before")
        wanted = Counter(enumerate(list_rows(live.data or b""), 1))
        for kind, table in self._lake.data.items():
            found = Counter((row.number, row.text) for row in table.peek() if row.key == key)
            if wanted - found:
                raise InvariantBrokenError(
                    "C1", f"{kind}: {key!r} is cleaned, and the table does not have it"
                )
        self.counts["cleaned"] += 1

    def is_settled(self, key: str) -> bool:
        """True if every write under the key was received."""
        reported = {o for o in self._list_reported_writes() if o}
        return all(order in reported for order in self._bucket.list_orders(key))

    def _note_read(self, key: str) -> None:
        self._reads[key] = self._bucket.writes

    def note_begun(self, kind: TableKind) -> None:
        """Records that the keys checked by the previous batch are also written."""
        self._reads = {}
        if kind == "mirror":
            self._seen |= self._completed_reads
            self._completed_reads = {}

    def check_reads(self, kind: TableKind = "mirror") -> None:
        """Checks that the mirror has objects read after their last write, despite lost notifications (I4)."""
        self.note_begun(kind)
        table = self._lake.data[kind]
        for key, write in self._seen.items():
            # Content that an earlier event also had does not reveal when it was read.
            etags = [version.etag for version in self._bucket.written.get(key, ())]
            if self._bucket.find_last_write(key) <= write and len(set(etags)) == len(etags):
                rows = [row for row in table.peek() if row.key == key]
                check_mirrored(rows, self._bucket, key)

    def note_decided(self, kind: TableKind, plan: BatchPlan, outcomes: Sequence[ObjectOutcome]) -> None:
        """Checks a batch that is decided and read, and about to be written."""
        self.on_note(f"    {kind}: {describe_batch(plan, outcomes, self._bucket)}")
        decided = Counter(decision.stored.event_id for decision in plan.decisions)
        answered = Counter(outcome.stored.event_id for outcome in outcomes)
        if decided != answered:
            raise InvariantBrokenError("I9", f"{kind}: {len(decided)} events, {len(answered)} outcomes")
        # A later batch may resolve an item before it commits itself; until then, each must have been there.
        for outcome in outcomes:
            if outcome.status in QUARANTINED and not self._is_quarantined(kind, outcome.stored.event_id):
                key = outcome.stored.event.key
                raise InvariantBrokenError("I9", f"{kind}: {key!r} is {outcome.status} and not in quarantine")
        if kind != "mirror":
            return
        self._completed_reads = self._reads
        for decision in plan.decisions:
            event = decision.stored.event
            order = self._bucket.find_order(event.key, event.sequencer)
            if order is None or decision.action == "skip":
                continue
            newest = self._applied.get((kind, event.key), 0)
            if order < newest:
                raise InvariantBrokenError(
                    "I7", f"{kind}: write {order} of {event.key!r} was applied after write {newest}"
                )
            self._undone.append((kind, event.key, order))

    def _note_commit(self, kind: TableKind, commit: Commit, write: Write[DataRow]) -> None:
        self._check_checkpoint(kind, commit, write)
        for done_kind, key, order in self._undone:
            if done_kind == kind:
                self._applied[kind, key] = max(order, self._applied.get((kind, key), 0))
        self._undone = [entry for entry in self._undone if entry[0] != kind]

    def _check_checkpoint(self, kind: TableKind, commit: Commit, write: Write[DataRow]) -> None:
        text = write.metadata.get("checkpoint")
        if text is None:
            raise InvariantBrokenError("I14", f"{kind}: commit {commit.requested} carries no checkpoint")
        checkpoint = Position.parse(text)
        if checkpoint < self._checkpoints.get(kind, BEGINNING):
            raise InvariantBrokenError("I6", f"{kind}: the checkpoint went back to {text}")
        newest = max((c.completed for c in self._lake.events.active), default="")
        if checkpoint.completed > newest:
            raise InvariantBrokenError("I6", f"{kind}: the checkpoint {text} is ahead of the events table")
        self._checkpoints[kind] = checkpoint

    def _is_quarantined(self, kind: TableKind, event_id: str) -> bool:
        items = self._lake.quarantine.peek()
        return any(item.table == kind and item.event_id == event_id for item in items)

    def note_forgotten(self, kind: TableKind) -> None:
        """Forgets decisions that were not committed; they will be made again."""
        self._undone = [entry for entry in self._undone if entry[0] != kind]
        self._completed_reads = {} if kind == "mirror" else self._completed_reads

    def note_death(self) -> None:
        """Forgets uncommitted decisions of all tables."""
        self._undone.clear()
        self._completed_reads = {}

    # --- at rest ---

    def check_dead_letters(self, returns: int) -> None:
        """Checks that messages reach the dead-letter queue only after crashes or stalls (I13)."""
        if self._queue.dead and returns < self._queue.limits.max_receives:
            raise InvariantBrokenError("I13", f"{len(self._queue.dead)} messages in the dead-letter queue")

    def check_all(self, process: Process) -> None:
        self._check_events()
        self._check_reading(process)
        for kind, table in self._lake.data.items():
            twice = [key for key, count in table.count_keys().items() if count > 1]
            if twice:
                raise InvariantBrokenError("I5", f"{kind}: record keys are there twice: {twice[0]!r}")
            check_table(kind, table.peek(), self._bucket, self._list_reported_writes())
            self._check_ledger(process, kind)
            if len(table.pending) > 1:
                raise InvariantBrokenError(
                    "I12", f"{kind}: {len(table.pending)} writes were never rolled back"
                )

    def check_proof(self, process: Process) -> None:
        """Checks that `verify` finds no open object in the bucket after a complete pass."""
        for kind, table in self._lake.data.items():
            if not table.exists:
                # None of the notified objects had rows: nothing was committed, so the decision is made again.
                continue
            states = {row.state.key: row.state for row in self._lake.ledger.peek() if row.table == kind}
            counts = count_rows(table.peek())
            rules = build_rules(kind)
            # Where single versions were deleted, only a mirror can determine the remaining one.
            unsure = self._bucket.thinned if kind != "mirror" else set()
            for listed in self._bucket.list_objects():
                if listed.key in unsure:
                    continue
                announced = process.events.count_puts(listed.key, list_writes(table.peek(), listed.key))
                known = Known(states.get(listed.key), counts.get(listed.key, {}), False, None, announced)
                found = judge_present(listed, known, rules)
                if found.kind not in ("ingested", "skipped", "quarantined"):
                    raise InvariantBrokenError(
                        "proof", f"{kind}: {found.kind} {listed.key!r}: {found.detail}"
                    )

    def _list_reported_writes(self) -> set[int]:
        """Lists the writes that have an event."""
        events = (row.captured.event for row in self._lake.events.peek())
        orders = (self._bucket.find_order(event.key, event.sequencer) for event in events)
        return {order for order in orders if order is not None}

    def _check_events(self) -> None:
        twice = [event for event, count in self._reported.items() if count > 1]
        if twice:
            raise InvariantBrokenError("I2", f"{len(twice)} events are in the table twice: {twice[0]}")

    def _check_ledger(self, process: Process, kind: TableKind) -> None:
        """Checks that the ledger equals a new one rebuilt from the commits."""
        # The ledger catches up with the commits when it is used.
        for pipeline in process.pipelines:
            pipeline.ledger.find_states(())
        kept = {row.state.object_id: row.state for row in self._lake.ledger.peek() if row.table == kind}
        rebuilt = RebuiltLedger()
        table = self._lake.data[kind]
        ledger = build_table_ledger(kind, rebuilt, table, process.events, LocalStates(), lambda: 0.0, NO_BUGS)
        ledger.find_states(())
        if kept != rebuilt.states:
            wrong = next(o for o in {**kept, **rebuilt.states} if kept.get(o) != rebuilt.states.get(o))
            detail = f"{kept.get(wrong)}, and by its commits {rebuilt.states.get(wrong)}"
            raise InvariantBrokenError("ledger", f"{kind}: {detail}")
        reported = process.events.iter_all()
        for state in kept.values():
            self._check_confirmed(kind, state, reported)

    def _check_confirmed(self, kind: TableKind, state: LedgerEntry, reported: Sequence[StoredEvent]) -> None:
        """Checks confirmed content, except content whose control event came after a listing observed it."""
        if not state.looked or state.status != "ingested":
            return
        for stored in reported:
            event = stored.event
            is_later = stored.event_id == state.event_id and stored.position.completed > state.instant
            if is_later and stored.source != "listing" and state.version in (event.version_id, event.etag):
                raise InvariantBrokenError("ledger", f"{kind}: {state.key!r} counts as looked at: {state}")

    def _check_reading(self, process: Process) -> None:
        """Checks that paging through the events table returns each event once (I15)."""
        position, seen = BEGINNING, []
        while True:
            page = process.events.read_after(position, 3)
            seen += [stored.event_id for stored in page.events]
            if page.end == position:
                break
            position = page.end
        if Counter(seen) != Counter(row.captured.event.event_id for row in self._lake.events.peek()):
            raise InvariantBrokenError("I15", "reading in pages does not give what the table holds")

    def snapshot(self) -> dict[str, Counter[object]]:
        """Returns the rows of existing tables. A table without a commit decides again, in other batches."""
        return {str(kind): Counter(table.peek()) for kind, table in self._lake.data.items() if table.exists}

    def check_unchanged(self, before: dict[str, Counter[object]]) -> None:
        now = self.snapshot()
        for kind, rows in before.items():
            if now[kind] != rows:
                raise InvariantBrokenError("I10", f"{kind}: replaying old messages changed the table")
        self._check_events()


def describe_batch(plan: BatchPlan, outcomes: Sequence[ObjectOutcome], bucket: Bucket) -> str:
    """Describes the outcome of each event by the number of its write."""
    actions = {decision.stored.event_id: decision.action for decision in plan.decisions}
    texts = []
    for outcome in outcomes:
        event = outcome.stored.event
        write = bucket.find_order(event.key, event.sequencer) or outcome.stored.source
        what = f"{write} {event.kind} {event.key!r}: {actions.get(outcome.stored.event_id)}"
        looked = " by looking" if outcome.looked else ""
        texts.append(f"{what} -> {outcome.status} {outcome.reason} {outcome.version}{looked}")
    return "; ".join(texts)


class RebuiltLedger:
    """A ledger after its table was deleted: empty, and filled from the commits at first use."""

    def __init__(self) -> None:
        self.states: dict[str, LedgerEntry] = {}

    def find_watermark(self, table: str) -> Watermark:
        del table
        return Watermark()

    def write(self, table: str, states: Collection[LedgerEntry], watermark: Watermark) -> None:
        del table, watermark
        self.states |= {state.object_id: state for state in states}

    def forget(self, table: str) -> None:
        raise NotImplementedError(f"{table}: nothing was set back")

    def iter_texts(self, table: str) -> Iterator[tuple[str, str]]:
        del table
        yield from ((name, format_state(state)) for name, state in self.states.items())
