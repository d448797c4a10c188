"""The words of all rows, and the nearest of them to a misspelt one. Pure.

It may be outdated: choices are verified against the rows found with them.
"""

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from headwater.rag.lexical.analyzer import stem
from headwater.rag.lexical.sparse import list_letters
from headwater.rag.passage import Passage
from headwater.rag.retrieval.spelling import count_edits, is_choice, list_nearest

_LETTERS_AN_EDIT = 3


class Vocabulary:
    """Built once from the rows; immutable."""

    def __init__(self, rows: Iterable[Passage] = ()) -> None:
        words: set[str] = set()
        stems: set[str] = set()
        for row in rows:
            words |= row.list_words()
            stems |= row.words.list_stems()
        self._stems = frozenset(stems)
        self._choices = sorted(filter(is_choice, words))
        self._postings = _build_postings(self._choices)

    def has_any(self, stems: Iterable[str]) -> bool:
        """True if a row has a word of one of the stems."""
        return not self._stems.isdisjoint(stems)

    def find_nearest(self, word: str) -> str | None:
        """Return the intended word; None when none is near, or several are equally near: only context could
        decide."""
        near = list_nearest(word, self._list_alike(word))
        # Forms of one word find the same rows.
        return near[0] if len(set(map(stem, near))) == 1 else None

    def _list_alike(self, word: str) -> Sequence[str]:
        """Return all near enough choices, and some others with enough common trigrams."""
        letters = set(list_letters(word))
        found = [self._postings[one] for one in letters if one in self._postings]
        if not found:
            return ()
        shared = np.bincount(np.concatenate(found))
        # An edit changes three trigrams; swapping two letters changes four.
        least = max(1, len(letters) - (_LETTERS_AN_EDIT + 1) * count_edits(word))
        return [self._choices[number] for number in np.flatnonzero(shared >= least)]


def _build_postings(words: Sequence[str]) -> dict[int, npt.NDArray[np.int32]]:
    """Return word ids by trigram."""
    found: dict[int, list[int]] = {}
    for number, word in enumerate(words):
        for letters in set(list_letters(word)):
            found.setdefault(letters, []).append(number)
    return {letters: np.asarray(numbers, dtype=np.int32) for letters, numbers in found.items()}
