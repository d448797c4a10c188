"""`headwater run` with a stopwatch, as in `benchmarks.rig.following`: here for changes that are searched.

`python -m benchmarks.search.bare_steps CONFIG ROWS`
"""

import sys
import time
from datetime import datetime, timezone
from itertools import count, cycle, islice
from pathlib import Path
from typing import Any

from benchmarks.rig.following import measure_steps, run_timed
from benchmarks.rig.orders import announce
from benchmarks.search.catalogue import build_default_embedder
from benchmarks.search.indexed_shop import COLUMNS, Row, list_products
from headwater.app import App
from headwater.capture.events_table import EventsTable
from headwater.lake.options import WriteOptions
from headwater.lake.table import Table
from headwater.rag.index_state import IndexState
from headwater.rag.indexing.chunks_table import CHUNKS_SCHEMA, ChunksTable
from headwater.rag.lexical.sparse import SPARSE_NAMES, SparseEncoder
from headwater.rag.vector_stores.protocol import IndexSpec, Point
from headwater.rag.vector_stores.qdrant_edge.store import EdgeVectorStore

# As many as the run has on its shelf.
_ROWS_THERE = 500


class BareSteps:
    """An events, a data and a chunks commit of `rows` rows, and an upsert of as many points into the store
    of vectors. Vectors and points are made before."""

    def __init__(self, app: App, rows: int) -> None:
        beside = Path(app.settings.lake).parent / "beside"
        embedder = build_default_embedder()
        self._spark = app.spark
        self._rows = rows
        self._events = EventsTable(app.spark, str(beside / "events"))
        self._data = Table(app.spark, str(beside / "shelf"))
        self._chunks = ChunksTable(app.spark, str(beside / "chunks"), "bare")
        spec = IndexSpec(embedder.dimensions, SPARSE_NAMES, "bare", {"price": "number"})
        self._index = EdgeVectorStore(beside / "index", "bare").create("v0001", spec)
        self._state = IndexState("bare", "", "", 1, embedder.dimensions, "bare")
        self._products = list_products(_ROWS_THERE)
        vectors = embedder.embed_passages([f"{row[1]}\n{row[2]}" for row in self._products])
        encoder = SparseEncoder()
        self._points = [
            build_point(row, vector.tolist(), encoder)
            for row, vector in zip(self._products, vectors, strict=True)
        ]
        self._numbers = count()
        self._turns = cycle(range(0, _ROWS_THERE - rows, rows))
        everything = slice(0, _ROWS_THERE)
        self._write_data(everything)
        self._write_chunks(everything)
        self._upsert(everything)

    def measure(self) -> dict[str, float]:
        """Median seconds of each."""
        return measure_steps(
            {
                "events": self._write_events,
                "data": lambda: self._write_data(self._choose()),
                "chunks": lambda: self._write_chunks(self._choose()),
                "upsert": lambda: self._upsert(self._choose()),
            }
        )

    def _choose(self) -> slice:
        first = next(self._turns)
        return slice(first, first + self._rows)

    def _write_events(self) -> float:
        batch = [
            announce("s3", "beside", f"shelf/{n}.json", f"{n:032x}", 300, n)
            for n in islice(self._numbers, self._rows)
        ]
        started = time.monotonic()
        self._events.append(batch)
        return time.monotonic() - started

    def _write_data(self, chosen: slice) -> float:
        options = WriteOptions("shelf", "upsert", ("id",))
        started = time.monotonic()
        self._data.write(self._spark.createDataFrame(self._products[chosen], COLUMNS).coalesce(1), options)
        return time.monotonic() - started

    def _write_chunks(self, chosen: slice) -> float:
        rows = [build_chunk(point) for point in self._points[chosen]]
        started = time.monotonic()
        frame = self._spark.createDataFrame(rows, CHUNKS_SCHEMA).coalesce(1)
        self._chunks.write(frame, self._state, unique_ids=True)
        return time.monotonic() - started

    def _upsert(self, chosen: slice) -> float:
        started = time.monotonic()
        self._index.upsert(self._points[chosen])
        return time.monotonic() - started


def build_point(row: Row, vector: list[float], encoder: SparseEncoder) -> Point:
    """A product as the store has it."""
    identity, title, description, brand, price = row
    text, fields = f"{title}\n{description}", {"brand": brand, "price": price}
    return Point(
        chunk_id=f"00000000-0000-4000-8000-{int(identity):012d}",
        row_key=identity,
        chunk_number=0,
        text=text,
        content_hash=f"{int(identity):032x}",
        fields_hash=f"{int(identity):032x}",
        instant="",
        dense=vector,
        sparse=encoder.encode_passage(text, fields),
        fields=fields,
    )


def build_chunk(point: Point) -> tuple[Any, ...]:
    """The same as a row of the chunks table."""
    values = {
        "fingerprint": "bare",
        "chunk_id": point.chunk_id,
        "row_key": point.row_key,
        "chunk_number": 0,
        "text": point.text,
        "content_hash": point.content_hash,
        "terms_hash": point.content_hash,
        "fields": "{}",
        "fields_hash": point.fields_hash,
        "model": "bare",
        "dimensions": len(point.dense),
        "vector": point.dense,
        "source_key": point.row_key,
        "instant": point.instant,
        "content_revision": 1,
        "deleted": False,
        "changed_at": datetime.now(timezone.utc),
    }
    return tuple(values.get(name) for name in CHUNKS_SCHEMA.fieldNames())


if __name__ == "__main__":
    run_timed(Path(sys.argv[1]), lambda app: BareSteps(app, int(sys.argv[2])))
