"""Resolves the reads of one batch: the result of each request, and whether the table already has it. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from headwater.capture.control_events import LISTED_EVENT
from headwater.capture.stored_event import StoredEvent
from headwater.errors import ObjectTooLargeError
from headwater.ingest.fetching.outcome_rows import FetchOutcome
from headwater.ingest.formats.record_reasons import DETAILS, UNPARSABLE
from headwater.ingest.hints.record_shape import describe_shape
from headwater.ingest.planning.decision import Decision
from headwater.ingest.planning.observation import is_from_listing, is_repair, is_sent, names_version
from headwater.ingest.planning.outcome import (
    ContentState,
    ObjectOutcome,
    OutcomeStatus,
    build_already_ingested,
)
from headwater.sources.object_event import name_version
from headwater.sources.object_store import ObjectRef

_ATTEMPTS = 3
"""Maximum reads of an object for one event: it may be overwritten between two reads."""
_INDEXES_AN_ATTEMPT = 1_000_000

NO_RECORDS = -1
"""The `object_index` of an outcome without records."""


@dataclass(frozen=True, slots=True)
class ReadRequest:
    """One object to read for one event. `ref` names the content wanted.

    `is_current`: the current content is wanted, and `ref` names the expected one.
    """

    object_index: int
    stored: StoredEvent
    ref: ObjectRef
    is_current: bool = False


@dataclass(frozen=True, slots=True)
class SeenObject:
    """The result of reading one object: its outcome, and how many records fit the columns or not.

    Of the first misfit, the start of its text, the reason, and what is wrong with it if that is known.
    """

    outcome: FetchOutcome
    good: int
    bad: int = 0
    first_bad: str = ""
    first_reason: str = ""
    first_fault: str = ""


@dataclass(frozen=True, slots=True)
class ResolvedRead:
    """The outcome of one request, with the index of its records and a sample of new columns."""

    object_index: int
    outcome: ObjectOutcome
    sample: str | None = None


Fetch = Callable[[Sequence[ReadRequest]], Mapping[int, SeenObject]]
"""Reads the objects; returns the results by object index."""
FindIngested = Callable[[Sequence[ObjectRef]], Mapping[ContentState, int]]
"""Contents with rows in the table, at least those among the given ones, and the rows per write of each."""


def build_requests(decisions: Sequence[Decision]) -> list[ReadRequest]:
    """Return one request per event, for the content that it names or for the current one."""
    return [_build_request(at, decision) for at, decision in enumerate(decisions)]


def _build_request(at: int, decision: Decision) -> ReadRequest:
    event, is_current = decision.stored.event, decision.action == "look"
    is_content = event.kind != "removed"
    # A listing computes no digest, so its etag does not identify the content of a file.
    is_named = is_content and not (event.provider == "local" and event.event_name == LISTED_EVENT)
    ref = ObjectRef(
        provider=event.provider,
        bucket=event.bucket,
        key=event.key,
        # The current content has the etag that the event names, or was overwritten since.
        version_id=None if is_current else event.version_id,
        etag=event.etag if is_named else None,
        # Only a read determines whether the content is still empty.
        size=(event.size or None) if is_content else None,
    )
    return ReadRequest(at, decision.stored, ref, is_current or not is_named)


def resolve_reads(
    decisions: Sequence[Decision], fetch: Fetch, find_ingested: FindIngested
) -> list[ResolvedRead]:
    """Read each event's object.

    If the current content is wanted and differs from the expected one, it is read by its own name. Content
    that no event of the batch names, or that the table may have (`Decision.may_exist`), is looked up in the
    table. If it is there, it is not ingested again; a repair replaces it.
    """
    named = {_state(d.stored) for d in decisions if d.action == "read" and is_sent(d.stored)}
    possible_duplicates = {d.stored.event_id for d in decisions if d.may_exist}
    reading = _Resolution(fetch, find_ingested, named, possible_duplicates)
    requests = reading.drop_ingested(build_requests(decisions))
    for attempt in range(1, _ATTEMPTS + 1):
        if not requests:
            break
        requests = reading.read(requests, is_last=attempt == _ATTEMPTS)
        requests = [
            replace(request, object_index=attempt * _INDEXES_AN_ATTEMPT + at)
            for at, request in enumerate(requests)
        ]
    return reading.resolved


class _Resolution:
    """The reads of one batch, and their results so far."""

    def __init__(
        self,
        fetch: Fetch,
        find_ingested: FindIngested,
        named: set[ContentState],
        possible_duplicates: set[str],
    ) -> None:
        self._fetch = fetch
        self._find_ingested = find_ingested
        self._taken = named
        self._possible_duplicates = possible_duplicates
        self.resolved: list[ResolvedRead] = []

    def drop_ingested(self, requests: Sequence[ReadRequest]) -> list[ReadRequest]:
        """Resolve requests that need no read: versions that the table has.

        Without versions, only a read determines whether the table's content is also the current one.
        """
        asked = [request.ref for request in requests if self._may_exist(request) and request.ref.version_id]
        known = self._find_ingested(asked) if asked else {}
        left = []
        for request in requests:
            if self._may_exist(request) and _state_of(request.ref) in known:
                self._note_ingested(request, request.ref, known)
            else:
                left.append(request)
        return left

    def read(self, requests: Sequence[ReadRequest], *, is_last: bool) -> list[ReadRequest]:
        """Read the objects once; return requests for the current contents to read instead."""
        seen = self._fetch(requests)
        found = {r.object_index: _find_content(r, seen[r.object_index].outcome) for r in requests}
        asked = [ref for r in requests if (ref := found[r.object_index]) and self._is_unsure(r)]
        known = self._find_ingested(asked) if asked else {}
        again = []
        for request in requests:
            ref, outcome = found[request.object_index], seen[request.object_index].outcome
            present = None if is_last else _find_present(request, outcome)
            if present is not None:
                again.append(replace(request, ref=present))
            elif ref is not None and self._is_ingested(request, ref, known):
                self._note_ingested(request, ref, known)
            else:
                self._note(request, seen[request.object_index])
                self._taken |= {_state_of(ref)} if ref else set()
        return again

    def _may_exist(self, request: ReadRequest) -> bool:
        return request.stored.event_id in self._possible_duplicates

    def _is_unsure(self, request: ReadRequest) -> bool:
        """True if the content may have been ingested for another reason than its own notification."""
        return self._may_exist(request) or request.is_current or is_from_listing(request.stored)

    def _is_ingested(self, request: ReadRequest, ref: ObjectRef, known: Mapping[ContentState, int]) -> bool:
        if not self._is_unsure(request):
            return False
        state = _state_of(ref)
        # A repair replaces the table's content, but not content that another event of this batch ingests.
        is_other = state in self._taken and not self._may_exist(request)
        return is_other or (state in known and not is_repair(request.stored.event))

    def _note_ingested(self, request: ReadRequest, ref: ObjectRef, known: Mapping[ContentState, int]) -> None:
        """Resolve to content that the table has, or that another event of the batch ingests."""
        state = _state_of(ref)
        outcome = build_already_ingested(
            request.stored,
            state,
            ref.etag or "",
            looked=_reads_current_content(request),
            kept=known.get(state, 0),
        )
        self.resolved.append(ResolvedRead(NO_RECORDS, outcome))

    def _note(self, request: ReadRequest, seen: SeenObject) -> None:
        outcome = _to_outcome(request, seen)
        if outcome.reason == "unparsable" and (shape := describe_shape(seen.first_bad)):
            outcome = replace(outcome, detail=f"{outcome.detail}; {shape}")
        self.resolved.append(ResolvedRead(request.object_index, outcome, seen.outcome.schema_sample))


def _find_content(request: ReadRequest, found: FetchOutcome) -> ObjectRef | None:
    """Return the content that was read; None if there was none."""
    if found.status != "read":
        return None
    return replace(request.ref, version_id=found.version_id, etag=found.etag)


def _find_present(request: ReadRequest, found: FetchOutcome) -> ObjectRef | None:
    """Return the request to read instead: the current content if that is wanted, or the same by its size."""
    is_same = request.ref.version_id is None and request.ref.etag in (None, found.present_etag)
    if found.status != "superseded" or not (request.is_current or is_same):
        return None
    version_id = None if found.present_version_id == "null" else found.present_version_id
    if not name_version(version_id, found.present_etag):
        return None
    return replace(request.ref, version_id=version_id, etag=found.present_etag, size=found.present_size)


def _state(stored: StoredEvent) -> ContentState:
    return (stored.event.bucket, stored.event.key, stored.event.version)


def _state_of(ref: ObjectRef) -> ContentState:
    return (ref.bucket, ref.key, name_version(ref.version_id, ref.etag))


def _reads_current_content(request: ReadRequest) -> bool:
    """True if the content found is the current one, which need not be the event's."""
    return request.is_current or (is_from_listing(request.stored) and not names_version(request.stored.event))


