"""Which engine for an index in a folder: Qdrant's client in local mode, or embedded Qdrant?

Not a benchmark of `make bench`: it is what decision 0011 rests on. `python -m benchmarks.search.engines
[POINTS]` prints a JSON line an engine: upsert, reopening, recall@10 of dense queries beside exact search,
and p95 of dense, sparse and filtered queries, wall and CPU.
"""

import json
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from qdrant_client import QdrantClient

from benchmarks.search.indexed_shop import list_products
from headwater.config.search.index import EmbedderConfig
from headwater.rag.embedding import build_embedder
from headwater.rag.lexical.sparse import SPARSE_NAMES, WORDS, SparseEncoder
from headwater.rag.vector_stores.protocol import (
    Checkpoint,
    IndexCondition,
    IndexSpec,
    PassageHit,
    Point,
    SearchRequest,
    VectorStore,
)
from headwater.rag.vector_stores.qdrant import QdrantStore
from headwater.rag.vector_stores.qdrant_edge.store import EdgeVectorStore

QUERIES = 30
PAGE = 500


def main(count: int) -> None:
    embedder, encoder = build_embedder(EmbedderConfig(), {}), SparseEncoder()
    rows = list_products(count)
    texts = [f"{row[1]}\n{row[2]}" for row in rows]
    vectors = embedder.embed_passages(texts)
    points = [
        Point(
            f"00000000-0000-4000-8000-{at:012d}", row[0], 0, text, "", "", "", vector.tolist(),
            encoder.encode_passage(text), {"brand": row[3], "price": row[4]},
        )
        for at, (row, text, vector) in enumerate(zip(rows, texts, vectors, strict=True))
    ]  # fmt: skip
    spec = IndexSpec(embedder.dimensions, SPARSE_NAMES, "f", {"brand": "keyword", "price": "number"})
    asked = np.random.default_rng(1).choice(count, QUERIES, replace=False)
    queries = embedder.embed_queries([rows[at][1] for at in asked])
    exact = [{rows[at][0] for at in np.argsort(-(vectors @ query))[:10]} for query in queries]
    words = [encoder.encode_passage(rows[at][1])[WORDS] for at in asked]
    opens: dict[str, Callable[[Path], VectorStore]] = {
        "edge": lambda folder: EdgeVectorStore(folder, "bench"),
        "client": lambda folder: QdrantStore(QdrantClient(path=str(folder)), "bench"),
    }
    for name, open_store in opens.items():
        folder = Path(tempfile.mkdtemp())
        figures = measure(open_store, folder, points, spec, (queries, words, exact))
        print(json.dumps({"engine": name, "points": count, **figures}), flush=True)
        shutil.rmtree(folder)


def measure(
    open_store: Callable[[Path], VectorStore],
    folder: Path,
    points: Sequence[Point],
    spec: IndexSpec,
    asked: tuple[Any, Any, Any],
) -> dict[str, float]:
    queries, words, exact = asked
    store = open_store(folder)
    index = store.create("v1", spec)
    figures: dict[str, float] = {}
    started = time.monotonic()
    for at in range(0, len(points), PAGE):
        index.upsert(points[at : at + PAGE])
    figures["upsert_points_per_s"] = round(len(points) / (time.monotonic() - started))
    started = time.monotonic()
    index.write_checkpoint(Checkpoint("p", 1, ""), None)
    index.optimize()
    figures["graph_s"] = round(time.monotonic() - started, 2)
    store.close()
    started = time.monotonic()
    store = open_store(folder)
    index = store.open("v1")
    index.search([SearchRequest("dense", queries[0].tolist(), 10)])
    figures["reopen_s"] = round(time.monotonic() - started, 2)
    cheap = [IndexCondition("price", "lt", 50.0)]
    legs = {
        "dense": [SearchRequest("dense", query.tolist(), 10) for query in queries],
        "sparse": [SearchRequest(WORDS, vector, 10) for vector in words],
        "filtered": [SearchRequest("dense", query.tolist(), 10, cheap) for query in queries],
    }
    for name, requests in legs.items():
        seconds, cpu = [], []
        found = []
        for request in requests:
            began, began_cpu = time.monotonic(), time.process_time()
            found.append(index.search([request])[0])
            seconds.append(time.monotonic() - began)
            cpu.append(time.process_time() - began_cpu)
        figures[f"{name}_p95_ms"] = round(float(np.percentile(seconds, 95)) * 1000, 1)
        figures[f"{name}_cpu_ms"] = round(float(np.median(cpu)) * 1000, 1)
        if name == "dense":
            figures["recall_at_10"] = round(measure_recall(found, exact), 4)
    store.close()
    return figures


def measure_recall(found: Sequence[Sequence[PassageHit]], exact: Sequence[set[str]]) -> float:
    """Share of the ten best that were found."""
    hits = [len({hit.passage.row_key for hit in ten} & keys) for ten, keys in zip(found, exact, strict=True)]
    return sum(hits) / 10 / len(hits)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
