"""One process of headwater: its memory is built from durable state and lost at its end."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from headwater.capture.control_events import REPAIR_EVENT, build_control_event, build_retry, with_content
from headwater.capture.position import Position
from headwater.capture.quarantine_item import QuarantineItem
from headwater.capture.reconcile import ReconcilePass
from headwater.config.table import TableConfig
from headwater.ingest.planning.plan import Limits, Location, Scope
from headwater.ingest.planning.selection import build_selector, find_beginnings
from simulator.bugs import Bugs
from simulator.outside.bucket import BUCKET, Bucket, BucketStore, Record
from simulator.outside.clock import SimulatedClock
from simulator.outside.crash import Crashes
from simulator.outside.hudi import HudiTable, Settings
from simulator.outside.queue import SimulatedQueue
from simulator.product.capture import SimulatedCapture
from simulator.product.cleaning import CleanContext, SimulatedCleaning
from simulator.product.data_rows import DataRow, TableKind
from simulator.product.events_table import EventRow, SimulatedEventsTable
from simulator.product.ledger import LedgerRow, Machines, SimulatedLedger, find_seen
from simulator.product.pipeline import SimulatedPipeline, Surroundings, Watcher
from simulator.product.reconcile import SimulatedEventLog, SimulatedReconcile
from simulator.scenario import Scenario

_TABLE = TableConfig(path=("**",), format="text")
_SCOPE = Scope((Location("s3", BUCKET),), build_selector(_TABLE), find_beginnings(_TABLE.path))
_MAX_BYTES = 200


@dataclass(frozen=True, slots=True)
class Lake:
    """All tables: the durable state of the product."""

    events: HudiTable[EventRow]
    quarantine: HudiTable[QuarantineItem]
    ledger: HudiTable[LedgerRow]
    passes: HudiTable[ReconcilePass]
    data: dict[TableKind, HudiTable[DataRow]]


def build_lake(scenario: Scenario, clock: SimulatedClock, crashes: Crashes) -> Lake:
    events = Settings(scenario.keep_events, scenario.keep_events + 2)
    data = Settings(scenario.keep_data, scenario.keep_data + 2)
    return Lake(
        HudiTable("events", clock, crashes, events),
        HudiTable("quarantine", clock, crashes, Settings()),
        HudiTable("ledger", clock, crashes, Settings(4, 6)),
        HudiTable("reconciles", clock, crashes, Settings()),
        {kind: HudiTable(kind, clock, crashes, data) for kind in scenario.tables},
    )


@dataclass(frozen=True, slots=True)
class Outside:
    """State that survives the process and does not belong to it."""

    bucket: Bucket
    store: BucketStore
    queue: SimulatedQueue
    clock: SimulatedClock
    crashes: Crashes
    notify: Callable[[Record], None]
    machines: Machines


class Process:
    """Built at every start; inherits only the tables from earlier processes."""

    def __init__(self, scenario: Scenario, outside: Outside, lake: Lake, bugs: Bugs, watch: Watcher) -> None:
        clock, crashes = outside.clock, outside.crashes
        self._outside, self._lake = outside, lake
        self.events = SimulatedEventsTable(lake.events, bugs)
        self.capture = SimulatedCapture(
            outside.queue,
            self.events,
            lake.quarantine,
            scenario.max_messages,
            clock,
            crashes,
            bugs,
        )
        ledger = SimulatedLedger(lake.ledger, crashes)
        log = SimulatedEventLog(
            self.events, crashes, bugs, find_seen=lambda: find_seen(lake.data, ledger, self.events)
        )
        self.reconcile = SimulatedReconcile(outside.bucket, log, lake.passes, clock, crashes)
        shared = Surroundings(
            outside.store,
            self.events,
            lake.quarantine,
            ledger,
            clock,
            crashes,
            bugs,
            watch,
            outside.machines.take(),
        )
        limits = Limits(scenario.max_files, _MAX_BYTES)
        self.pipelines: Sequence[SimulatedPipeline] = [
            SimulatedPipeline(kind, table, _SCOPE, limits, shared) for kind, table in lake.data.items()
        ]
        context = CleanContext(
            outside.bucket, self.events, lake.quarantine, lake.data, clock, crashes, bugs, outside.notify
        )
        self.cleaning = SimulatedCleaning(context, self.pipelines, watch)

    def request(self, key: str, a: int, b: int) -> str:
        """Requests a read of one object: a repair as by `verify`, or a retry from quarantine."""
        now = self._outside.clock.next_moment()
        live = self._outside.bucket.find_live(key)
        if b % 2:
            repair = build_control_event(REPAIR_EVENT, "s3", BUCKET, key, now)
            etag = live.etag if live is not None and a % 2 else None
            self.events.append([with_content(repair, "created", etag)])
            return "repair"
        items = [item for item in self._lake.quarantine.peek() if item.key == key and item.level == "object"]
        item = items[a % len(items)] if items else None
        version_id, event_time = (item.version_id, item.event_time) if item else (None, None)
        self.events.append([build_retry("s3", BUCKET, key, version_id, event_time, now)])
        return f"retry of {version_id or 'what is there'}"

    @property
    def positions(self) -> dict[TableKind, Position]:
        return {pipeline.kind: pipeline.position for pipeline in self.pipelines}
