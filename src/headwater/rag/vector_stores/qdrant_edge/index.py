"""One version of the index: a shard of Qdrant in this process."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import qdrant_edge as qdrant

from headwater.rag.passage import Passage
from headwater.rag.vector_stores.grouping import search_rows
from headwater.rag.vector_stores.passage_cache import PassageCache
from headwater.rag.vector_stores.payload import (
    CHECKPOINT_ID,
    PASSAGE_KEYS,
    STATE_KEYS,
    build_fields_payload,
    build_path,
    parse_checkpoint,
    parse_passage,
    parse_state,
    write_checkpoint_payload,
)
from headwater.rag.vector_stores.protocol import (
    Checkpoint,
    IndexSpec,
    PassageHit,
    Point,
    PointState,
    SearchRequest,
)
from headwater.rag.vector_stores.qdrant_edge.folder import ClaimedVersion, explained
from headwater.rag.vector_stores.qdrant_edge.words import build_query, parse_record, to_point
from headwater.rag.vector_stores.spec import (
    DENSE,
    check_point,
    check_request,
)

_PAGE = 1_000
OPTIMIZE_AFTER = 10_000
"""Number of written points that makes building the graph worthwhile: until then searches scan them."""
KEPT_PASSAGES = 100_000
"""Passages in memory, about 2 kB each."""

_INDEX_KINDS = {
    "keyword": qdrant.PayloadSchemaType.Keyword,
    "number": qdrant.PayloadSchemaType.Float,
    "bool": qdrant.PayloadSchemaType.Keyword,
}


class EdgeIndex:
    """One version: a shard. Searches run concurrently with writes; writes are serialised."""

    def __init__(self, folder: ClaimedVersion, spec: IndexSpec) -> None:
        self._spec = spec
        self._version = folder
        self._folder = folder.path
        self._lock = threading.Lock()
        self._passages = PassageCache(KEPT_PASSAGES)
        with explained(folder.path):
            self._shard = _open_shard(folder.shard, spec)
            # An earlier process may have ended before it built the graph. Vectors of words need none.
            found = self._shard.info()
            vectors = found.points_count * (1 + len(spec.sparse_names))
            self._unoptimized = max(0, vectors - found.indexed_vectors_count)

    @property
    def spec(self) -> IndexSpec:
        """Return the spec of this version."""
        return self._spec

    def upsert(self, points: Sequence[Point]) -> None:
        """Write complete points. Raises `SearchError` when the vectors do not match the spec."""
        for point in points:
            check_point(point, self._spec)
        if not points:
            return
        operation = qdrant.UpdateOperation.upsert_points([to_point(point) for point in points])
        with self._writing([point.chunk_id for point in points]):
            self._shard.update(operation)
        self._unoptimized += len(points)

    def set_fields(self, points: Sequence[Point]) -> None:
        """Update existing points, except for text and vectors."""
        ids: list[Any] = [point.chunk_id for point in points]
        with self._writing(ids):
            there = {str(record.id) for record in self._shard.retrieve(ids, False, False)}
            for point in points:
                if point.chunk_id in there:
                    payload = build_fields_payload(point)
                    self._shard.update(qdrant.UpdateOperation.set_payload([point.chunk_id], payload))

    def delete(self, chunk_ids: Sequence[str]) -> None:
        """Remove points; ignore missing ones."""
        if chunk_ids:
            with self._writing(chunk_ids):
                self._shard.update(qdrant.UpdateOperation.delete_points(list(chunk_ids)))

    def search(self, requests: Sequence[SearchRequest]) -> list[list[PassageHit]]:
        """Return one list of hits for each request."""
        for request in requests:
            check_request(request, self._spec)
        return search_rows(requests, self._fetch)

    def load(self, row_keys: Sequence[str]) -> list[Point]:
        """Return all chunks of the rows."""
        found: list[Point] = []
        for start in range(0, len(row_keys), _PAGE):
            match = qdrant.MatchAny(list(row_keys[start : start + _PAGE]))
            wanted = qdrant.Filter(must=[qdrant.FieldCondition(key="row_key", match=match)])
            found += [parse_record(record) for record in self._scroll(True, wanted, with_vector=True)]
        return found

    def iter_states(self) -> Iterator[PointState]:
        """Yield the states of all points, in the order of chunk ids."""
        for record in self._scroll(STATE_KEYS):
            yield parse_state(record.id, record.payload or {})

    def iter_passages(self) -> Iterator[Passage]:
        """Yield all points, and cache them for searches up to the memory limit."""
        begun = self._passages.begin_read()
        for records in self._iter_pages(PASSAGE_KEYS):
            read = {_number(one.id): parse_passage(one.id, one.payload or {}) for one in records}
            self._passages.add(read, begun)
            yield from read.values()
            begun = self._passages.begin_read()

    def count(self) -> int:
        """Return the number of points."""
        with explained(self._folder):
            total = self._shard.count(qdrant.CountRequest(exact=True))
            return total - len(self._shard.retrieve([CHECKPOINT_ID], False, False))

    def read_checkpoint(self) -> Checkpoint | None:
        """Return the newest checkpoint."""
        with explained(self._folder):
            found = self._shard.retrieve([CHECKPOINT_ID], True, False)
        return parse_checkpoint(found[0].payload or {}) if found else None

    def write_checkpoint(self, checkpoint: Checkpoint, expected: Checkpoint | None) -> bool:
        """Write the checkpoint if the stored one is still `expected`; earlier writes are on disk then."""
        with self._lock, explained(self._folder):
            if self.read_checkpoint() != expected:
                return False
            self._shard.flush()
            point = qdrant.Point(CHECKPOINT_ID, {}, write_checkpoint_payload(checkpoint))
            self._shard.update(qdrant.UpdateOperation.upsert_points([point]))
            self._shard.flush()
            self._version.write_state(checkpoint, self.count())
        return True

    def optimize(self) -> None:
        """Build the graph of vectors if many points are not in it yet; until then, searches scan them."""
        with explained(self._folder):
            if self._unoptimized >= OPTIMIZE_AFTER and self._unoptimized >= self.count() // 5:
                self._unoptimized = 0
                self._shard.optimize()

    def close(self) -> None:
        """Flush writes, close the files, and let other processes open them."""
        try:
            with self._lock, explained(self._folder):
                self._shard.flush()
                self._shard.close()
        finally:
            self._version.release()

    @contextmanager
    def _writing(self, chunk_ids: Iterable[str]) -> Iterator[None]:
        with self._lock, explained(self._folder):
            self._passages.begin_write()
            try:
                yield
            finally:
                self._passages.end_write(UUID(one).int for one in chunk_ids)

    def _fetch(self, requests: Sequence[tuple[SearchRequest, int]]) -> list[list[PassageHit]]:
        queries = [build_query(request, depth) for request, depth in requests]
        begun = self._passages.begin_read()
        with explained(self._folder):
            answers: list[list[Any]] = self._shard.query_batch(qdrant.QueryBatchRequest(queries))
            known = self._passages.known
            try:
                # The usual case, in one pass: touching a hit has a cost.
                return [[PassageHit(known[hit.id.int], hit.score) for hit in answer] for answer in answers]
            except KeyError:
                return self._read_hits(answers, begun)

    def _read_hits(self, answers: Sequence[Sequence[Any]], begun: int) -> list[list[PassageHit]]:
        numbered = [[(_number(hit.id), hit.score) for hit in answer] for answer in answers]
        passages = self._passages.find({number for hits in numbered for number, _ in hits})
        if missing := [number for number, passage in passages.items() if passage is None]:
            passages |= self._read_passages(missing, begun)
        # A point removed since it was found is no hit.
        return [
            [
                PassageHit(passage, score)
                for number, score in hits
                if (passage := passages[number]) is not None
            ]
            for hits in numbered
        ]

    def _read_passages(self, numbers: Sequence[int], begun: int) -> dict[int, Passage]:
        """Return the existing points, without the checkpoint."""
        ids: list[Any] = [str(UUID(int=number)) for number in numbers if number]
        records = self._shard.retrieve(ids, PASSAGE_KEYS, False)
        read = {_number(one.id): parse_passage(one.id, one.payload or {}) for one in records}
        self._passages.add(read, begun)
        return read

    def _scroll(
        self, keys: bool | list[str], wanted: qdrant.Filter | None = None, *, with_vector: bool = False
    ) -> Iterator[qdrant.Record]:
        for records in self._iter_pages(keys, wanted, with_vector=with_vector):
            yield from records

    def _iter_pages(
        self, keys: bool | list[str], wanted: qdrant.Filter | None = None, *, with_vector: bool = False
    ) -> Iterator[list[qdrant.Record]]:
        offset: Any = None
        while True:
            request = qdrant.ScrollRequest(
                offset=offset, limit=_PAGE, filter=wanted, with_payload=keys, with_vector=with_vector
            )
            with explained(self._folder):
                records, offset = self._shard.scroll(request)
            yield [record for record in records if _number(record.id)]
            if offset is None:
                return


def _number(point_id: Any) -> int:
    """Return a point's number, which makes lookups faster than its UUID."""
    number: int = point_id.int
    return number


def _open_shard(folder: Path, spec: IndexSpec) -> qdrant.EdgeShard:
    if folder.exists():
        return qdrant.EdgeShard.load(str(folder))
    folder.mkdir()
    config = qdrant.EdgeConfig(
        vectors={DENSE: qdrant.EdgeVectorParams(size=spec.dimensions, distance=qdrant.Distance.Dot)},
        sparse_vectors={
            name: qdrant.EdgeSparseVectorParams(modifier=qdrant.Modifier.Idf) for name in spec.sparse_names
        },
    )
    shard = qdrant.EdgeShard.create(str(folder), config)
    tenant = qdrant.KeywordIndexParams(is_tenant=True)
    shard.update(qdrant.UpdateOperation.create_field_index("tenant", tenant))
    row_key = qdrant.PayloadSchemaType.Keyword
    shard.update(qdrant.UpdateOperation.create_field_index("row_key", row_key))
    for name, kind in spec.filtered.items():
        path = build_path(name, is_flag=kind == "bool")
        if path != "tenant":
            shard.update(qdrant.UpdateOperation.create_field_index(path, _INDEX_KINDS[kind]))
    return shard
