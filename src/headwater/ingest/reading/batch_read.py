"""Read the objects of one batch, looking again at those that are no longer what their event named."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from pyspark import StorageLevel
from pyspark.sql import DataFrame, Row

from headwater.capture.object_event import name_version
from headwater.capture.stored_event import StoredEvent
from headwater.ingest.hints.record_shape import describe_shape
from headwater.ingest.object_stores import ObjectRef
from headwater.ingest.planning.decision import Decision
from headwater.ingest.planning.ledger_entry import is_repair, names_version
from headwater.ingest.planning.order import is_from_listing
from headwater.ingest.planning.outcome import ContentState, ObjectOutcome, build_already_ingested
from headwater.ingest.reading.object_reader import (
    Records,
    Request,
    SeenObject,
    build_requests,
    look_through,
)

ReadObjects = Callable[[Sequence[Request]], Records]
FindIngested = Callable[[Sequence[ObjectRef]], Mapping[ContentState, int]]
"""States whose rows the table has, those among the given ones at least, and how many rows a write of each."""

_LOOKS = 3
_INDEXES_A_LOOK = 1_000_000

NO_RECORDS = -1
"""The `object_index` of an outcome without records."""


@dataclass(frozen=True, slots=True)
class BatchRead:
    """`records` are persisted until `release`; outcomes carry the `object_index` of their records.

    `samples` tell of columns that the table has not: see `evolution.schema_sample`. `bad` as in `Seen`.
    """

    records: DataFrame | None
    outcomes: tuple[tuple[int, ObjectOutcome], ...]
    frames: tuple[DataFrame, ...]
    samples: tuple[tuple[StoredEvent, str], ...] = ()
    bad: Sequence[Row] | None = None

    def release(self) -> None:
        """Free the records."""
        for frame in self.frames:
            frame.unpersist()


def read_batch(
    decisions: Sequence[Decision],
    read: ReadObjects,
    find_ingested: FindIngested,
    doubtful: Collection[str] = (),
) -> BatchRead:
    """Fetch each event's object; where it was superseded, fetch what lies there now, once.

    A later event may be lost, so the present state is ingested at once; if its own event does come,
    the outcome's `looked` tells that it is done. A present state that is named by another event of the
    batch or that is in the table already is left alone, and so is what a listing or a look has led to.
    `doubtful` are ids of events whose content may be in the table, too.
    """
    named = {_state(d.stored) for d in decisions if d.action == "read" and not is_from_listing(d.stored)}
    reading = _Reading(read, find_ingested, named, doubtful)
    try:
        requests = reading.drop_ingested(build_requests(decisions))
        for look in range(_LOOKS):
            if not requests:
                break
            requests = reading.look(requests, look)
    except BaseException:
        reading.release()
        raise
    return reading.build()


class _Reading:
    """The looks at one batch's objects, and what they have told so far."""

    def __init__(
        self,
        read: ReadObjects,
        find_ingested: FindIngested,
        named: set[ContentState],
        doubtful: Collection[str],
    ) -> None:
        self._read = read
        self._find_ingested = find_ingested
        self._named = named
        self._doubtful = doubtful
        self._frames: list[DataFrame] = []
        self._outcomes: list[tuple[int, ObjectOutcome]] = []
        self._samples: list[tuple[StoredEvent, str]] = []
        self._bad: list[Row] | None = []

    def drop_ingested(self, requests: list[Request]) -> list[Request]:
        """A restored object may be in the table from before it was archived, a version from a look.

        Without versions, reading tells whether what is in the table is also what lies there.
        """
        asked = [request.ref for request in requests if self._may_be_dropped(request)]
        known = self._find_ingested(asked) if asked else {}
        kept: list[Request] = []
        for request in requests:
            if self._may_be_dropped(request) and _address(request.ref) in known:
                self._note_ingested(request, request.ref, known)
            else:
                kept.append(request)
        return kept

    def _may_be_dropped(self, request: Request) -> bool:
        is_doubtful = request.stored.event_id in self._doubtful and request.ref.version_id is not None
        return is_doubtful or request.stored.event.kind == "restored"

    def look(self, requests: Sequence[Request], number: int) -> list[Request]:
        """Read the objects; returns the requests for those that have to be looked at again."""
        records = self._read(requests)
        if not records.is_at_hand:
            records.frame.persist(StorageLevel.MEMORY_AND_DISK)
        self._frames.append(records.frame)
        told = look_through(records)
        seen = told.objects
        self._bad = None if self._bad is None or told.bad is None else [*self._bad, *told.bad]
        unnamed = {} if number else _find_unnamed(requests, seen)
        doubtful = {} if number else self._find_doubtful(requests, seen)
        found_refs = [*unnamed.values(), *doubtful.values()]
        known = self._find_ingested(found_refs) if found_refs else {}
        # A repair replaces what the table has, but not what another event of this batch ingests.
        taken = set(self._named)
        again: list[Request] = []
        for request in requests:
            found, at = seen[request.object_index], request.object_index
            retry = None if number == _LOOKS - 1 else _look_again(request, found, self._named)
            if retry is not None:
                again.append(retry)
            elif (ref := unnamed.get(at)) and (
                _address(ref) in taken or (_address(ref) in known and not is_repair(request.stored.event))
            ):
                self._note_ingested(request, ref, known)
            elif (own := doubtful.get(at)) and _address(own) in known:
                self._note_ingested(request, own, known)
            else:
                self._note(request, found)
                taken |= {_address(ref)} if ref else set()
        self._named |= {_address(ref) for ref in unnamed.values()}
        return self._renumber(again, start=(number + 1) * _INDEXES_A_LOOK)

    def _find_doubtful(
        self, requests: Sequence[Request], seen: Mapping[int, SeenObject]
    ) -> dict[int, ObjectRef]:
        """What was read as its event names it, and may be in the table nevertheless, by object index."""
        return {
            request.object_index: request.ref
            for request in requests
            if request.stored.event_id in self._doubtful
            and seen[request.object_index].outcome["status"] == "read"
        }

    def _note_ingested(self, request: Request, ref: ObjectRef, known: Mapping[ContentState, int]) -> None:
        """`ref` is what the event names, or what was found; if not `known`, another event has it."""
        state = _address(ref)
        outcome = build_already_ingested(
            request.stored, state, ref.etag or "", looked=_is_looked(request), kept=known.get(state, 0)
        )
        self._outcomes.append((NO_RECORDS, outcome))

    def _note(self, request: Request, found: SeenObject) -> None:
        outcome = _to_outcome(request, found)
        if outcome.reason == "unparsable" and (shape := describe_shape(found.first_bad)):
            outcome = replace(outcome, detail=f"{outcome.detail}; {shape}")
        self._outcomes.append((request.object_index, outcome))
        if sample := found.outcome["schema_sample"]:
            self._samples.append((request.stored, sample))

    def _renumber(self, again: Sequence[Request], start: int) -> list[Request]:
        """Keep one request a state, not in the table yet; the others are superseded for good."""
        known = set(self._named)
        if again:
            known |= self._find_ingested([request.ref for request in again]).keys()
        kept: list[Request] = []
        for request in again:
            if _address(request.ref) in known:
                outcome = ObjectOutcome(request.stored, "superseded", "superseded")
                self._outcomes.append((NO_RECORDS, outcome))
            else:
                known.add(_address(request.ref))
                kept.append(replace(request, object_index=start + len(kept)))
        return kept

    def build(self) -> BatchRead:
        """All records and outcomes."""
        records = _union(self._frames)
        samples = sorted(self._samples, key=lambda found: found[0].position)
        return BatchRead(records, tuple(self._outcomes), tuple(self._frames), tuple(samples), self._bad)

    def release(self) -> None:
        """Free what was read for nothing."""
        for frame in self._frames:
            frame.unpersist()


