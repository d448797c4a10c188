"""Objects of a batch to rows and outcomes, as in `headwater.ingest.reading`; with the real `download`."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from headwater.capture.object_event import name_version
from headwater.capture.stored_event import StoredEvent
from headwater.ingest.fetching.download import download, skip_empty
from headwater.ingest.fetching.outcome_rows import FetchOutcome
from headwater.ingest.object_stores.protocol import ObjectRef
from headwater.ingest.planning.decision import Decision
from headwater.ingest.planning.ledger_entry import is_repair, is_request, names_version
from headwater.ingest.planning.order import is_from_listing
from headwater.ingest.planning.outcome import ContentState, ObjectOutcome, build_already_ingested
from simulator.bugs import Bugs
from simulator.outside.bucket import BucketStore
from simulator.outside.crash import Crashes

FindIngested = Callable[[Sequence[ObjectRef]], Mapping[ContentState, int]]

_LOOKS = 3
_MAX_BYTES = 1024
_BAD_LINE = b"!"
_BAD_OBJECT = b"\xff"


@dataclass(frozen=True, slots=True)
class Request:
    """See `headwater.ingest.reading.object_reader.Request`."""

    stored: StoredEvent
    ref: ObjectRef
    observed: bool = False


@dataclass(frozen=True, slots=True)
class ReadObject:
    """One object's outcome, with its good rows."""

    outcome: ObjectOutcome
    lines: tuple[str, ...] = ()


