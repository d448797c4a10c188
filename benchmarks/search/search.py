"""What does a search cost over the engine's own query, and over HTTP over a bare handler? And the worst one?

100,000 products of the shipped generator and the shipped embedder, in the engine inside the process. Two
results of the 95th percentile: one search after the other against the engine asked for the same two
legs (vectors made before, payloads returned, but not parsed); and `/search` of our API for eight
users at once against a bare FastAPI handler that embeds the query and asks the engine, each in a process of
its own. Ours has read the words of all rows before, as a server has some seconds after its start. The third
one compares medians: see `costly_queries`.
"""

import json
import logging
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import qdrant_edge

from benchmarks.pairs import choose_median, measure_pairs, say
from benchmarks.result import BenchmarkResult
from benchmarks.rig.processes import wait_until
from benchmarks.search.catalogue import build_default_embedder, fill_folder, list_queries, open_index
from benchmarks.search.costly_queries import measure_worst
from benchmarks.sizes import sized
from headwater.config.search.retrieval import RetrievalConfig
from headwater.config.search.serving import ServeConfig
from headwater.rag.lexical.sparse import SPARSE_NAMES, WORDS, SparseEncoder
from headwater.rag.lexical.sparse_vector import SparseVector
from headwater.rag.retrieval.query import SearchQuery, SearchResult
from headwater.rag.retrieval.retriever import Retriever, weigh_terms
from headwater.rag.retrieval.understanding import understand
from headwater.rag.searcher import Freshness
from headwater.rag.vector_stores.payload import PASSAGE_KEYS
from headwater.rag.vector_stores.protocol import FieldKind
from headwater.rag.vector_stores.qdrant_edge.index import EdgeIndex

PRODUCTS = sized(100_000, 500)
QUERIES = sized(300, 10)
USERS = sized(8, 2)
REQUESTS = sized(800, 40)
PAIRS = sized(3, 1)
LIMIT = 10
_DEPTH = RetrievalConfig().depth


def run(products: int = PRODUCTS) -> tuple[BenchmarkResult, ...]:
    """Milliseconds."""
    logging.getLogger("httpx").setLevel(logging.WARNING)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        say(f"indexing {products} products")
        fill_folder(folder, products)
        store, index = open_index(folder)
        try:
            inside = measure_inside(index)
            worst = measure_costly(index)
        finally:
            store.close()
        over_http = measure_over_http(folder)
    return inside, worst, over_http


def measure_inside(index: EdgeIndex) -> BenchmarkResult:
    """One after the other, in this process."""
    queries = list_queries(QUERIES)
    retriever = Retriever(index, build_default_embedder())
    retriever.learn_words()
    raw = list(iter_raw_queries(queries))
    for text, batch in zip(queries[:20], raw[:20], strict=True):
        retriever.search(SearchQuery(text, LIMIT))
        index._shard.query_batch(batch)
    found = [len(retriever.search(SearchQuery(text, LIMIT)).rows) for text in queries]
    pairs = measure_pairs(
        lambda: p95_of([partial(retriever.search, SearchQuery(text, LIMIT)) for text in queries]),
        lambda: p95_of([partial(index._shard.query_batch, batch) for batch in raw]),
        PAIRS,
    )
    median = choose_median(pairs)
    broken = "" if sum(found) >= 0.9 * LIMIT * len(found) else f"{sum(found)} rows for {len(found)} queries"
    return BenchmarkResult("search", median.value, median.floor, "ms", 1.3, "lower", broken)


def measure_costly(index: EdgeIndex) -> BenchmarkResult:
    """What a stranger may send, in this process; each query is new to it."""
    retriever = Retriever(index, build_default_embedder())
    retriever.learn_words()
    words = sorted({word for row in index.iter_passages() for word in row.list_words() if len(word) > 4})
    warm, *queries = np.array_split(list(dict.fromkeys(list_queries(QUERIES))), 4)
    for text in warm.tolist():
        retriever.search(SearchQuery(text, LIMIT))
    return measure_worst(retriever, np.concatenate(queries).tolist(), words)


def iter_raw_queries(queries: Sequence[str]) -> Iterator[Any]:
    """What the engine is asked for a query: both legs, as deep as ours."""
    embedder, encoder = build_default_embedder(), SparseEncoder()
    for text in queries:
        vector = embedder.embed_queries([text])[0].tolist()
        words = encoder.encode_query(weigh_terms(understand(text).wanted))
        yield build_raw_query(vector, words)


def build_raw_query(vector: Sequence[float], words: SparseVector) -> Any:
    """Both legs in one round trip, and what the hits hold with them: who has no cache needs it to rank."""
    vectors: dict[str, Any] = {
        "dense": vector,
        WORDS: qdrant_edge.SparseVector(list(words.indices), list(words.values)),
    }
    return qdrant_edge.QueryBatchRequest(
        [
            qdrant_edge.QueryRequest(
                limit=_DEPTH, query=qdrant_edge.Query.Nearest(one, using=name), with_payload=PASSAGE_KEYS
            )
            for name, one in vectors.items()
        ]
    )


