"""Read the objects of one batch, looking again at those that are no longer what their event named."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from pyspark import StorageLevel
from pyspark.sql import DataFrame

from headwater.capture.stored_event import StoredEvent
from headwater.ingest.accounting import to_outcome
from headwater.ingest.object_stores import ObjectRef
from headwater.ingest.planning.outcome import ObjectOutcome
from headwater.ingest.reading.object_reader import Request, SeenObject, build_requests, collect_outcomes

State = tuple[str, str]
"""Object id, and version id or etag."""

ReadObjects = Callable[[Sequence[Request]], DataFrame]
FindIngested = Callable[[Sequence[ObjectRef]], set[tuple[str, str, str]]]
"""States among the given ones whose rows the table has: (bucket, key, version)."""

_LOOKS = 3


@dataclass(frozen=True, slots=True)
class BatchRead:
    """`records` are persisted until `release`; outcomes carry the `object_index` of their records."""

    records: DataFrame | None
    outcomes: tuple[tuple[int, ObjectOutcome], ...]
    observed: tuple[State, ...]
    frames: tuple[DataFrame, ...]

    def release(self) -> None:
        """Free the records."""
        for frame in self.frames:
            frame.unpersist()


def read_batch(events: Sequence[StoredEvent], read: ReadObjects, find_ingested: FindIngested) -> BatchRead:
    """Fetch each event's object; where it was superseded, fetch what lies there now, once.

    A later event may be lost, so the present state is ingested at once; if its own event does come,
    `observed` tells that it is done. A present state that is named by another event of the batch or
    that is in the table already is left alone.
    """
    named = {_state(stored) for stored in events}
    requests = _drop_ingested(build_requests(events), find_ingested)
    outcomes: list[tuple[int, ObjectOutcome]] = (
        [
            (-1, ObjectOutcome(stored, "superseded", "already_ingested"))
            for stored in events
            if stored not in {request.stored for request in requests}
        ]
        if len(requests) < len(events)
        else []
    )
    frames: list[DataFrame] = []
    observed: list[State] = []
    for look in range(_LOOKS):
        if not requests:
            break
        frame = read(requests).persist(StorageLevel.MEMORY_AND_DISK)
        frames.append(frame)
        seen = collect_outcomes(frame)
        again: list[Request] = []
        for request in requests:
            found = seen[request.object_index]
            retry = None if look == _LOOKS - 1 else _look_again(request, found, named)
            if retry is None:
                outcomes.append((request.object_index, to_outcome(request, found)))
                if request.observed and found.outcome["status"] == "read":
                    observed.append(
                        (request.stored.event.object_id, request.ref.version_id or request.ref.etag or "")
                    )
            else:
                again.append(retry)
        requests = _renumber(again, find_ingested, outcomes, start=(look + 1) * 1_000_000)
    records = _union(frames)
    return BatchRead(records, tuple(outcomes), tuple(observed), tuple(frames))


def _drop_ingested(requests: list[Request], find_ingested: FindIngested) -> list[Request]:
    """A restored object may be in the table from before it was archived."""
    restored = [request.ref for request in requests if request.stored.event.kind == "restored"]
    if not restored:
        return requests
    known = find_ingested(restored)
    return [r for r in requests if r.stored.event.kind != "restored" or _address(r.ref) not in known]


def _look_again(request: Request, seen: SeenObject, named: set[State]) -> Request | None:
    """A request for what lies under the key now, or None when there is nothing further to read."""
    found = seen.outcome
    if found["status"] != "superseded":
        return None
    version_id, etag = found["present_version_id"], found["present_etag"]
    if version_id == "null":
        version_id = None
    state = (request.stored.event.object_id, version_id or etag or "")
    if state in named or not state[1]:
        return None
    ref = replace(request.ref, version_id=version_id, etag=etag, size=found["present_size"])
    return replace(request, ref=ref, observed=True)


def _renumber(
    again: Iterable[Request],
    find_ingested: FindIngested,
    outcomes: list[tuple[int, ObjectOutcome]],
    start: int,
) -> list[Request]:
    """Keep one request a state, not in the table yet; the others are superseded for good."""
    requests = list(again)
    if not requests:
        return []
    known = find_ingested([request.ref for request in requests])
    kept: list[Request] = []
    for request in requests:
        if _address(request.ref) in known:
            outcomes.append((-1, ObjectOutcome(request.stored, "superseded", "superseded")))
        else:
            known.add(_address(request.ref))
            kept.append(replace(request, object_index=start + len(kept)))
    return kept


def _state(stored: StoredEvent) -> State:
    return (stored.event.object_id, stored.event.version_id or stored.event.etag or "")


def _address(ref: ObjectRef) -> tuple[str, str, str]:
    return (ref.bucket, ref.key, ref.version_id or ref.etag or "")


def _union(frames: Sequence[DataFrame]) -> DataFrame | None:
    result: DataFrame | None = None
    for frame in frames:
        result = frame if result is None else result.unionByName(frame)
    return result