def _look_again(request: Request, seen: SeenObject, named: set[ContentState]) -> Request | None:
    """A request for what lies under the key now, or None when there is nothing further to read."""
    found = seen.outcome
    if found["status"] != "superseded":
        return None
    version_id, etag = found["present_version_id"], found["present_etag"]
    if version_id == "null":
        version_id = None
    ref = replace(request.ref, version_id=version_id, etag=etag, size=found["present_size"])
    if _address(ref) in named or not _address(ref)[-1]:
        return None
    return replace(request, ref=ref, observed=True)


def _find_unnamed(requests: Sequence[Request], seen: Mapping[int, SeenObject]) -> dict[int, ObjectRef]:
    """What was read without an event that names it, by object index."""
    unnamed = {}
    for request in requests:
        found = seen[request.object_index].outcome
        is_named = not (request.observed or is_from_listing(request.stored))
        if found["status"] == "read" and not is_named:
            ref = replace(request.ref, version_id=found["version_id"], etag=found["etag"])
            unnamed[request.object_index] = ref
    return unnamed


def _state(stored: StoredEvent) -> ContentState:
    return (stored.event.bucket, stored.event.key, stored.event.version)


def _address(ref: ObjectRef) -> ContentState:
    return (ref.bucket, ref.key, name_version(ref.version_id, ref.etag))


def _union(frames: Sequence[DataFrame]) -> DataFrame | None:
    result: DataFrame | None = None
    for frame in frames:
        result = frame if result is None else result.unionByName(frame)
    return result


def _to_outcome(request: Request, seen: SeenObject) -> ObjectOutcome:
    """One object's outcome from what the executors saw of it."""
    found, good, bad = seen.outcome, seen.good, seen.bad
    version = name_version(found["version_id"], found["etag"])
    status, reason, detail = found["status"], found["reason"] or "", found["detail"] or ""
    if status == "missing":
        reason = "missing"
    elif status == "unavailable":
        reason = reason or "unavailable"
    elif status == "superseded":
        reason = reason or "superseded"
    elif status == "read" and good == 0 and bad > 0:
        status, reason = "quarantined", "unparsable"
        detail = (
            f"none of its {bad} records can become a row: they do not fit the columns, cannot be decoded, or "
            "have no key"
        )
        bad = 0
    elif status == "read" and good == 0:
        status, reason = "skipped", "no_records"
    elif status == "read":
        status = "ingested"
    return ObjectOutcome(
        stored=request.stored,
        status=status,
        reason=reason,
        detail=detail,
        bytes=found["bytes"] or 0,
        rows=good,
        bad_rows=bad,
        version=version,
        etag=found["etag"] or "",
        looked=_is_looked(request),
    )


def _is_looked(request: Request) -> bool:
    """Whether what lies there is read, whatever the event names."""
    return request.observed or (is_from_listing(request.stored) and not names_version(request.stored.event))
