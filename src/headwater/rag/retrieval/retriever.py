"""Answers a query: both legs in one round trip, misspelt words corrected, candidates ranked.

A word that no row has is detected from the results, and correcting it costs two more round trips. With a
learnt vocabulary, most words are corrected before the first round trip. The result is then
verified to equal that of the slower method.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise

import numpy as np

from headwater.config.search.retrieval import RetrievalConfig
from headwater.errors import SearchError
from headwater.rag.embedding.protocol import Embedder
from headwater.rag.lexical.analyzer import Term, detect_language, list_words, stem
from headwater.rag.lexical.sparse import TRIGRAMS, WORDS, SparseEncoder
from headwater.rag.retrieval.candidates import AllStems, Candidate, gather
from headwater.rag.retrieval.diversity import diversify
from headwater.rag.retrieval.fusion import fuse_distributions, fuse_ranks
from headwater.rag.retrieval.query import FoundRow, SearchQuery, SearchResult
from headwater.rag.retrieval.ranking import Ranked, Weights, rank
from headwater.rag.retrieval.relevance import Relevance, judge_relevance
from headwater.rag.retrieval.reranking import Reranker, reorder
from headwater.rag.retrieval.spelling import MAX_MISSPELT, correct, find_unknown, may_be_wrong, respell
from headwater.rag.retrieval.understanding import Understanding, spell_corrections, understand
from headwater.rag.retrieval.vocabulary import Vocabulary
from headwater.rag.vector_stores.conditions import TENANT
from headwater.rag.vector_stores.protocol import Filter, Index, IndexCondition, PassageHit, SearchRequest

DENSE = "dense"
# "water proof" also finds "waterproof", but prefers rows with both words.
_JOINED_WEIGHT = 0.7
_SPELLING_DEPTH = 50
# Number of texts, the most recent ones.
_REMEMBERED = 8_192
# Candidate rows for diversification, per requested row.
_DIVERSITY_DEPTH = 5
_MAX_DIVERSITY_ROWS = 100


@dataclass(frozen=True, slots=True)
class Reading:
    """A query after understanding and correction of its words."""

    query: SearchQuery
    understanding: Understanding
    wanted: Sequence[Term]
    text: str

    @property
    def stems(self) -> list[tuple[str, ...]]:
        """The forms of each wanted word."""
        return [term.stems for term in self.wanted]


class Retriever:
    """Answers queries from one version of an index. Thread-safe; keeps only analysed texts and the learnt
    vocabulary between queries.

    `as_of` is the index's commit at query time. Raises `SearchError` when store or model cannot be called, or
    for a query as of another commit.
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
                f"the index holds vectors of length {index.spec.dimensions}, "
                f"but {embedder.name} returns vectors of length {embedder.dimensions}",
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
        self._vocabulary = Vocabulary()

    def learn_words(self) -> None:
        """Read the words of all rows, so that misspelt ones are corrected earlier. Takes about 40 us per
        chunk; does not change results. Raises `SearchError`."""
        if self._config.correct_spelling:
            self._vocabulary = Vocabulary(self._index.iter_passages())

    def search(self, query: SearchQuery) -> SearchResult:
        """Return at most `limit` rows, best first. An empty query finds nothing."""
        as_of = self._as_of()
        if query.as_of and query.as_of != as_of:
            raise SearchError(
                f"this index is at commit {as_of or 'unknown'}, not at {query.as_of}",
                hint="omit `as_of`; `headwater serve` loads the index of another commit",
            )
        candidates, reading, corrections = self.gather(query)
        if query.similarity is not None:
            candidates = [one for one in candidates if (one.scores[0] or 0.0) >= query.similarity]
        ranked = self._order(candidates, reading)
        shown = ranked[: max(query.limit, 0)]
        rows = tuple(_to_row(one, rank, reading.stems) for rank, one in enumerate(shown, start=1))
        understood = {**reading.understanding.describe(), **spell_corrections(corrections)}
        top = ranked[0].candidate if ranked else None
        relevance = judge_relevance(reading.text, reading.wanted, candidates, top)
        return SearchResult(
            rows,
            self._version,
            as_of,
            understood,
            is_answerable=self._is_answerable(query, relevance),
            unmatched=relevance.unmatched,
        )

    def _is_answerable(self, query: SearchQuery, relevance: Relevance) -> bool:
        if query.similarity is not None:
            # The caller has decided how near a row must be; any that is left is an answer.
            return relevance.confidence > 0
        return relevance.confidence >= self._config.relevance.min_confidence

    def gather(self, query: SearchQuery) -> tuple[list[Candidate], Reading, dict[str, str]]:
        """Return the candidates before ranking, the final reading of the query, and corrections of words that
        no row has. Raises `SearchError`."""
        understanding = understand(query.text)
        reading = Reading(query, understanding, understanding.wanted, understanding.text)
        conditions = build_conditions(query)
        return self._find_at_once(reading, conditions) or self._find_in_rounds(reading, conditions)

    def _find_at_once(
        self, reading: Reading, conditions: Filter
    ) -> tuple[list[Candidate], Reading, dict[str, str]] | None:
        """Search with learnt words, in one round trip; None without corrections, or if unconfirmed."""
        corrections = self._guess(reading.wanted) if self._config.correct_spelling else {}
        if not corrections:
            return None
        corrected = _respell(reading, corrections)
        # Also query the words as typed: a newer row than the vocabulary may have one.
        candidates = gather(self._ask(corrected, conditions, further_words=corrections))
        if find_unknown(corrected.wanted, candidates) or not _is_confirmed(corrections, candidates):
            return None
        return candidates, corrected, corrections

    def _guess(self, wanted: Sequence[Term]) -> dict[str, str]:
        unknown = [
            term.word for term in wanted if may_be_wrong(term) and not self._vocabulary.has_any(term.stems)
        ]
        if len(unknown) > MAX_MISSPELT:
            return {}
        nearest = {word: self._vocabulary.find_nearest(word) for word in unknown}
        return {word: near for word, near in nearest.items() if near is not None}

    def _find_in_rounds(
        self, reading: Reading, conditions: Filter
    ) -> tuple[list[Candidate], Reading, dict[str, str]]:
        """Search again with corrected words when a word is in none of the candidates."""
        legs = self._ask(reading, conditions)
        candidates = gather(legs)
        unknown = find_unknown(reading.wanted, candidates) if self._config.correct_spelling else []
        if not 0 < len(unknown) <= MAX_MISSPELT:
            return candidates, reading, {}
        letters = self._encoder.encode_spelling(unknown)
        similar = self._index.search([SearchRequest(TRIGRAMS, letters, _SPELLING_DEPTH, conditions)])
        corrections = correct(unknown, gather([*similar, legs[0][:_SPELLING_DEPTH]]))
        if not corrections:
            return candidates, reading, {}
        corrected = _respell(reading, corrections)
        return gather(self._ask(corrected, conditions)), corrected, corrections

    def _ask(
        self, reading: Reading, conditions: Filter, further_words: Iterable[str] = ()
    ) -> list[list[PassageHit]]:
        """Return hits of the dense leg and of the lexical leg; the latter also searches the words
        `further_words`."""
        depth = max(self._config.depth, reading.query.limit)
        vector = self._embedder.embed_queries([reading.text])[0]
        weights = dict.fromkeys(map(stem, further_words), 1.0) | weigh_terms(reading.wanted)
        words = self._encoder.encode_query(weights)
        requests = {
            # A text without any known word has no direction: all rows would be equally near.
            0: SearchRequest(DENSE, vector.tolist(), depth, conditions) if vector.any() else None,
            1: SearchRequest(WORDS, words, depth, conditions) if words.indices else None,
        }
        asked = {leg: request for leg, request in requests.items() if request is not None}
        answers = self._index.search(list(asked.values())) if asked else []
        found = dict(zip(asked, answers, strict=True))
        return [found.get(0, []), found.get(1, [])]

    def _order(self, candidates: Sequence[Candidate], reading: Reading) -> list[Ranked]:
        if self._config.ranking == "features":
            count = self._count_wanted(reading.query)
            ranked = rank(candidates, reading.stems, reading.understanding, self._weights, count)
        else:
            ranked = self._fuse(candidates)
        if self._reranker is not None and self._config.rerank is not None:
            ranked = _reread(ranked, reading, self._reranker, self._config)
        if reading.query.diversity is not None:
            diversity = min(max(reading.query.diversity, 0.0), 1.0)
            ranked = self._diversify(ranked, diversity, reading.query.limit)
        return ranked

    def _count_wanted(self, query: SearchQuery) -> int:
        """Return how many rows must be ranked: those shown, and those they are chosen from."""
        limit = max(query.limit, 0)
        read_again = self._config.rerank.depth if self._reranker and self._config.rerank else 0
        unlike = 0 if query.diversity is None else _choose_diversity_pool(limit)
        return max(limit, read_again, unlike)

    def _fuse(self, candidates: Sequence[Candidate]) -> list[Ranked]:
        rankings = [
            sorted(
                (
                    (one.passage.row_key, score)
                    for one in candidates
                    if (score := one.scores[leg]) is not None
                ),
                key=lambda pair: (-pair[1], pair[0]),
            )
            for leg in (0, 1)
        ]
        weights = (self._config.dense_weight, self._config.words_weight)
        if self._config.ranking == "rrf":
            fused = fuse_ranks(rankings, k=self._config.rrf_k, weights=weights)
        else:
            fused = fuse_distributions(rankings, weights=weights)
        by_key = {one.passage.row_key: one for one in candidates}
        return [Ranked(by_key[key], score) for key, score in fused.items()]

    def _diversify(self, ranked: Sequence[Ranked], diversity: float, limit: int) -> list[Ranked]:
        pool = ranked[: _choose_diversity_pool(limit)]
        points = self._index.load([one.candidate.passage.row_key for one in pool])
        vectors = {point.chunk_id: point.dense for point in points}
        # A row deleted since it was found has no vector.
        kept = [one for one in pool if one.candidate.passage.chunk_id in vectors]
        matrix = np.asarray([vectors[one.candidate.passage.chunk_id] for one in kept], dtype=np.float32)
        return [kept[number] for number in diversify([one.score for one in kept], matrix, diversity, limit)]


