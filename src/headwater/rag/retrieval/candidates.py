"""Rows found by a leg, prepared for ranking. Pure."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from headwater.rag.lexical.analyzer import analyze
from headwater.rag.lexical.languages import LANGUAGES
from headwater.rag.passage import Passage
from headwater.rag.vector_stores.protocol import PassageHit

_NEGATIONS = frozenset({"never", "zero", "non"}).union(*(one.negators for one in LANGUAGES))
_NEGATIONS_AFTER = frozenset({"free", "less", "frei", "los", "loze", "vrij"})
_ANY_NEGATION = re.compile(rf"\b(?:{'|'.join((*_NEGATIONS, *_NEGATIONS_AFTER))})\b", re.IGNORECASE)
# Number of words before a word in which a negation counts.
_REACH = 3
_REMEMBERED = 8_192


class Candidate(NamedTuple):
    """A row with its best matching chunk, and its score in each leg (None: not found there)."""

    passage: Passage
    scores: Sequence[float | None]

    def has(self, stem: str) -> bool:
        """True if the stem occurs anywhere in the row."""
        words = self.passage.words
        return words.text.has(stem) or stem in words.keyword_stems

    def has_any(self, stems: Iterable[str]) -> bool:
        """True if one of the stems occurs anywhere in the row."""
        return any(map(self.has, stems))

    def affirms(self, stem: str) -> bool:
        """True if the stem occurs anywhere in the text without a nearby negation."""
        if not self.passage.words.text.has(stem):
            return False
        affirmed = _find_affirmed(self.passage.text)
        return affirmed is None or stem in affirmed


def gather(legs: Sequence[Sequence[PassageHit]]) -> list[Candidate]:
    """Return all rows of the legs; for several chunks of a row, the highest ranked one."""
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
    """Return stems that occur without a nearby negation; None if the text negates nothing."""
    # Most texts have no negation and need no analysis; accented text may still contain one.
    if text.isascii() and _ANY_NEGATION.search(text) is None:
        return None
    terms = analyze(text)
    negated: set[int] = set()
    for index, term in enumerate(terms):
        if term.word in _NEGATIONS:
            negated.update(range(index + 1, index + 1 + _REACH))
        if term.word in _NEGATIONS_AFTER:
            negated.add(index - 1)
    return frozenset(term.stem for index, term in enumerate(terms) if index not in negated)
