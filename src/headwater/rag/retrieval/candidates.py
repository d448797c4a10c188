"""Rows found by a leg, prepared for ranking. Pure."""

import re
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from itertools import chain
from typing import NamedTuple

from headwater.rag.lexical.analyzer import analyze
from headwater.rag.lexical.languages import LANGUAGES
from headwater.rag.passage import Passage
from headwater.rag.vector_stores.protocol import PassageHit

_NEGATIONS = frozenset({"never", "zero", "non"}).union(*(one.negators for one in LANGUAGES))
_NEGATIONS_AFTER = frozenset({"free", "less", "frei", "los", "loze", "vrij"})
_ANY_NEGATION = re.compile(rf"\b(?:{'|'.join((*_NEGATIONS, *_NEGATIONS_AFTER))})\b", re.IGNORECASE)
_MIN_PART = 4
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


class AllStems:
    """The stems of all candidates, searched at once: much faster for a word that none has.

    Joined on first use: most words are in one of the best candidates.
    """

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self._words = [one.passage.words for one in candidates]

    @cached_property
    def _own(self) -> str:
        return "\n".join(chain.from_iterable((one.text.name, one.text.body) for one in self._words))

    @cached_property
    def _related(self) -> str:
        return "\n".join(one.text.related for one in self._words)

    @cached_property
    def _keywords(self) -> frozenset[str]:
        return frozenset[str]().union(*(one.keyword_stems for one in self._words))

    def has_any(self, stems: Iterable[str]) -> bool:
        """True if a candidate has one of the stems anywhere."""
        return any(
            f" {stem} " in self._own or stem in self._keywords or f" {stem} " in self._related
            for stem in stems
        )

    def has_part(self, stems: Iterable[str]) -> bool:
        """True if one of the stems names what a candidate is, has or does: a case for headphones is
        not headphones."""
        return any(widen(stem) in self._own or stem in self._keywords for stem in stems)


def widen(stem: str) -> str:
    """Return what to search for in a text of stems: a long one may be part of a longer word there."""
    return stem if len(stem) >= _MIN_PART and stem.isalpha() else f" {stem} "


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