def _to_outcome(request: ReadRequest, seen: SeenObject) -> ObjectOutcome:
    """Return one object's outcome from the result of reading it."""
    found, good, bad = seen.outcome, seen.good, seen.bad
    reason, detail = found.reason or "", found.detail or ""
    status: OutcomeStatus
    if found.status != "read":
        status = found.status
        if status in ("missing", "unavailable", "superseded"):
            reason = reason or status
    elif good:
        status = "ingested"
    elif bad:
        status = "quarantined"
        reason, detail = _explain_misfits(bad, seen.first_reason, seen.first_fault)
        bad = 0
    else:
        status, reason = "skipped", "no_records"
    return ObjectOutcome(
        stored=request.stored,
        status=status,
        reason=reason,
        detail=detail,
        bytes=found.bytes or 0,
        rows=good,
        bad_rows=bad,
        version=name_version(found.version_id, found.etag),
        etag=found.etag or "",
        looked=_reads_current_content(request),
    )


def _explain_misfits(count: int, first: str, fault: str) -> tuple[str, str]:
    """Return reason and detail of an object without any record that fits."""
    if first == ObjectTooLargeError.reason:
        return first, f"none of its {count} records can become a row: larger than `max_record_bytes`"
    why = DETAILS.get(first, DETAILS[UNPARSABLE])
    why = f"{why}: {fault}" if fault else why
    return UNPARSABLE, f"none of its {count} records can become a row: the first {why}"
