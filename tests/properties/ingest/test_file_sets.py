"""Whatever the order in which events arrive, a table becomes equal to the newest complete set of files."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone

from hypothesis import given
from hypothesis import strategies as st

from headwater.capture.position import BEGINNING
from headwater.capture.stored_event import StoredEvent
from headwater.config.table import TableConfig
from headwater.config.table.file_sets import CompleteWhen
from headwater.ingest.accounting import to_skip
from headwater.ingest.planning.ledger_entry import LedgerEntry, apply_outcome
from headwater.ingest.planning.outcome import ObjectOutcome, order_outcomes
from headwater.ingest.planning.plan import Location, Scope
from headwater.ingest.planning.selection import build_selector
from headwater.ingest.sets.completeness import CompleteSet, gather, judge_set
from headwater.ingest.sets.names import build_set_names, order_name
from headwater.ingest.sets.planner import SetPlanner, SetRules
from headwater.ingest.sets.progress import SetProgress
from headwater.sources.lister import ListedObject
from headwater.sources.object_event import ObjectEvent, build_object_id, build_order_key

MARKER = CompleteWhen(marker="_SUCCESS")
EPOCH = datetime(2026, 1, 1, tzinfo=timezone.utc)

# A set of one digit comes before one of two: 9, then 10.
Step = tuple[str, int, str]
"""What happens, with a choice of events, and a key."""
KEYS = [f"dumps/{at}/{name}" for at in (8, 9, 10) for name in ("a.json", "b.json", "_SUCCESS")]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "put", "run", "run", "remove", "save", "crash"]),
        st.integers(0, 2**30),
        st.sampled_from(KEYS),
    ),
    max_size=40,
)


@dataclass
class World:
    """A bucket, its events, and a table whose commits carry ledger and progress."""

    keeps_history: bool
    rule: CompleteWhen = MARKER
    bucket: dict[str, ListedObject] = field(default_factory=dict)
    events: dict[str, StoredEvent] = field(default_factory=dict)
    waiting: list[StoredEvent] = field(default_factory=list)
    uncommitted: list[StoredEvent] = field(default_factory=list)
    states: dict[str, LedgerEntry] = field(default_factory=dict)
    committed: tuple[dict[str, LedgerEntry], SetProgress] = field(default_factory=lambda: ({}, SetProgress()))
    contents: dict[str, str] = field(default_factory=dict)
    applied: list[str] = field(default_factory=list)
    clock: int = 0

    def __post_init__(self) -> None:
        config = TableConfig.model_validate(
            {"path": "dumps/*/*.json", "record_key": "id", "complete_when": self.rule}
        )
        self.names = build_set_names(
            config.path, self.rule, Scope((Location("s3", "landing"),), build_selector(config))
        )
        self.restart()

    # As `SetSource`.

    def list_files(self, name: str) -> Iterator[ListedObject]:
        return (found for key, found in sorted(self.bucket.items()) if key.startswith(name))

    def read_manifest(self, found: ListedObject) -> bytes:
        raise AssertionError(found)

    def find_events(self, event_ids: Collection[str]) -> Mapping[str, StoredEvent]:
        return {event_id: self.events[event_id] for event_id in event_ids}

    def load_progress(self) -> SetProgress:
        return self.committed[1]

    # What happens.

    def restart(self) -> None:
        """Events that no commit covers are read again."""
        rules = SetRules(self.rule, self.names, self.keeps_history)
        self.planner = SetPlanner(rules, self, self._now)
        self.states = dict(self.committed[0])
        self.waiting = self.uncommitted + self.waiting
        self.uncommitted = []

    def _now(self) -> datetime:
        return EPOCH + timedelta(seconds=self.clock)

    def put(self, key: str) -> None:
        self.clock += 1
        self.bucket[key] = ListedObject(key, 1, f"etag-{self.clock}", None, self._now())
        self._announce(key, f"etag-{self.clock}")

    def remove(self, key: str) -> None:
        # Of a set that a table may need, nothing is removed: the table could not know.
        if key.endswith("_SUCCESS") and key in self.bucket:
            del self.bucket[key]
            self.clock += 1
            self._announce(key, None)

    def _announce(self, key: str, etag: str | None) -> None:
        sequencer = f"{self.clock:08x}"
        event = ObjectEvent(
            "s3",
            "landing",
            key,
            None,
            sequencer,
            build_order_key(sequencer),
            "created" if etag else "removed",
            "",
            self._now(),
            1 if etag else None,
            etag,
        )
        stored = StoredEvent(event.event_id, event, self._now(), "s3", BEGINNING)
        self.events[event.event_id] = stored
        self.waiting.append(stored)

    def run(self, choice: int) -> bool:
        """One batch of some of the events that wait, in any order; return whether there was one."""
        some = [stored for at, stored in enumerate(self.waiting) if choice >> (at % 30) & 1]
        if not some and not self.planner.is_due():
            return False
        self.waiting = [stored for stored in self.waiting if stored not in some]
        # A duplicate may arrive in a later batch.
        if some and choice % 5 == 0:
            self.waiting.append(some[0])
        plan = self.planner.plan(some, self._find_states)
        if choice % 7 == 0:
            # The batch fails, and is planned again.
            plan = self.planner.plan([*some, *some[:1]], self._find_states)
        outcomes = [to_skip(found) for found in plan.decisions if found.action == "skip"]
        outcomes += [self._read(found.stored) for found in plan.decisions if found.action == "look"]
        for outcome in order_outcomes(outcomes):
            object_id = outcome.stored.event.object_id
            self.states[object_id] = apply_outcome(self.states.get(object_id), outcome)
        self.uncommitted += some
        progress = plan.progress
        if plan.chosen is not None:
            progress = progress.apply(plan.chosen.name, plan.chosen.time, keeps_missing=False)
            self._apply(plan.chosen.name, plan.chosen.etags)
            self.committed = (dict(self.states), progress)
            self.uncommitted = []
        self.planner.note(progress)
        return bool(plan.decisions)

    def save(self) -> None:
        """Commit the progress without rows, if there is a table."""
        if self.applied:
            self.committed = (dict(self.states), self.planner.progress)
            self.uncommitted = []

    def _find_states(self, object_ids: Collection[str]) -> Mapping[str, LedgerEntry]:
        return {object_id: self.states[object_id] for object_id in object_ids if object_id in self.states}

    def _read(self, stored: StoredEvent) -> ObjectOutcome:
        etag = self.bucket[stored.event.key].etag
        return ObjectOutcome(stored, "ingested", version=etag, etag=etag, rows=1, looked=True)

    def _apply(self, name: str, etags: Mapping[str, str]) -> None:
        complete = self.judge(name)
        assert complete is not None, f"{name} is not complete"
        listed = {build_object_id("s3", "landing", one.key): one.etag for one in complete.files}
        assert etags == listed
        assert not self.applied or order_name(name) >= order_name(self.applied[-1])
        self.contents = {one.key: one.etag for one in complete.files}
        self.applied.append(name)

    def judge(self, name: str) -> CompleteSet | None:
        listed = gather(name, self.list_files(name), self.names)
        found = judge_set(listed, self.rule, None, self._now())
        return found if isinstance(found, CompleteSet) else None

    def finish(self) -> None:
        """Process all that is left."""
        for choice in (2**31 - 1,) * 100:
            if not self.run(choice):
                return
        raise AssertionError("it never ends")


@given(STEPS, st.booleans())
def test_the_table_equals_the_newest_complete_set(steps: list[Step], keeps_history: bool) -> None:
    world = World(keeps_history)
    for what, choice, key in steps:
        if what == "put":
            world.put(key)
        elif what == "remove":
            world.remove(key)
        elif what == "crash":
            world.restart()
        elif what == "save":
            world.save()
        else:
            world.run(choice)
    world.finish()
    complete = [name for name in ("dumps/8/", "dumps/9/", "dumps/10/") if world.judge(name)]
    if not complete:
        return
    assert world.applied
    assert order_name(world.applied[-1]) >= order_name(complete[-1])
    found = world.judge(world.applied[-1])
    if found is not None:
        assert world.contents == {one.key: one.etag for one in found.files}


@given(st.permutations(KEYS))
def test_only_the_newest_of_several_complete_sets_is_read(keys: list[str]) -> None:
    world = World(keeps_history=False)
    for key in sorted(keys, key=lambda key: key.endswith("_SUCCESS")):
        world.put(key)
    world.waiting.sort(key=lambda stored: keys.index(stored.event.key))
    world.finish()
    assert world.applied == ["dumps/10/"]


@given(st.permutations(KEYS), st.lists(st.integers(0, 2**30), max_size=20))
def test_history_has_each_set_once_and_in_order(keys: list[str], choices: list[int]) -> None:
    world = World(keeps_history=True)
    for key in sorted(keys, key=lambda key: key.endswith("_SUCCESS")):
        world.put(key)
    world.waiting.sort(key=lambda stored: keys.index(stored.event.key))
    for choice in choices:
        world.run(choice)
    world.finish()
    assert world.applied[-1] == "dumps/10/"
    assert len(set(world.applied)) == len(world.applied)
    if not choices:
        assert world.applied == ["dumps/8/", "dumps/9/", "dumps/10/"]


def test_the_files_of_a_set_without_its_marker_are_not_listed_again_and_again() -> None:
    world = World(keeps_history=False)
    listed: list[str] = []
    list_files = world.list_files
    world.list_files = lambda name: (listed.append(name), list_files(name))[1]  # type: ignore[method-assign]
    for at in range(20):
        world.put(f"dumps/8/{at}.json")
        world.finish()
    assert not listed
    world.put("dumps/8/_SUCCESS")
    world.finish()
    # By the planner, and by this test.
    assert listed == ["dumps/8/"] * 2
    assert len(world.contents) == 20


def test_a_quiet_time_passes_while_no_process_runs() -> None:
    world = World(keeps_history=False, rule=CompleteWhen(quiet_for=100))
    world.put("dumps/8/a.json")
    world.clock += 100
    world.finish()
    world.put("dumps/9/a.json")
    world.finish()
    assert world.applied == ["dumps/8/"]
    world.save()
    world.restart()
    world.clock += 100
    assert world.planner.plan([], world._find_states).chosen
    world.finish()
    assert world.applied == ["dumps/8/", "dumps/9/"]
