"""A query's answer: both legs in one round trip, mistyped words corrected, candidates put in order."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from headwater.config.search.retrieval import RetrievalConfig
from headwater.errors import SearchError
from headwater.rag.embedding.protocol import Embedder
from headwater.rag.lexical.analyzer import Term, list_words, stem
from headwater.rag.lexical.sparse import TRIGRAMS, WORDS, SparseEncoder
from headwater.rag.retrieval.candidates import Candidate, gather
from headwater.rag.retrieval.diversity import diversify
from headwater.rag.retrieval.fusion import fuse_distributions, fuse_ranks
from headwater.rag.retrieval.query import FoundRow, SearchQuery, SearchResult
from headwater.rag.retrieval.ranking import Ranked, Weights, rank
from headwater.rag.retrieval.reranking import Reranker, reorder
from headwater.rag.retrieval.spelling import correct, find_unknown, respell
from headwater.rag.retrieval.understanding import Understanding, spell_corrections, understand
from headwater.rag.vector_stores.conditions import TENANT
from headwater.rag.vector_stores.protocol import Condition, Filter, Hit, Index, SearchRequest

DENSE = "dense"
# "water proof" also finds "waterproof", but rather what has both words.
_JOINED_WEIGHT = 0.7
_SPELLING_DEPTH = 50
# Rows among which the unlike ones are looked for, for each one wanted.
_DIVERSITY_DEPTH = 5
_MAX_DIVERSITY_ROWS = 100


@dataclass(frozen=True, slots=True)
class _Reading:
    """A query after its words were understood, and corrected."""

    query: SearchQuery
    understanding: Understanding
    wanted: Sequence[Term]
    text: str

    @property
    def stems(self) -> list[str]:
        return [term.stem for term in self.wanted]


class Retriever:
    """Answers queries from one version of an index. Thread-safe; keeps nothing between queries but a cache of
    analysed texts.

    `as_of` is the commit that the index stands at, told at the time of the query. Raises `SearchError` when
    store or model cannot be asked, or for a query as of another commit than that.
    """

    def __init__(
        self,
        index: Index,
        embedder: Embedder,
        config: RetrievalConfig | None = None,
        *,
        version: str = "",
        as_of: Callable[[], str] = str,
        reranker: Reranker | None = None,
        weights: Weights | None = None,
    ) -> None:
        if index.spec.dimensions != embedder.dimensions:
            raise SearchError(
                f"the index holds vectors of {index.spec.dimensions} numbers, "
                f"and {embedder.name} makes {embedder.dimensions}",
                hint="build a new version of the index: headwater index build",
            )
        self._index = index
        self._embedder = embedder
        self._config = config or RetrievalConfig()
        self._encoder = SparseEncoder()
        self._version = version
        self._as_of = as_of
        self._reranker = reranker
        self._weights = weights or Weights()

    def search(self, query: SearchQuery) -> SearchResult:
        """At most `limit` rows, best first. An empty query finds nothing."""
        as_of = self._as_of()
        if query.as_of and query.as_of != as_of:
            raise SearchError(
                f"this index stands at commit {as_of or 'unknown'}, not at {query.as_of}",
                hint="ask without `as_of`; `headwater serve` loads the index of another commit",
            )
        understanding = understand(query.text)
        reading = _Reading(query, understanding, understanding.wanted, understanding.text)
        candidates, reading, corrections = self._find(reading)
        ranked = self._order(candidates, reading)
        shown = ranked[: max(query.limit, 0)]
        rows = tuple(_to_row(one, place, reading.stems) for place, one in enumerate(shown, start=1))
        understood = {**understanding.describe(), **spell_corrections(corrections)}
        return SearchResult(rows, self._version, as_of, understood)

    def _find(self, reading: _Reading) -> tuple[list[Candidate], _Reading, dict[str, str]]:
        """Candidates; a second time with corrected words, when a word is in none of them."""
        conditions = build_conditions(reading.query)
        legs = self._ask(reading, conditions)
        candidates = gather(legs)
        unknown = find_unknown(reading.wanted, candidates) if self._config.correct_spelling else []
        if not unknown:
            return candidates, reading, {}
        letters = self._encoder.encode_spelling(unknown)
        similar = self._index.search([SearchRequest(TRIGRAMS, letters, _SPELLING_DEPTH, conditions)])
        corrections = correct(unknown, gather([*similar, legs[0][:_SPELLING_DEPTH]]))
        if not corrections:
            return candidates, reading, {}
        corrected = _Reading(
            reading.query,
            reading.understanding,
            respell(reading.wanted, corrections),
            _replace_words(reading.text, corrections),
        )
        return gather(self._ask(corrected, conditions)), corrected, corrections

    def _ask(self, reading: _Reading, conditions: Filter) -> list[list[Hit]]:
        """Hits of the dense leg and of the words leg."""
        depth = max(self._config.depth, reading.query.limit)
        vector = self._embedder.embed_queries([reading.text])[0]
        words = self._encoder.encode_query(weigh_terms(reading.wanted))
        requests = {
            # A text without any known word has no direction: all rows would be as near.
            0: SearchRequest(DENSE, vector.tolist(), depth, conditions) if vector.any() else None,
            1: SearchRequest(WORDS, words, depth, conditions) if words.indices else None,
        }
        asked = {leg: request for leg, request in requests.items() if request is not None}
        answers = self._index.search(list(asked.values())) if asked else []
        found = dict(zip(asked, answers, strict=True))
        return [found.get(0, []), found.get(1, [])]

    def _order(self, candidates: Sequence[Candidate], reading: _Reading) -> list[Ranked]:
        if self._config.ranking == "features":
            ranked = rank(candidates, reading.stems, reading.understanding, self._weights)
        else:
            ranked = self._fuse(candidates)
        if self._reranker is not None and self._config.rerank is not None:
            ranked = _reread(ranked, reading, self._reranker, self._config)
        if reading.query.diversity is not None:
            diversity = min(max(reading.query.diversity, 0.0), 1.0)
            ranked = self._diversify(ranked, diversity, reading.query.limit)
        return ranked

    def _fuse(self, candidates: Sequence[Candidate]) -> list[Ranked]:
        rankings = [
            sorted(
                ((one.hit.row_key, score) for one in candidates if (score := one.scores[leg]) is not None),
                key=lambda pair: (-pair[1], pair[0]),
            )
            for leg in (0, 1)
        ]
        weights = (self._config.dense_weight, self._config.words_weight)
        if self._config.ranking == "rrf":
            fused = fuse_ranks(rankings, k=self._config.rrf_k, weights=weights)
        else:
            fused = fuse_distributions(rankings, weights=weights)
        by_key = {one.hit.row_key: one for one in candidates}
        return [Ranked(by_key[key], score) for key, score in fused.items()]

    def _diversify(self, ranked: Sequence[Ranked], diversity: float, limit: int) -> list[Ranked]:
        pool = ranked[: max(limit, min(_DIVERSITY_DEPTH * limit, _MAX_DIVERSITY_ROWS))]
        points = self._index.load([one.candidate.hit.row_key for one in pool])
        vectors = {point.chunk_id: point.dense for point in points}
        # A row that went away since it was found has no vector any more.
        kept = [one for one in pool if one.candidate.hit.chunk_id in vectors]
        matrix = np.asarray([vectors[one.candidate.hit.chunk_id] for one in kept], dtype=np.float32)
        return [kept[number] for number in diversify([one.score for one in kept], matrix, diversity, limit)]


def build_conditions(query: SearchQuery) -> list[Condition]:
    """What must hold of every row: what was asked for explicitly, and the tenant."""
    tenant = [] if query.tenant is None else [Condition(TENANT, "eq", query.tenant)]
    return [*query.conditions, *tenant]


def weigh_terms(wanted: Sequence[Term]) -> dict[str, float]:
    """Stems of the words, and of neighbours written as one."""
    weights = {term.stem: _JOINED_WEIGHT if term.joined else 1.0 for term in wanted}
    words = [term.word for term in wanted if not term.joined and term.word.isalpha()]
    for first, second in pairwise(words):
        weights.setdefault(stem(first + second), _JOINED_WEIGHT)
    return weights


def _replace_words(text: str, corrections: Mapping[str, str]) -> str:
    pattern = re.compile(r"\b(?:" + "|".join(map(re.escape, corrections)) + r")\b")
    return pattern.sub(lambda match: corrections[match.group()], text)


def _reread(
    ranked: Sequence[Ranked], reading: _Reading, reranker: Reranker, config: RetrievalConfig
) -> list[Ranked]:
    if config.rerank is None:
        return list(ranked)
    best = ranked[: config.rerank.depth]
    order = reorder(reading.text, [one.candidate.hit.text for one in best], reranker, config.rerank.budget)
    # Scores stay in their order, whoever has which place now.
    reread = [Ranked(best[number].candidate, best[place].score) for place, number in enumerate(order)]
    return [*reread, *ranked[len(best) :]]


def _to_row(ranked: Ranked, place: int, stems: Sequence[str]) -> FoundRow:
    hit = ranked.candidate.hit
    wanted = frozenset(stems)
    matched = dict.fromkeys(word for word in list_words(hit.text) if stem(word) in wanted)
    return FoundRow(hit.row_key, place, ranked.score, hit.text, hit.fields, hit.instant, tuple(matched))
