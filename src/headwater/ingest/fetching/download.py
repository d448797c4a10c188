"""Downloads objects with a few threads and bounded memory; separates missing from superseded objects."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue

from headwater.errors import (
    ObjectError,
    ObjectMissingError,
    ObjectSupersededError,
    ObjectTooLargeError,
    ObjectUnavailableError,
    SourceUnavailableError,
)
from headwater.ingest.fetching.outcome_rows import FetchOutcome
from headwater.ingest.planning.window import EVERYTHING, OUTSIDE_WINDOW, Window
from headwater.sources.object_store import ObjectContent, ObjectRef, ObjectState, ObjectStore

MAX_WAITING_BYTES = 64 * 1024 * 1024
_UNKNOWN_SIZE = 4 * 1024 * 1024
_REQUESTS_A_THREAD = 4
# With a window, a request for the time of such an object may save its download.
_PROBED_BYTES = 1024 * 1024
# If the first objects of a batch, this many in a row, are unavailable, the source is down.
_UNAVAILABLE_IN_A_ROW = 16


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """One row of the input."""

    object_index: int
    ref: ObjectRef


@dataclass(frozen=True, slots=True)
class Download:
    """Either the content, or the outcome if there is none to read."""

    request: FetchRequest
    result: ObjectContent | FetchOutcome


def iter_downloads(
    requests: Iterator[FetchRequest],
    store: ObjectStore,
    max_object_bytes: int,
    threads: int,
    window: Window = EVERYTHING,
) -> Iterator[Download]:
    """Yield downloads of all objects, in any order. Buffers at most about `MAX_WAITING_BYTES`.

    Raises errors of the whole source: CredentialsError, and SourceUnavailableError if all objects are
    unavailable.
    """
    done: SimpleQueue[Download | BaseException] = SimpleQueue()

    def run(request: FetchRequest) -> None:
        try:
            done.put(Download(request, download(store, request.ref, max_object_bytes, window)))
        except BaseException as error:  # raised again in the consuming thread
            done.put(error)

    upcoming = next(requests, None)
    running = waiting_bytes = 0
    watch = _OutageWatch()
    pool = ThreadPoolExecutor(threads, thread_name_prefix="fetch")
    try:
        while upcoming is not None or running:
            while upcoming is not None and _has_room(running, waiting_bytes, upcoming, threads):
                pool.submit(run, upcoming)
                running, waiting_bytes = running + 1, waiting_bytes + _expect_bytes(upcoming)
                upcoming = next(requests, None)
            found = done.get()
            if isinstance(found, BaseException):
                raise found
            watch.note(found)
            yield found
            running, waiting_bytes = running - 1, waiting_bytes - _expect_bytes(found.request)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _has_room(running: int, waiting_bytes: int, request: FetchRequest, threads: int) -> bool:
    if not running:
        return True
    fits = waiting_bytes + _expect_bytes(request) <= MAX_WAITING_BYTES
    return fits and running < threads * _REQUESTS_A_THREAD


def _expect_bytes(request: FetchRequest) -> int:
    return _UNKNOWN_SIZE if request.ref.size is None else request.ref.size


class _OutageWatch:
    """Ends a batch early during a source outage, instead of retrying every object."""

    def __init__(self) -> None:
        self._is_up = False
        self._in_a_row = 0

    def note(self, found: Download) -> None:
        result = found.result
        if self._is_up or not isinstance(result, FetchOutcome) or result.status != "unavailable":
            self._is_up = True
            return
        self._in_a_row += 1
        if self._in_a_row >= _UNAVAILABLE_IN_A_ROW:
            raise SourceUnavailableError(
                f"the source is down: none of {self._in_a_row} objects could be read; last: {result.detail}",
                hint="nothing is lost; the batch is retried",
            )


def download(
    store: ObjectStore, ref: ObjectRef, max_object_bytes: int, window: Window = EVERYTHING
) -> ObjectContent | FetchOutcome:
    """Download one object, or return its outcome, also for one outside the window."""
    if ref.size == 0 and not window.is_limited:
        return skip_empty(ref)
    try:
        if window.is_limited and (ref.size or _UNKNOWN_SIZE) >= min(_PROBED_BYTES, max_object_bytes):
            present = store.state(ref)
            if present is not None and names_state(ref, present) and not window.has(present.last_modified):
                return _skip_outside(present)
        if ref.size is not None and ref.size > max_object_bytes:
            raise ObjectTooLargeError(
                f"{store.uri(ref)} has {ref.size} bytes; the limit for one object is {max_object_bytes}"
            )
        found = _read(store, ref, max_object_bytes)
        if isinstance(found, ObjectContent) and not window.has(found.state.last_modified):
            return _skip_outside(found.state)
        return found
    except ObjectUnavailableError as error:
        return FetchOutcome("unavailable", ref.etag, ref.version_id, error.reason, describe(error))
    except ObjectError as error:
        return FetchOutcome("quarantined", ref.etag, ref.version_id, error.reason, describe(error))


def _read(store: ObjectStore, ref: ObjectRef, max_object_bytes: int) -> ObjectContent | FetchOutcome:
    for is_last in (False, True):
        try:
            return store.read(ref, max_object_bytes)
        except (ObjectMissingError, ObjectSupersededError, ObjectTooLargeError) as error:
            present = store.state(ref)
            if isinstance(error, ObjectTooLargeError):
                if ref.size is not None or present is None or not _names(ref, present):
                    raise
                # Its size was unknown. With the size, the object may be read in splits.
                return FetchOutcome.superseded(ref.etag, ref.version_id, describe(error), present)
            if present is None:
                return FetchOutcome("missing", ref.etag, ref.version_id, "missing", describe(error))
            # The requested content was put back between the two requests.
            if not _names(ref, present) or is_last:
                return FetchOutcome.superseded(ref.etag, ref.version_id, describe(error), present)
    raise AssertionError("unreachable")


def names_state(ref: ObjectRef, present: ObjectState) -> bool:
    """True if the current state is the one that `ref` names."""
    return ref.version_id == present.version_id if ref.version_id else ref.etag in (None, present.etag)


def _skip_outside(found: ObjectState) -> FetchOutcome:
    return FetchOutcome("skipped", found.etag, found.version_id, OUTSIDE_WINDOW)


def _names(ref: ObjectRef, present: ObjectState) -> bool:
    return ref.version_id is None and ref.etag in (None, present.etag)


def skip_empty(ref: ObjectRef) -> FetchOutcome:
    """Return the outcome of an object without bytes."""
    reason = "folder_marker" if ref.key.endswith("/") else "empty_object"
    return FetchOutcome("skipped", ref.etag, ref.version_id, reason)


def describe(error: ObjectError) -> str:
    """Return message and hint on one line, as in quarantine."""
    return f"{error.message} -> {error.hint}" if error.hint else error.message
