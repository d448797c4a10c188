"""Does deciding about an event cost the same however many there are?

The fold of a mirror over 10,000 to 1,000,000 events in batches of 10,000, each with what the ledger knows
of its objects, and the outcomes applied: half of the events are of new objects, half overwrite or remove one
that is known. Value: microseconds an event at the largest number. Floor: at the smallest. Making the events
and asking the ledger is not counted; `cost_slope` is about that. No Spark: the fold runs on the driver over
one batch, which a setting bounds.
"""

import gc
import pickle
import statistics
import time
from collections.abc import Iterator, Mapping
from random import Random

from benchmarks.pairs import say
from benchmarks.result import BenchmarkResult
from benchmarks.sizes import sized
from headwater.capture.stored_event import StoredEvent
from headwater.ingest.planning.fold import FoldRules, fold
from headwater.ingest.planning.ledger_entry import LedgerEntry, apply_outcome
from headwater.ingest.planning.outcome import ObjectOutcome, OutcomeStatus
from headwater.sources.object_event import EventKind
from tests.fixtures.events import build_event, build_stored

COUNTS = sized((10_000, 100_000, 1_000_000), (100, 200, 400))
BATCH = sized(10_000, 100)
GOAL = 1.3
_STATUS: Mapping[str, OutcomeStatus] = {
    "read": "ingested",
    "look": "ingested",
    "retract": "removed",
    "skip": "superseded",
}
_RULES = FoldRules(mirrors=True)


def run() -> BenchmarkResult:
    """Microseconds an event."""
    # As the product does: batches of events are many objects and none is in a cycle.
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    measure(COUNTS[0])
    costs = []
    for count in COUNTS:
        # One batch alone is soon over.
        cost = statistics.median(measure(count) for _ in range(max(1, 50_000 // count)))
        say(f"{count} events: {cost:.2f} us an event, {1e6 / cost:.0f} events/s")
        costs.append(cost)
    return BenchmarkResult("fold", costs[-1], costs[0], "us/event", GOAL, "lower")


def measure(count: int) -> float:
    """Microseconds an event of deciding and applying."""
    ledger: dict[str, bytes] = {}
    seconds = 0.0
    decided = 0
    for batch in iter_batches(count):
        ids = {stored.event.object_id for stored in batch}
        states: dict[str, LedgerEntry] = {
            object_id: pickle.loads(ledger[object_id]) for object_id in ids if object_id in ledger
        }
        started = time.perf_counter()
        for decision in fold(batch, states, _RULES):
            stored = decision.stored
            outcome = ObjectOutcome(stored, _STATUS[decision.action], version=stored.event.version)
            object_id = stored.event.object_id
            states[object_id] = apply_outcome(states.get(object_id), outcome)
            decided += 1
        seconds += time.perf_counter() - started
        ledger.update((object_id, pickle.dumps(state)) for object_id, state in states.items())
    if decided != count:
        raise RuntimeError(f"{decided} of {count} events were decided")
    return seconds / count * 1e6


def iter_batches(count: int) -> Iterator[list[StoredEvent]]:
    """Batches in which every other event is of an object that was there before."""
    chance = Random(7)
    for start in range(0, count, BATCH):
        batch = []
        for number in range(start, min(start + BATCH, count)):
            is_known = number % 2 == 1
            key = f"known/{chance.randrange(number):08d}" if is_known else f"known/{number:08d}"
            kind: EventKind = "removed" if is_known and chance.random() < 0.3 else "created"
            event = build_event(key, number, kind)
            # An id is made once; the events table has it ready.
            _ = (event.event_id, event.object_id)
            batch.append(build_stored(event, number))
        yield batch