def p95_of(calls: Sequence[Callable[[], object]]) -> float:
    """Milliseconds that 95 of 100 calls stay below."""
    return percentile([time_call(call) for call in calls])


def time_call(call: Callable[[], object]) -> float:
    """Milliseconds."""
    started = time.perf_counter()
    call()
    return (time.perf_counter() - started) * 1000


def percentile(values: Sequence[float]) -> float:
    """The 95th."""
    return float(np.percentile(values, 95))


def measure_over_http(folder: Path) -> BenchmarkResult:
    """Eight users, each with the next question as soon as it has an answer."""
    pairs = measure_pairs(
        lambda: measure_server(folder, "ours"), lambda: measure_server(folder, "bare"), PAIRS
    )
    median = choose_median(pairs)
    return BenchmarkResult("search_http", median.value, median.floor, "ms", 1.3, "lower")


def measure_server(folder: Path, kind: str) -> float:
    """The 95th percentile of a server's answers, in milliseconds."""
    queries = list_queries(REQUESTS)
    with run_server(folder, kind) as address, httpx.Client(base_url=address, timeout=60) as client:

        def ask(text: str) -> float:
            started = time.perf_counter()
            answer = client.post("/search", json={"query": text, "limit": LIMIT})
            milliseconds = (time.perf_counter() - started) * 1000
            assert answer.status_code == 200, answer.text
            return milliseconds

        with ThreadPoolExecutor(USERS) as users:
            list(users.map(ask, queries[:100]))
            return percentile(list(users.map(ask, queries)))


@contextmanager
def run_server(folder: Path, kind: str) -> Iterator[str]:
    """In a process of its own; gives its address."""
    told = folder / f"{kind}.address"
    told.unlink(missing_ok=True)
    with (folder / f"{kind}.log").open("wb") as log:
        command = [sys.executable, "-m", "benchmarks.search.search", kind, str(folder)]
        process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            wait_until(told.exists, 120, "the server answers", process)
            yield told.read_text()
        finally:
            process.terminate()
            process.wait(30)


class IndexSearcher:
    """Our search without a lake around it."""

    def __init__(self, index: EdgeIndex) -> None:
        self._retriever = Retriever(index, build_default_embedder(), version="bench")
        self._retriever.learn_words()
        self._filtered: Mapping[str, FieldKind] = index.spec.filtered

    def search(self, query: SearchQuery) -> SearchResult:
        return self._retriever.search(query)

    def similar(self, row_key: str, limit: int, tenant: str | None = None) -> SearchResult | None:
        del row_key, limit, tenant
        return None

    def filterable(self) -> Mapping[str, FieldKind]:
        return self._filtered

    def freshness(self) -> Freshness:
        return Freshness("bench", "", datetime.now(timezone.utc), PRODUCTS)


def build_ours(index: EdgeIndex) -> Any:
    from headwater.observability.logging import configure_logging
    from headwater.serve.api import build_api, build_service

    configure_logging(verbose=False, json=True)
    config = ServeConfig(requests_per_minute=10_000_000)
    return build_api(build_service(config, IndexSearcher(index), dict))


def build_bare(index: EdgeIndex) -> Any:
    """What one would write in ten lines: embed, ask both legs, return the hits."""
    from fastapi import FastAPI

    embedder, encoder = build_default_embedder(), SparseEncoder()
    api = FastAPI()

    @api.post("/search")
    def search(body: dict[str, Any]) -> dict[str, Any]:
        text = body["query"]
        vector = embedder.embed_queries([text])[0].tolist()
        words = encoder.encode_query(weigh_terms(understand(text).wanted))
        dense, sparse = index._shard.query_batch(build_raw_query(vector, words))
        hits = [
            {"id": str(hit.id), "score": hit.score, "fields": hit.payload}
            for hit in [*dense, *sparse][:LIMIT]
        ]
        return {"hits": hits}

    return api


def serve(kind: str, folder: Path) -> None:
    """Run one of the two servers until it is ended."""
    import socket

    import uvicorn

    store, index = open_index(folder)
    assert set(SPARSE_NAMES) <= set(index.spec.sparse_names)
    api = build_ours(index) if kind == "ours" else build_bare(index)
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        bound.listen(64)
        waiting = folder / "address.new"
        waiting.write_text(f"http://127.0.0.1:{bound.getsockname()[1]}")
        waiting.rename(folder / f"{kind}.address")
        uvicorn.Server(uvicorn.Config(api, log_config=None, access_log=False)).run(sockets=[bound])
    store.close()


if __name__ == "__main__":
    if len(sys.argv) == 3:
        serve(sys.argv[1], Path(sys.argv[2]))
    else:
        for result in run(int(sys.argv[1])):
            print(json.dumps(json.loads(result.to_json())))
