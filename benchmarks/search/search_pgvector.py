"""What does a search in PostgreSQL cost over the two bare statements that it consists of?

20,000 products of the shipped generator and the shipped embedder, in a server on this machine. The 95th
percentile of one search after the other, with embedding and ranking, against the same two legs as one would
write them, in one round trip on one connection: vectors and IDF made before, the texts returned, but
not parsed. Ours has read the words of all rows before, as a server has some seconds after its start.
"""

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import psycopg

from benchmarks.pairs import choose_median, measure_pairs, say
from benchmarks.result import BenchmarkResult
from benchmarks.search.catalogue import COLLECTION, VERSION, build_default_embedder, fill_store, list_queries
from benchmarks.search.search import LIMIT, PAIRS, QUERIES, p95_of
from benchmarks.sizes import sized
from headwater.config.search.retrieval import RetrievalConfig
from headwater.rag.lexical.sparse import SparseEncoder
from headwater.rag.retrieval.query import SearchQuery
from headwater.rag.retrieval.retriever import Retriever, weigh_terms
from headwater.rag.retrieval.understanding import understand
from headwater.rag.vector_stores.pgvector.legs import to_terms, to_vector
from headwater.rag.vector_stores.pgvector.store import PgvectorStore
from headwater.rag.vector_stores.protocol import Index
from tests.fixtures.servers.postgres import start_postgres

PRODUCTS = sized(20_000, 500)
_PREFIX = f"{COLLECTION}.{VERSION}"
_PASSAGE = "chunk_id, row_key, chunk_number, text, fields, instant, stems"
DENSE = f"""
select {_PASSAGE}, score from (
    select number, dense <#> %(vector)s::vector as score from {_PREFIX}_vectors order by score limit %(depth)s
) found join {_PREFIX}_points using (number) order by score
"""
WORDS = f"""
select {_PASSAGE}, score from (
    select number, sum(posting.weight * asked.weight) as score
    from unnest(%(terms)s::integer[], %(weights)s::float8[]) asked (term, weight)
    join {_PREFIX}_postings_words posting using (term) group by number order by score desc limit %(depth)s
) found join {_PREFIX}_points using (number) order by score desc
"""


def run(products: int = PRODUCTS) -> tuple[BenchmarkResult]:
    """Milliseconds."""
    with start_postgres() as server:
        store = PgvectorStore(server.url, COLLECTION, password=None)
        say(f"indexing {products} products")
        fill_store(store, products)
        try:
            with psycopg.connect(server.url, autocommit=True) as connection:
                connection.execute("set jit = off")
                connection.execute("set hnsw.ef_search = 200")
                return (measure(store.open(VERSION), connection, products),)
        finally:
            store.close()


def measure(index: Index, connection: psycopg.Connection[Any], products: int) -> BenchmarkResult:
    """One after the other, in this process."""
    queries = list_queries(QUERIES)
    retriever = Retriever(index, build_default_embedder())
    retriever.learn_words()
    raw = build_parameters(queries, connection, products)
    searches = [partial(retriever.search, SearchQuery(text, LIMIT)) for text in queries]
    bare = [partial(ask, connection, parameters) for parameters in raw]
    found = [len(search().rows) for search in searches]
    p95_of(bare[:20])
    median = choose_median(measure_pairs(lambda: p95_of(searches), lambda: p95_of(bare), PAIRS))
    broken = "" if sum(found) >= 0.9 * LIMIT * len(found) else f"{sum(found)} rows for {len(found)} queries"
    return BenchmarkResult("search_pgvector", median.value, median.floor, "ms", 2, "lower", broken)


def build_parameters(
    queries: Sequence[str], connection: psycopg.Connection[Any], products: int
) -> list[dict[str, Any]]:
    """What the statements are given for each query, as deep as ours."""
    embedder, encoder, depth = build_default_embedder(), SparseEncoder(), RetrievalConfig().depth
    counted = connection.execute(
        f"select term, count(*) from {_PREFIX}_postings_words group by term"
    ).fetchall()
    counts = Counter(dict(counted))
    found = []
    for text in queries:
        words = encoder.encode_query(weigh_terms(understand(text).wanted))
        terms = to_terms(words)
        shares = [(products - counts[term] + 0.5) / (counts[term] + 0.5) for term in terms]
        found.append(
            {
                "vector": to_vector(embedder.embed_queries([text])[0].tolist()),
                "terms": terms,
                "weights": (np.asarray(words.values) * np.log1p(shares)).tolist(),
                "depth": depth,
            }
        )
    return found


def ask(connection: psycopg.Connection[Any], parameters: Mapping[str, Any]) -> list[list[Any]]:
    """Both legs in one round trip."""
    with connection.pipeline():
        cursors = [connection.execute(leg, parameters, binary=True) for leg in (DENSE, WORDS)]
    return [cursor.fetchall() for cursor in cursors]


if __name__ == "__main__":
    for result in run(int(sys.argv[1]) if len(sys.argv) > 1 else PRODUCTS):
        print(json.dumps(json.loads(result.to_json())))