class ObjectReading:
    """The looks at one batch's objects."""

    def __init__(self, store: BucketStore, find_ingested: FindIngested, crashes: Crashes, bugs: Bugs) -> None:
        self._store = store
        self._find_ingested = find_ingested
        self._crashes = crashes
        self._bugs = bugs
        self._found: list[ReadObject] = []

    def read(self, decisions: Sequence[Decision], doubtful: Collection[str]) -> list[ReadObject]:
        """Fetch each object; where it was superseded, fetch what lies there now."""
        named = {
            (d.stored.event.bucket, d.stored.event.key, d.stored.event.version)
            for d in decisions
            if d.action == "read" and not is_from_listing(d.stored)
        }
        requests = self._drop_ingested([self._build_request(d) for d in decisions], doubtful)
        for number in range(_LOOKS):
            again = []
            fetched = [(request, *self._fetch(request)) for request in requests]
            unnamed = (
                {} if number else {id(r): _found(r, seen) for r, seen, _ in fetched if _is_unnamed(r, seen)}
            )
            unsure = {
                id(r): r.ref
                for r, seen, _ in fetched
                if not number and r.stored.event_id in doubtful and seen.status == "read"
            }
            known = self._find_ingested([*unnamed.values(), *unsure.values()])
            taken = set(named)
            for request, seen, lines in fetched:
                ref = unnamed.get(id(request))
                retry = None if number == _LOOKS - 1 else self._look_again(request, seen, named)
                if retry is not None:
                    again.append(retry)
                elif ref is not None and self._is_taken(request, ref, known, taken):
                    self._note_ingested(request, ref, known)
                elif id(request) in unsure and _address(request.ref) in known:
                    self._note_ingested(request, request.ref, known)
                else:
                    self._found.append(ReadObject(self._to_outcome(request, seen, len(lines)), lines))
                    taken |= {_address(ref)} if ref else set()
            named |= {_address(ref) for ref in unnamed.values()}
            requests = self._keep_new(again, named)
        return self._found

    def _is_taken(
        self,
        request: Request,
        ref: ObjectRef,
        known: Collection[ContentState],
        taken: Collection[ContentState],
    ) -> bool:
        is_replaced = is_repair(request.stored.event)
        if "request_adds_rows" in self._bugs and is_request(request.stored.event):
            return False
        return _address(ref) in taken or (_address(ref) in known and not is_replaced)

    def _note_ingested(self, request: Request, ref: ObjectRef, known: Mapping[ContentState, int]) -> None:
        state = _address(ref)
        outcome = build_already_ingested(
            request.stored, state, ref.etag or "", looked=_is_looked(request), kept=known.get(state, 0)
        )
        self._found.append(ReadObject(outcome))

    def _build_request(self, decision: Decision) -> Request:
        event, is_look = decision.stored.event, decision.action == "look"
        ref = ObjectRef(event.provider, event.bucket, event.key)
        if is_look:
            return Request(decision.stored, ref, observed=True)
        if "named_version_ignored" not in self._bugs:
            ref = replace(ref, version_id=event.version_id, etag=event.etag)
        return Request(decision.stored, replace(ref, size=event.size))

    def _drop_ingested(self, requests: list[Request], doubtful: Collection[str]) -> list[Request]:
        def is_doubtful(request: Request) -> bool:
            is_unsure = request.stored.event_id in doubtful and request.ref.version_id is not None
            return is_unsure or request.stored.event.kind == "restored"

        known = self._find_ingested([request.ref for request in requests if is_doubtful(request)])
        kept = []
        for request in requests:
            if is_doubtful(request) and _address(request.ref) in known:
                self._note_ingested(request, request.ref, known)
            else:
                kept.append(request)
        return kept

    def _look_again(self, request: Request, seen: FetchOutcome, named: set[ContentState]) -> Request | None:
        if seen.status != "superseded" or "superseded_not_looked" in self._bugs:
            return None
        version_id = None if seen.present_version_id == "null" else seen.present_version_id
        ref = replace(request.ref, version_id=version_id, etag=seen.present_etag, size=seen.present_size)
        if _address(ref) in named or not _address(ref)[-1]:
            return None
        return replace(request, ref=ref, observed=True)

    def _keep_new(self, again: Sequence[Request], named: set[ContentState]) -> list[Request]:
        known = named | self._find_ingested([request.ref for request in again]).keys() if again else set()
        kept = []
        for request in again:
            if _address(request.ref) in known:
                self._found.append(ReadObject(ObjectOutcome(request.stored, "superseded", "superseded")))
            else:
                known.add(_address(request.ref))
                kept.append(request)
        return kept

    def _fetch(self, request: Request) -> tuple[FetchOutcome, tuple[str, ...]]:
        ref = request.ref
        result = download(self._store, ref, _MAX_BYTES)
        self._crashes.at("object read")
        if isinstance(result, FetchOutcome):
            return result, ()
        state, data = result.state, result.data
        if not data:
            return skip_empty(ref), ()
        if data.startswith(_BAD_OBJECT):
            found = FetchOutcome("quarantined", state.etag, state.version_id, "unparsable", "", len(data))
            return found, ()
        lines = tuple(line.decode() for line in data.splitlines() if line and not line.startswith(_BAD_LINE))
        return FetchOutcome("read", state.etag, state.version_id, None, None, len(data), len(lines)), lines

    def _to_outcome(self, request: Request, seen: FetchOutcome, good: int) -> ObjectOutcome:
        """See `headwater.ingest.reading.batch_read`."""
        status, reason = str(seen.status), seen.reason or ""
        if status == "read":
            status, reason = ("ingested", "") if good else ("skipped", "no_records")
        elif status in ("missing", "unavailable", "superseded"):
            reason = reason or status
        version = name_version(seen.version_id, seen.etag)
        return ObjectOutcome(
            stored=request.stored,
            status=status,
            reason=reason,
            bytes=seen.bytes,
            rows=good,
            version=version,
            etag=seen.etag or "",
            looked=_is_looked(request),
        )


def _is_looked(request: Request) -> bool:
    return request.observed or (is_from_listing(request.stored) and not names_version(request.stored.event))


def _address(ref: ObjectRef) -> ContentState:
    return (ref.bucket, ref.key, name_version(ref.version_id, ref.etag))


def _is_unnamed(request: Request, seen: FetchOutcome) -> bool:
    is_named = not (request.observed or is_from_listing(request.stored))
    return seen.status == "read" and not is_named


def _found(request: Request, seen: FetchOutcome) -> ObjectRef:
    return replace(request.ref, version_id=seen.version_id, etag=seen.etag)
