"""Turns objects of a batch into rows and outcomes: real `resolve_reads` and `download`, simulated store."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from headwater.errors import HeadwaterError
from headwater.ingest.fetching.download import download, skip_empty
from headwater.ingest.fetching.outcome_rows import FetchOutcome
from headwater.ingest.planning.decision import Decision
from headwater.ingest.planning.observation import is_request
from headwater.ingest.planning.outcome import ContentState, ObjectOutcome
from headwater.ingest.ports import Settle
from headwater.ingest.reading.resolution import (
    NO_RECORDS,
    FindIngested,
    ReadRequest,
    SeenObject,
    resolve_reads,
)
from headwater.sources.object_store import ObjectRef
from simulator.bugs import Bugs
from simulator.outside.bucket import BucketStore
from simulator.outside.crash import Crashes

_MAX_BYTES = 1024
_BAD_LINE = b"!"
_BAD_OBJECT = b"\xff"


@dataclass(frozen=True, slots=True)
class ReadBatch:
    """Outcomes with their line indexes, and the good lines of each object."""

    outcomes: tuple[tuple[int, ObjectOutcome], ...]
    lines: Mapping[int, tuple[str, ...]]

    def release(self) -> None:
        """Does nothing: the lines are in memory."""


def _find_nothing(_: Sequence[ObjectRef]) -> dict[ContentState, int]:
    return {}


class SimulatedObjects:
    """The objects of the simulated bucket; see `headwater.ingest.ports.Objects`."""

    def __init__(self, store: BucketStore, most_objects: int, crashes: Crashes, bugs: Bugs) -> None:
        self._store = store
        self.most_objects = most_objects
        self._crashes = crashes
        self._bugs = bugs
        self._lines: dict[int, tuple[str, ...]] = {}

    def read(self, decisions: Sequence[Decision], find_ingested: FindIngested, settle: Settle) -> ReadBatch:
        self._crashes.at("decided")
        self._lines = {}
        believed: list[Decision] = []
        if "removal_believed" in self._bugs:
            believed = [decision for decision in decisions if decision.stored.event.kind == "removed"]
            decisions = [decision for decision in decisions if decision not in believed]
        forgets = "request_adds_rows" in self._bugs and any(is_request(d.stored.event) for d in decisions)
        resolved = resolve_reads(decisions, self._fetch, _find_nothing if forgets else find_ingested)
        found = [(entry.object_index, entry.outcome) for entry in resolved]
        found += [(NO_RECORDS, ObjectOutcome(d.stored, "removed", looked=True)) for d in believed]
        self._crashes.at("objects read")
        return ReadBatch(tuple((at, settle(outcome)) for at, outcome in found), self._lines)

    def isolate(self, _error: HeadwaterError) -> bool:
        """Returns False: no content makes a commit fail."""
        return False

    def note_committed(self) -> None:
        """Does nothing: there is no state to forget."""

    def take_warnings(self) -> tuple[str, ...]:
        return ()

    def _fetch(self, requests: Sequence[ReadRequest]) -> dict[int, SeenObject]:
        return {request.object_index: self._fetch_one(request) for request in requests}

    def _fetch_one(self, request: ReadRequest) -> SeenObject:
        ref = request.ref
        if "named_version_ignored" in self._bugs:
            ref = replace(ref, version_id=None, etag=None)
        result = download(self._store, ref, _MAX_BYTES)
        self._crashes.at("object read")
        if isinstance(result, FetchOutcome):
            if "superseded_not_looked" in self._bugs and result.status == "superseded":
                result = replace(result, present_etag=None, present_version_id=None)
            return SeenObject(result, 0)
        state, data = result.state, result.data
        if not data:
            return SeenObject(skip_empty(ref), 0)
        if data.startswith(_BAD_OBJECT):
            found = FetchOutcome("quarantined", state.etag, state.version_id, "unparsable", "", len(data))
            return SeenObject(found, 0)
        lines = tuple(line.decode() for line in data.splitlines() if line and not line.startswith(_BAD_LINE))
        self._lines[request.object_index] = lines
        found = FetchOutcome("read", state.etag, state.version_id, None, None, len(data), len(lines))
        return SeenObject(found, len(lines))
