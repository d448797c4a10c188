"""Does finding each table's events cost the same however many tables share them?

Commits of a thousand events, each of one of 100 folders. Every table takes its events of each commit, as its
pipeline does: one table takes all folders, ten take ten each, 100 take one each. Value: CPU time per event
with 100 tables. Floor: with one. Tables are threads of one process, which Python lets run one at a time, so
this time limits a process however many cores it has. No Spark: the newest commits are in memory.
"""

import gc
import statistics
import time
from collections.abc import Sequence

from benchmarks.pairs import say
from benchmarks.result import BenchmarkResult
from benchmarks.sizes import sized
from headwater.capture.division import DividedEvents, Division
from headwater.capture.position import Position
from headwater.capture.stored_event import EventPage, StoredEvent
from headwater.config.table import TableConfig
from headwater.ingest.planning.plan import Limits, Location, Scope, take_batch
from headwater.ingest.planning.selection import build_selector, find_beginnings
from tests.fixtures.events import build_event, build_stored

FOLDERS = 100
COMMIT = 1_000
COMMITS = sized(50, 2)
ROUNDS = 5
GOAL = 2.0
_COMPLETED = "20260501000000000"
_LIMITS = Limits(10_000, 10**12)


def run() -> BenchmarkResult:
    """Microseconds of CPU per event."""
    gc.freeze()
    commits = [build_commit(number) for number in range(COMMITS)]
    costs = []
    for tables in (1, 10, FOLDERS):
        scopes = [build_scope(f"{number:02d}"[: len(str(tables)) - 1]) for number in range(tables)]
        cost = statistics.median(measure(commits, scopes) for _ in range(ROUNDS))
        say(f"{tables} tables: {cost:.2f} us an event")
        costs.append(cost)
    return BenchmarkResult("many_tables", costs[-1], costs[0], "us/event", GOAL, "lower")


def build_commit(number: int) -> list[StoredEvent]:
    """Events of all folders in turn."""
    events = (
        build_event(key=f"raw/{at % FOLDERS:02d}/{number:06d}/{at:06d}.json", sequence=at)
        for at in range(COMMIT)
    )
    return [build_stored(event, at, _COMPLETED) for at, event in enumerate(events)]


def build_scope(folders: str) -> Scope:
    """The rules of the table of the folders that begin so."""
    table = TableConfig(path=f"raw/{folders}*/**/*.json", format="json")
    return Scope((Location("s3", "landing"),), build_selector(table), find_beginnings(table.path))


def measure(commits: Sequence[list[StoredEvent]], scopes: Sequence[Scope]) -> float:
    """Microseconds of CPU per event of dividing all commits, and of all tables."""
    division = Division(["landing"], {text for scope in scopes for text in scope.full_beginnings})
    end, taken = Position(_COMPLETED), 0
    started = time.process_time()
    for commit in commits:
        divided = DividedEvents(commit, division)
        for scope in scopes:
            events = divided.select(scope.full_beginnings)
            page = EventPage(tuple(events), end, more=False, omitted=len(commit) - len(events))
            taken += len(take_batch(page, scope, _LIMITS).events)
    seconds = time.process_time() - started
    assert taken == len(commits) * COMMIT
    return seconds / taken * 1e6
