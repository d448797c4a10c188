"""Runs every ranking method on one judged set in this process: legs, fusions, the shipped default."""

from collections import Counter
from collections.abc import Iterator, Sequence

from headwater.config.search.retrieval import RetrievalConfig
from headwater.rag.embedding.protocol import Embedder
from headwater.rag.evaluation.judged import JudgedSet
from headwater.rag.evaluation.metrics import Run
from headwater.rag.lexical.analyzer import add_other_stems, analyze, detect_language, list_stems
from headwater.rag.lexical.sparse import SPARSE_NAMES, SparseEncoder, build_vector
from headwater.rag.retrieval.fusion import Ranking, fuse_distributions, fuse_ranks
from headwater.rag.retrieval.query import SearchQuery
from headwater.rag.retrieval.reranking import Reranker
from headwater.rag.retrieval.retriever import Retriever
from headwater.rag.vector_stores.memory import MemoryIndex
from headwater.rag.vector_stores.protocol import Index, IndexSpec, Point, SearchRequest

BM25 = "bm25"
DENSE = "dense"
HYBRID = "hybrid"
PLAIN_FUSION = "rrf-60"
RRF_CONSTANTS = (2, 20, 60)
DEPTH = 100
# The size of a result page, and the depth of recall@20.
_LIMIT = 20
_K1, _B = 1.2, 0.75


def build_index(judged: JudgedSet, embedder: Embedder) -> MemoryIndex:
    """Index all products as points of one chunk, as `index build` does: the title is the first line.

    In addition to the shipped vectors it holds `bm25`: textbook BM25 (k1 1.2, b 0.75, true lengths) over
    title and description. It has the same stems and stop words.
    """
    index = MemoryIndex(IndexSpec(embedder.dimensions, (*SPARSE_NAMES, BM25), "evaluation"))
    texts = [f"{' '.join(one.title.split())}\n{one.description}" for one in judged.products]
    stems = [list_stems(text) for text in texts]
    usual = sum(map(len, stems)) / max(len(stems), 1)
    encoder = SparseEncoder()
    vectors = embedder.embed_passages(texts)
    points: list[Point] = []
    for product, text, words, vector in zip(judged.products, texts, stems, vectors, strict=True):
        norm = _K1 * (1 - _B + _B * len(words) / (usual or 1))
        plain = {stem: tf * (_K1 + 1) / (tf + norm) for stem, tf in Counter(words).items()}
        key = product.product_id
        sparse = {**encoder.encode_passage(text, product.fields), BM25: build_vector(plain)}
        written = encoder.encode_stems(text)
        points.append(
            Point(key, key, 0, text, "", "", "", vector.tolist(), sparse, product.fields, stems=written)
        )
    index.upsert(points)
    return index


def run_all(
    judged: JudgedSet,
    embedder: Embedder,
    config: RetrievalConfig | None = None,
    reranker: Reranker | None = None,
) -> dict[str, Run]:
    """Return each method's results by query, best first: legs, fusions, and `hybrid`.

    `hybrid` is what answers queries: the retrieval of `config` (the default for None), with the cross-encoder
    if given, and with the words of the catalogue learnt.
    """
    index = build_index(judged, embedder)
    plain: dict[str, dict[str, list[str]]] = {}
    for query in judged.queries:
        for name, keys in _run_plain(index, embedder, query.text):
            plain.setdefault(name, {})[query.query_id] = keys
    runs: dict[str, Run] = dict(plain)
    retriever = Retriever(index, embedder, config, reranker=reranker)
    retriever.learn_words()
    runs[HYBRID] = run_retriever(retriever, judged)
    return runs


def run_retriever(retriever: Retriever, judged: JudgedSet) -> dict[str, list[str]]:
    """Return a retriever's results by query; for the gate, which compares the live and the new index."""
    return {
        query.query_id: [row.row_key for row in retriever.search(SearchQuery(query.text, _LIMIT)).rows]
        for query in judged.queries
    }


def _run_plain(index: Index, embedder: Embedder, text: str) -> Iterator[tuple[str, list[str]]]:
    vector = embedder.embed_queries([text])[0]
    terms = [term for term in analyze(text) if term.word not in detect_language(text).stop_words]
    words = build_vector(Counter(form for term in terms for form in add_other_stems(term).stems))
    dense, bm25 = index.search(
        [SearchRequest(DENSE, vector.tolist(), DEPTH), SearchRequest(BM25, words, DEPTH)]
    )
    legs: list[Ranking] = [[(hit.passage.row_key, hit.score) for hit in hits] for hits in (dense, bm25)]
    yield DENSE, _list_keys(legs[0])
    yield BM25, _list_keys(legs[1])
    for k in RRF_CONSTANTS:
        yield f"rrf-{k}", list(fuse_ranks(legs, k=k))[:_LIMIT]
    yield "dbsf", list(fuse_distributions(legs))[:_LIMIT]


def _list_keys(ranking: Sequence[tuple[str, float]]) -> list[str]:
    return [key for key, _ in ranking[:_LIMIT]]
