"""Rows that a leg has found, as ranking looks at them. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from headwater.rag.lexical.analyzer import Term, analyze, list_stems, list_words
from headwater.rag.lexical.passage_stems import PassageStems, parse_stems, read_stems
from headwater.rag.lexical.sparse import is_keyword, list_keywords
from headwater.rag.vector_stores.protocol import FieldValue, Hit

_NEGATIONS = frozenset({"no", "without", "not", "never", "zero", "non"})
_NEGATIONS_AFTER = frozenset({"free", "less"})
# Words before a word among which a negation counts.
_REACH = 3
_REMEMBERED = 32_768


@dataclass(frozen=True, slots=True)
class Candidate:
    """A row with the chunk that matched best, its score in each leg (None: not found there), and the stems
    of its short fields by their names."""

    hit: Hit
    scores: Sequence[float | None]
    text: PassageStems
    keywords: Mapping[str, frozenset[str]]

    def has(self, stem: str) -> bool:
        """Whether the stem is anywhere in the row."""
        return self.text.has(stem) or any(stem in stems for stems in self.keywords.values())


def gather(legs: Sequence[Sequence[Hit]]) -> list[Candidate]:
    """All rows of the legs; of several chunks of a row the one found higher."""
    best: dict[str, tuple[int, Hit]] = {}
    scores: dict[str, list[float | None]] = {}
    for leg, hits in enumerate(legs):
        for rank, hit in enumerate(hits):
            known = best.get(hit.row_key)
            if known is None or rank < known[0]:
                best[hit.row_key] = (rank, hit)
            scores.setdefault(hit.row_key, [None] * len(legs))[leg] = hit.score
    return [
        Candidate(hit, scores[key], _read_passage(hit), read_keywords(hit.fields))
        for key, (_, hit) in best.items()
    ]


def read_words(hit: Hit) -> frozenset[str]:
    """Folded words of the text and of the short fields."""
    words = set(list_words(hit.text))
    for keyword in list_keywords(hit.fields):
        words.update(list_words(keyword))
    return frozenset(word for word in words if word.isalpha())


def read_keywords(fields: Mapping[str, FieldValue]) -> dict[str, frozenset[str]]:
    """Stems of the short texts among the fields."""
    found: dict[str, frozenset[str]] = {}
    for name, value in fields.items():
        if isinstance(value, str):
            if is_keyword(value):
                found[name] = _read_keyword(value)
        elif isinstance(value, list):
            found[name] = frozenset().union(*(_read_keyword(one) for one in value if is_keyword(one)))
    return found


def affirms(text: str, wanted: str) -> bool:
    """Whether the stem stands anywhere in the text without a negation beside it."""
    terms = _analyze(text)
    return any(term.stem == wanted and not _is_negated(terms, place) for place, term in enumerate(terms))


def _is_negated(terms: Sequence[Term], place: int) -> bool:
    before = [term.word for term in terms[max(0, place - _REACH) : place]]
    after = terms[place + 1].word if place + 1 < len(terms) else ""
    return any(word in _NEGATIONS for word in before) or after in _NEGATIONS_AFTER


@lru_cache(maxsize=1_024)
def _analyze(text: str) -> tuple[Term, ...]:
    return tuple(analyze(text))


def _read_passage(hit: Hit) -> PassageStems:
    return parse_stems(hit.stems) if hit.stems else read_stems(hit.text)


@lru_cache(maxsize=_REMEMBERED)
def _read_keyword(text: str) -> frozenset[str]:
    return frozenset(list_stems(text))
