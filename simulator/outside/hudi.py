"""A Hudi table: requested, inflight and completed instants, rollback, an archive, one visible state."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from headwater.errors import LakeError
from simulator.outside.clock import SimulatedClock
from simulator.outside.crash import Crashes

R = TypeVar("R")


class Commit(NamedTuple):
    """A completed write, ordered by completion."""

    completed: str
    requested: str
    action: str = "commit"


@dataclass(slots=True)
class Write(Generic[R]):
    """Rows by record key. `insert` does not look up existing keys, so it may create duplicates."""

    rows: Sequence[tuple[Hashable, R]] = ()
    deletes: Sequence[Hashable] = ()
    insert: bool = False
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Settings:
    """Minimum and maximum number of commits on the active timeline."""

    keep_min: int = 16
    keep_max: int = 20


class Timeline:
    """A snapshot of a table's timeline, with the answers of `headwater.lake.timeline`."""

    def __init__(self, table: "HudiTable[R]") -> None:
        self.commits = tuple(table.active)
        self._archived = tuple(table.archived)
        self._metadata = table.metadata
        self._exists = table.exists

    def exists(self) -> bool:
        return self._exists

    def has_completed(self, completed: str) -> bool:
        return any(commit.completed == completed for commit in (*self._archived, *self.commits))

    def list_archived(self) -> tuple[Commit, ...]:
        return self._archived

    def read_metadata(self, commit: Commit) -> Mapping[str, str]:
        if commit not in self.commits:
            raise LakeError(f"commit {commit.requested} is not on the active timeline")
        return self._metadata[commit.requested]

    def iter_metadata(self, after: str) -> Iterator[tuple[Commit, Mapping[str, str]]]:
        for commit in (*self._archived, *self.commits):
            if commit.completed > after:
                yield commit, self._metadata[commit.requested]

    def find_metadata(self, key: str) -> Mapping[str, str] | None:
        for commit in reversed((*self._archived, *self.commits)):
            if key in self._metadata[commit.requested]:
                return self._metadata[commit.requested]
        return None


class HudiTable(Generic[R]):
    """Survives the process. `faults`: fail the next writes "before" or "after" they complete."""

    def __init__(self, name: str, clock: SimulatedClock, crashes: Crashes, settings: Settings) -> None:
        self.name = name
        self._clock = clock
        self._crashes = crashes
        self._settings = settings
        self.active: list[Commit] = []
        self.archived: list[Commit] = []
        self.metadata: dict[str, Mapping[str, str]] = {}
        self.inserted: dict[str, list[R]] = {}
        self.pending: list[str] = []
        self.exists = False
        self._rows: defaultdict[Hashable, list[R]] = defaultdict(list)
        self.faults: list[str] = []
        self.counts: Counter[str] = Counter()
        self.on_commit: Callable[[Commit, Write[R]], None] = lambda _commit, _write: None

    def load_timeline(self) -> Timeline:
        return Timeline(self)

    def read(self) -> list[R]:
        """Returns all rows. Raises `LakeError` if there is no table yet, as Spark's reader does."""
        if not self.exists:
            raise LakeError(f"there is no table {self.name}")
        return self.peek()

    def peek(self) -> list[R]:
        """Returns all rows, for checks only."""
        return [row for rows in self._rows.values() for row in rows]

    def count_keys(self) -> dict[Hashable, int]:
        return {key: len(rows) for key, rows in self._rows.items() if rows}

    def find(self, key: Hashable) -> R | None:
        rows = self._rows.get(key)
        return rows[0] if rows else None

    def write(self, write: Write[R]) -> Commit:
        """Commits the write. Raises `LakeError`, which does not reveal whether the commit completed."""
        self.roll_back()
        requested = self._begin()
        fault = self.faults.pop(0) if self.faults else ""
        if fault == "before":
            self.counts["failed commits"] += 1
            raise LakeError(f"{self.name}: the commit failed")
        commit = self.complete(requested, write)
        self._crashes.at("completed")
        self._archive()
        if fault == "after":
            self.counts["unknown commits"] += 1
            raise LakeError(f"{self.name}: the commit is complete, and its archiving failed")
        return commit

    def roll_back(self) -> None:
        """Rolls back what an earlier process or a failed commit left behind."""
        while self.pending:
            self._crashes.at("rollback begun")
            self.pending.pop()
            self.counts["rollbacks"] += 1
            self._crashes.at("rollback done")

    def open_concurrent(self) -> str:
        """Opens another writer's commit, which completes during other commits and is never rolled back."""
        self.exists = True
        self.counts["overlapping commits"] += 1
        return self._clock.next_instant()

    def _begin(self) -> str:
        requested = self._clock.next_instant()
        self.pending.append(requested)
        self.exists = True
        for point in ("requested", "inflight", "data file written", "all files written"):
            self._crashes.at(point)
        return requested

    def complete(self, requested: str, write: Write[R]) -> Commit:
        """Completes the commit atomically: all rows of the write become visible now."""
        if requested in self.pending:
            self.pending.remove(requested)
        commit = Commit(self._clock.next_instant(), requested)
        for key in write.deletes:
            self._rows.pop(key, None)
        for key, row in write.rows:
            if write.insert or not self._rows.get(key):
                self._rows[key].append(row)
            else:
                self._rows[key] = [row] * len(self._rows[key])
        self.inserted[requested] = [row for _, row in write.rows]
        self.metadata[requested] = dict(write.metadata)
        self.active.append(commit)
        self.on_commit(commit, write)
        return commit

    def add_service_commit(self) -> None:
        """Adds a commit of an external table service without rows of the product."""
        if self.exists and not self.pending:
            self.counts["service commits"] += 1
            requested = self._clock.next_instant()
            self.metadata[requested] = {}
            self.inserted[requested] = []
            self.active.append(Commit(self._clock.next_instant(), requested, "replacecommit"))
            self._archive()

    def _archive(self) -> None:
        if len(self.active) <= self._settings.keep_max:
            return
        kept = self._settings.keep_min
        self.counts["archived"] += len(self.active) - kept
        self.archived += self.active[:-kept]
        self.active = self.active[-kept:]
        self._crashes.at("archived")

    def read_commits(self, commits: Iterable[Commit]) -> dict[Commit, list[R]]:
        """Returns the rows that each commit added."""
        return {commit: self.inserted[commit.requested] for commit in commits}