def _choose_diversity_pool(limit: int) -> int:
    return max(limit, min(_DIVERSITY_DEPTH * limit, _MAX_DIVERSITY_ROWS))


def build_conditions(query: SearchQuery) -> list[IndexCondition]:
    """Return the conditions for every row: the explicit ones, and the tenant."""
    tenant = [] if query.tenant is None else [IndexCondition(TENANT, "eq", query.tenant)]
    return [*query.conditions, *tenant]


def weigh_terms(wanted: Sequence[Term]) -> dict[str, float]:
    """Return weights of the words' stems, and of neighbours written as one."""
    weights = {one: _JOINED_WEIGHT if term.joined else 1.0 for term in wanted for one in term.stems}
    words = [term.word for term in wanted if not term.joined and term.word.isalpha()]
    for first, second in pairwise(words):
        weights.setdefault(stem(first + second), _JOINED_WEIGHT)
    return weights


def _respell(reading: Reading, corrections: Mapping[str, str]) -> Reading:
    wanted = respell(reading.wanted, corrections)
    text = _replace_words(reading.text, corrections)
    return Reading(reading.query, reading.understanding, wanted, text)


def _is_confirmed(corrections: Mapping[str, str], candidates: Sequence[Candidate]) -> bool:
    """True if no row has a word as typed, and each correction occurs in some row."""
    everything = AllStems(candidates)
    return all(
        everything.has_any([stem(near)]) and not everything.has_any([stem(word)])
        for word, near in corrections.items()
    )


