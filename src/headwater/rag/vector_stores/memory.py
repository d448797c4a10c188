"""Exact in-memory vector store: compares every point. Not persistent."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from headwater.errors import IndexNotFoundError, SearchError
from headwater.rag.lexical.sparse_vector import SparseVector
from headwater.rag.passage import Passage
from headwater.rag.vector_stores.conditions import satisfies
from headwater.rag.vector_stores.postings import Postings
from headwater.rag.vector_stores.protocol import (
    Checkpoint,
    IndexSpec,
    PassageHit,
    Point,
    PointState,
    SearchRequest,
    VersionState,
)
from headwater.rag.vector_stores.spec import check_point, check_request, check_same_spec

# Sums of the same numbers differ in the last bits between rows; ties must not depend on that.
_DECIMALS = 6
_FIRST_CAPACITY = 1_024


class MemoryIndex:
    """One version. With one lock, a search sees all of a write or nothing of it."""

    def __init__(self, spec: IndexSpec) -> None:
        self._spec = spec
        self._lock = threading.RLock()
        # Points by slot, without their vectors: those are in `_matrix` and `_sparse`.
        self._points: list[Point | None] = []
        self._free: list[int] = []
        self._slots: dict[str, int] = {}
        self._rows: dict[str, set[int]] = {}
        self._matrix = np.zeros((_FIRST_CAPACITY, spec.dimensions), dtype=np.float32)
        self._present = np.zeros(_FIRST_CAPACITY, dtype=np.bool_)
        self._sparse = {name: Postings() for name in spec.sparse_names}
        self._checkpoint: Checkpoint | None = None

    @property
    def spec(self) -> IndexSpec:
        """Return the spec of this version."""
        return self._spec

    def upsert(self, points: Sequence[Point]) -> None:
        """Write complete points. Raises `SearchError` when the vectors do not match the spec."""
        for point in points:
            check_point(point, self._spec)
        with self._lock:
            for point in points:
                self._remove(point.chunk_id)
                self._add(point)

    def set_fields(self, points: Sequence[Point]) -> None:
        """Update existing points, except for text and vectors."""
        with self._lock:
            for point in points:
                slot = self._slots.get(point.chunk_id)
                old = None if slot is None else self._points[slot]
                if slot is None or old is None:
                    continue
                self._leave_row(old.row_key, slot)
                self._rows.setdefault(point.row_key, set()).add(slot)
                self._points[slot] = replace(point, text=old.text, stems=old.stems, dense=(), sparse={})

    def delete(self, chunk_ids: Sequence[str]) -> None:
        """Remove points; ignore missing ones."""
        with self._lock:
            for chunk_id in chunk_ids:
                self._remove(chunk_id)

    def search(self, requests: Sequence[SearchRequest]) -> list[list[PassageHit]]:
        """Return one list of hits for each request."""
        for request in requests:
            check_request(request, self._spec)
        with self._lock:
            return [self._search(request) for request in requests]

    def load(self, row_keys: Sequence[str]) -> list[Point]:
        """Return all chunks of the rows, in the order of keys and chunk numbers."""
        with self._lock:
            found = [self._to_point(slot) for key in row_keys for slot in self._rows.get(key, ())]
        return sorted(found, key=lambda point: (point.row_key, point.chunk_number))

    def iter_states(self) -> Iterator[PointState]:
        """Yield the current states of all points, in the order of chunk ids."""
        with self._lock:
            states = [
                PointState(point.chunk_id, point.row_key, point.content_hash, point.fields_hash)
                for point in self._points
                if point is not None
            ]
        yield from sorted(states, key=lambda state: state.chunk_id)

    def iter_passages(self) -> Iterator[Passage]:
        """Yield all current points."""
        with self._lock:
            passages = [_to_passage(point) for point in self._points if point is not None]
        yield from passages

    def count(self) -> int:
        """Return the number of points."""
        return len(self._slots)

    def read_checkpoint(self) -> Checkpoint | None:
        """Return the newest checkpoint."""
        return self._checkpoint

    def write_checkpoint(self, checkpoint: Checkpoint, expected: Checkpoint | None) -> bool:
        """Write the checkpoint if the stored one is still `expected`; False otherwise."""
        with self._lock:
            if self._checkpoint != expected:
                return False
            self._checkpoint = checkpoint
            return True

    def optimize(self) -> None:
        """Do nothing: every search compares every point."""

    def _add(self, point: Point) -> None:
        slot = self._free.pop() if self._free else len(self._points)
        if slot == len(self._points):
            self._points.append(None)
            if slot == len(self._matrix):
                self._matrix = np.concatenate([self._matrix, np.zeros_like(self._matrix)])
                self._present = np.concatenate([self._present, np.zeros_like(self._present)])
        self._matrix[slot] = point.dense
        self._present[slot] = True
        for name, vector in point.sparse.items():
            self._sparse[name].add(slot, vector)
        self._points[slot] = replace(point, dense=(), sparse={})
        self._slots[point.chunk_id] = slot
        self._rows.setdefault(point.row_key, set()).add(slot)

    def _remove(self, chunk_id: str) -> None:
        slot = self._slots.pop(chunk_id, None)
        point = None if slot is None else self._points[slot]
        if slot is None or point is None:
            return
        self._points[slot] = None
        self._present[slot] = False
        for postings in self._sparse.values():
            postings.remove(slot)
        self._leave_row(point.row_key, slot)
        self._free.append(slot)

    def _leave_row(self, row_key: str, slot: int) -> None:
        self._rows[row_key].discard(slot)
        if not self._rows[row_key]:
            del self._rows[row_key]

    def _to_point(self, slot: int) -> Point:
        point = self._points[slot]
        if point is None:
            raise AssertionError(f"slot {slot} is in a row, but empty")
        sparse = {
            name: vector
            for name, postings in self._sparse.items()
            if (vector := postings.find(slot)) is not None
        }
        return replace(point, dense=self._matrix[slot].tolist(), sparse=sparse)

    def _search(self, request: SearchRequest) -> list[PassageHit]:
        slots, scores = self._score(request)
        wanted = max(request.limit, 0)
        found: list[PassageHit] = []
        # Deeper each time, because conditions and chunks of the same row remove hits.
        depth = 4 * wanted + 16
        while wanted:
            best, best_scores = _take_best(slots, scores, depth)
            found = self._pick(best, best_scores, request)
            if len(found) == wanted or len(best) == len(slots):
                return found
            depth *= 8
        return found

    def _score(self, request: SearchRequest) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
        size = len(self._points)
        if isinstance(request.vector, SparseVector):
            return self._sparse[request.using].score(request.vector, size, len(self._slots))
        vector = np.asarray(request.vector, dtype=np.float32)
        slots = np.flatnonzero(self._present[:size])
        scores = np.round(self._matrix[:size] @ vector, _DECIMALS)
        return slots, scores[slots]

    def _pick(
        self, slots: npt.NDArray[np.int64], scores: npt.NDArray[np.float32], request: SearchRequest
    ) -> list[PassageHit]:
        candidates = [
            (-score, point.row_key, point.chunk_number, point)
            for slot, score in zip(slots.tolist(), scores.tolist(), strict=True)
            if (point := self._points[slot]) is not None
        ]
        candidates.sort(key=lambda candidate: candidate[:3])
        hits: dict[str, PassageHit] = {}
        for negative, row_key, _, point in candidates:
            if len(hits) == request.limit:
                break
            if row_key not in hits and satisfies(request.conditions, point.fields, point.tenant):
                hits[row_key] = PassageHit(_to_passage(point), -negative)
        return list(hits.values())


def _to_passage(point: Point) -> Passage:
    return Passage(
        point.chunk_id,
        point.row_key,
        point.chunk_number,
        point.text,
        point.fields,
        point.instant,
        point.stems,
    )


def _take_best(
    slots: npt.NDArray[np.int64], scores: npt.NDArray[np.float32], depth: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]:
    """Return the `depth` best, and all ties with the last of them."""
    if len(slots) <= depth:
        return slots, scores
    least = np.partition(scores, len(scores) - depth)[len(scores) - depth]
    chosen = scores >= least
    return slots[chosen], scores[chosen]


class MemoryVectorStore:
    """All versions, in this process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._versions: dict[str, MemoryIndex] = {}
        self._live: str | None = None

    def list_versions(self) -> list[str]:
        """Return the version names in order."""
        return sorted(self._versions)

    def create(self, version: str, spec: IndexSpec) -> MemoryIndex:
        """Create an empty version, or open the existing one with the same spec."""
        with self._lock:
            index = self._versions.setdefault(version, MemoryIndex(spec))
        check_same_spec(version, index.spec, spec)
        return index

    def open(self, version: str) -> MemoryIndex:
        """Open a version. Raises `IndexNotFoundError` for an unknown name."""
        index = self._versions.get(version)
        if index is None:
            raise IndexNotFoundError(
                f"the index has no version {version!r}; "
                f"versions: {', '.join(self.list_versions()) or 'none'}",
                hint="run headwater index build",
            )
        return index

    def read_state(self, version: str) -> VersionState:
        """Read the state of a version. Raises `IndexNotFoundError` for an unknown name."""
        index = self.open(version)
        return VersionState(index.spec, index.read_checkpoint(), index.count())

    def release(self, version: str) -> None:
        """Do nothing: a version is in this process only."""

    def drop(self, versions: Iterable[str]) -> None:
        """Remove versions. Raises `SearchError` for the live one."""
        with self._lock:
            names = set(versions)
            if self._live in names:
                raise SearchError(
                    f"version {self._live!r} of the index is live", hint="make another version live first"
                )
            for name in names:
                self._versions.pop(name, None)

    def find_live(self) -> str | None:
        """Return the version that searches use."""
        return self._live

    def set_live(self, version: str) -> None:
        """Make a version live. Raises `IndexNotFoundError` for an unknown name."""
        self.open(version)
        with self._lock:
            self._live = version

    def close(self) -> None:
        """Do nothing: versions end with the process."""
