"""The state of a running demo: counted by several threads, displayed by the screen."""

import statistics
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from headwater.capture.consumer import CommitReport
from headwater.demo.scenario import Announce, Put, Resend, Scenario, Step
from headwater.ingest.planning.outcome import BatchResult

RECENT = 7
# A repeated event is dropped without an outcome; each other event gets exactly one of these.
ANSWERS = ("ingested", "quarantined", "missing", "skipped")
UNUSABLE = ("quarantined", "missing")


@dataclass(slots=True)
class TableProgress:
    """One table: its announced objects, those with an outcome, and its commits.

    `expected` counts the scenario's objects for it; `last_commit` is on the clock of `Progress`. `freshness`
    excludes the first object, which had to wait for Spark to warm up.
    """

    expected: int = 0
    announced: int = 0
    answered: int = 0
    ingested: int = 0
    unusable: int = 0
    rows: int = 0
    bad_rows: int = 0
    commits: int = 0
    skipped: int = 0
    last_commit: float | None = None
    first_freshness: float | None = None
    freshness: list[float] = field(default_factory=list)

    @property
    def behind(self) -> int:
        """Return the number of pending objects."""
        return max(0, self.announced - self.answered)


@dataclass(frozen=True, slots=True)
class View:
    """One snapshot. Times in seconds; `elapsed` and `last_commit` count from the same start."""

    stage: str
    elapsed: float
    put: int
    to_put: int
    events: int
    event_commits: int
    bad_messages: int
    waiting: int
    in_flight: int
    tables: Mapping[str, TableProgress]
    recent: Sequence[str]

    @property
    def moves(self) -> int:
        """Return a number that grows with everything sent or received."""
        arrived = self.events + self.bad_messages + sum(table.answered for table in self.tables.values())
        return self.put + arrived

    @property
    def quarantined(self) -> int:
        """Return the number of quarantined messages, objects and records."""
        return self.bad_messages + sum(table.unusable + table.bad_rows for table in self.tables.values())


def find_percentile(values: Sequence[float], percent: int) -> float | None:
    """Return the value that `percent` percent (1 to 99) of the values do not exceed; None for no values."""
    if len(values) < 2:
        return next(iter(values), None)
    return statistics.quantiles(values, n=100, method="inclusive")[percent - 1]


class Progress:
    """Thread-safe. `tables_of` names the tables that a key belongs to."""

    def __init__(
        self,
        scenario: Scenario,
        tables: Sequence[str],
        tables_of: Callable[[str], Sequence[str]],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._tables_of = tables_of
        self._clock = clock
        self._started = clock()
        self._lock = threading.Lock()
        self._tables = {name: TableProgress() for name in tables}
        self._recent: deque[str] = deque(maxlen=RECENT)
        self._poison = scenario.poison_count
        self._to_put = len(scenario.puts)
        self._put = self._events = self._event_commits = self._bad_messages = 0
        self._waiting = self._in_flight = 0
        self._stage = ""
        for key in scenario.announced_keys:
            for name in tables_of(key):
                self._tables[name].expected += 1

    def enter(self, stage: str) -> None:
        """Start a new stage."""
        with self._lock:
            self._stage = stage

    def note_step(self, step: Step) -> None:
        """Record a step of the scenario."""
        with self._lock:
            if isinstance(step, Put):
                self._put += 1
            if isinstance(step, Put | Announce):
                for name in self._tables_of(step.key):
                    self._tables[name].announced += 1
            if note := describe_step(step):
                self._note(note)

    def note_capture(self, report: CommitReport) -> None:
        """Record committed events."""
        with self._lock:
            self._events += report.events
            self._event_commits += 1
            self._bad_messages += report.quarantined

    def note_batch(self, result: BatchResult) -> None:
        """Record a table's batch."""
        with self._lock:
            table = self._tables[result.table]
            table.answered += sum(result.objects[answer] for answer in ANSWERS)
            table.ingested += result.objects["ingested"]
            table.skipped += result.objects["skipped"]
            table.unusable += sum(result.objects[answer] for answer in UNUSABLE)
            table.rows += result.rows
            table.bad_rows += result.bad_rows
            if table.first_freshness is None:
                table.first_freshness, *later = result.freshness or (None,)
                table.freshness.extend(later)
            else:
                table.freshness.extend(result.freshness)
            if result.committed:
                table.commits += 1
                table.last_commit = self._clock() - self._started
                objects = _count(result.objects["ingested"], "object")
                rows = _count(result.rows, "row")
                self._note(f"{result.table}: {objects}, {rows} committed in {result.seconds:.1f} s")

    def note_queue(self, waiting: int, in_flight: int) -> None:
        """Record the depth of the queue."""
        with self._lock:
            self._waiting, self._in_flight = waiting, in_flight

    def take_snapshot(self) -> View:
        """Return a snapshot of everything."""
        with self._lock:
            return View(
                stage=self._stage,
                elapsed=self._clock() - self._started,
                put=self._put,
                to_put=self._to_put,
                events=self._events,
                event_commits=self._event_commits,
                bad_messages=self._bad_messages,
                waiting=self._waiting,
                in_flight=self._in_flight,
                tables={
                    name: replace(table, freshness=list(table.freshness))
                    for name, table in self._tables.items()
                },
                recent=tuple(self._recent),
            )

    def is_warm(self) -> bool:
        """True if every table has an outcome."""
        with self._lock:
            return all(table.answered for table in self._tables.values())

    def has_all(self) -> bool:
        """True if every object of the scenario has an outcome in each of its tables."""
        with self._lock:
            tables = self._tables.values()
            return self._bad_messages >= self._poison and all(t.answered >= t.expected for t in tables)

    def _note(self, text: str) -> None:
        self._recent.append(f"{self._clock() - self._started:5.1f} s  {text}")


def describe_step(step: Step) -> str:
    """Describe what is odd about a step; empty for an ordinary upload."""
    if isinstance(step, Put):
        return f"(!) uploaded {step.note}: {step.key}" if step.note else ""
    if isinstance(step, Resend):
        return f"(!) sent a notification twice: {step.key}"
    if isinstance(step, Announce):
        return f"(!) announced an object that does not exist: {step.key}"
    return "(!) sent a message that is not a notification"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