def _replace_words(text: str, corrections: Mapping[str, str]) -> str:
    pattern = re.compile(r"\b(?:" + "|".join(map(re.escape, corrections)) + r")\b")
    return pattern.sub(lambda match: corrections[match.group()], text)


def _reread(
    ranked: Sequence[Ranked], reading: Reading, reranker: Reranker, config: RetrievalConfig
) -> list[Ranked]:
    if config.rerank is None:
        return list(ranked)
    best = ranked[: config.rerank.depth]
    order = reorder(
        reading.text, [one.candidate.passage.text for one in best], reranker, config.rerank.budget
    )
    # Scores stay in descending order, whatever the new ranks are.
    reread = [Ranked(best[number].candidate, best[rank].score) for rank, number in enumerate(order)]
    return [*reread, *ranked[len(best) :]]


def _to_row(ranked: Ranked, rank: int, stems: Sequence[tuple[str, ...]]) -> FoundRow:
    found = ranked.candidate.passage
    wanted = frozenset(chain.from_iterable(stems))
    matched = tuple(word for word, its_stem in _list_spellings(found.text) if its_stem in wanted)
    return FoundRow(found.row_key, rank, ranked.score, found.text, found.fields, found.instant, matched)


@lru_cache(maxsize=_REMEMBERED)
def _list_spellings(text: str) -> tuple[tuple[str, str], ...]:
    """Return each distinct word of the text with its stem, in order."""
    language = detect_language(text).name
    return tuple((word, stem(word, language)) for word in dict.fromkeys(list_words(text)))
