"""Rows that a leg has found, as re-ranking looks at them. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from headwater.rag.lexical.analyzer import Term, analyze, list_stems
from headwater.rag.lexical.sparse import is_keyword, split_title
from headwater.rag.vector_stores.protocol import FieldValue, Hit

# What stands after these in a title is what the thing goes with, not what it is: "case for a camera".
_RELATION = re.compile(r"\b(?:for|fits|fit|to\s+fit|compatible\s+with|suitable\s+for)\b", re.IGNORECASE)
_NEGATIONS = frozenset({"no", "without", "not", "never", "zero", "non"})
_NEGATIONS_AFTER = frozenset({"free", "less"})
_REACH = 3


@dataclass(frozen=True, slots=True)
class Text:
    """Stems of a text: of the thing's own name, of what it goes with, of all, and the words in order."""

    name: frozenset[str]
    related: frozenset[str]
    body: frozenset[str]
    terms: tuple[Term, ...]

    def affirms(self, stem: str) -> bool:
        """Whether the stem stands anywhere without a negation beside it."""
        return any(term.stem == stem and not self._is_negated(place) for place, term in enumerate(self.terms))

    def _is_negated(self, place: int) -> bool:
        before = [term.word for term in self.terms[max(0, place - _REACH) : place]]
        after = self.terms[place + 1].word if place + 1 < len(self.terms) else ""
        return any(word in _NEGATIONS for word in before) or after in _NEGATIONS_AFTER


@dataclass(frozen=True, slots=True)
class Candidate:
    """A row with the chunk that matched best, its score in each leg (None: not found there), and the stems
    of its short fields by their names."""

    hit: Hit
    scores: Sequence[float | None]
    text: Text
    keywords: Mapping[str, frozenset[str]]


def gather(legs: Sequence[Sequence[Hit]], *, limit: int) -> list[Candidate]:
    """All rows of the legs, each leg's first `limit`; of several chunks of a row the one found higher."""
    best: dict[str, tuple[int, Hit]] = {}
    scores: dict[str, list[float | None]] = {}
    for leg, hits in enumerate(legs):
        for rank, hit in enumerate(hits[:limit]):
            known = best.get(hit.row_key)
            if known is None or rank < known[0]:
                best[hit.row_key] = (rank, hit)
            scores.setdefault(hit.row_key, [None] * len(legs))[leg] = hit.score
    return [
        Candidate(hit, scores[key], read_text(hit.text), read_keywords(hit.fields))
        for key, (_, hit) in best.items()
    ]


@lru_cache(maxsize=32_768)
def read_text(text: str) -> Text:
    """Analysed; what was looked at lately is remembered."""
    title, body = split_title(text)
    relation = _RELATION.search(title)
    # A title that begins with the word has no other name.
    place = relation.start() if relation is not None and relation.start() > 0 else len(title)
    terms = tuple(analyze(text))
    return Text(
        frozenset(list_stems(title[:place])),
        frozenset(list_stems(title[place:])),
        frozenset(list_stems(body)),
        terms,
    )


def read_keywords(fields: Mapping[str, FieldValue]) -> dict[str, frozenset[str]]:
    """Stems of the short texts among the fields."""
    found: dict[str, frozenset[str]] = {}
    for name, value in fields.items():
        values = value if isinstance(value, list) else (value,)
        stems = [_read_keyword(one) for one in values if isinstance(one, str) and is_keyword(one)]
        if stems:
            found[name] = frozenset().union(*stems)
    return found


@lru_cache(maxsize=32_768)
def _read_keyword(value: str) -> frozenset[str]:
    return frozenset(list_stems(value))
