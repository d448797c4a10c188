"""Rows that a leg has found, as ranking looks at them. Pure."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from headwater.rag.lexical.analyzer import analyze
from headwater.rag.passage import Passage
from headwater.rag.vector_stores.protocol import PassageHit

_NEGATIONS = frozenset({"no", "without", "not", "never", "zero", "non"})
_NEGATIONS_AFTER = frozenset({"free", "less"})
_ANY_NEGATION = re.compile(rf"\b(?:{'|'.join((*_NEGATIONS, *_NEGATIONS_AFTER))})\b", re.IGNORECASE)
# Words before a word among which a negation counts.
_REACH = 3
_REMEMBERED = 8_192


class Candidate(NamedTuple):
    """A row with the chunk that matched best, and its score in each leg (None: not found there)."""

    passage: Passage
    scores: Sequence[float | None]

    def has(self, stem: str) -> bool:
        """Whether the stem is anywhere in the row."""
        words = self.passage.words
        return words.text.has(stem) or stem in words.keyword_stems

    def affirms(self, stem: str) -> bool:
        """Whether the stem stands anywhere in its text without a negation beside it."""
        if not self.passage.words.text.has(stem):
            return False
        affirmed = _find_affirmed(self.passage.text)
        return affirmed is None or stem in affirmed


def gather(legs: Sequence[Sequence[PassageHit]]) -> list[Candidate]:
    """All rows of the legs; of several chunks of a row the one found higher."""
    best: dict[str, tuple[int, Passage]] = {}
    scores: dict[str, list[float | None]] = {}
    for leg, hits in enumerate(legs):
        for rank, (passage, score) in enumerate(hits):
            key = passage.row_key
            known = best.get(key)
            if known is None:
                best[key] = (rank, passage)
                scores[key] = [None] * len(legs)
            elif rank < known[0]:
                best[key] = (rank, passage)
            scores[key][leg] = score
    return [Candidate(passage, scores[key]) for key, (_, passage) in best.items()]


@lru_cache(maxsize=_REMEMBERED)
def _find_affirmed(text: str) -> frozenset[str] | None:
    """Stems that stand anywhere without a negation beside them; None: the text negates nothing."""
    # Most texts do not, and need not be analysed; what has accents may yet be one of the words.
    if text.isascii() and _ANY_NEGATION.search(text) is None:
        return None
    terms = analyze(text)
    negated: set[int] = set()
    for place, term in enumerate(terms):
        if term.word in _NEGATIONS:
            negated.update(range(place + 1, place + 1 + _REACH))
        if term.word in _NEGATIONS_AFTER:
            negated.add(place - 1)
    return frozenset(term.stem for place, term in enumerate(terms) if place not in negated)
