"""The nearest word to one that no row has. Pure.

Nothing is kept between queries: whether a word is known is what the words leg has found, and the words to
choose from are those of rows whose words have the same letters. So a word that came with the newest row is
known at once.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files

from rapidfuzz import process
from rapidfuzz.distance import OSA

from headwater.rag.lexical.analyzer import Term, stem
from headwater.rag.lexical.english import STOP_WORDS
from headwater.rag.retrieval.candidates import Candidate, read_words

_MIN_LETTERS = 4
# From this length on two wrong letters may be in a word.
_LONG = 7
_MOST_CHOICES = 16


def find_unknown(wanted: Sequence[Term], found: Sequence[Candidate]) -> list[str]:
    """Words of the query that none of the rows has, and that English has neither."""
    return [
        term.word
        for term in wanted
        if _may_be_wrong(term)
        and not any(candidate.has(term.stem) for candidate in found)
        and term.word not in _load_english()
    ]


def correct(words: Sequence[str], pool: Sequence[Candidate]) -> dict[str, str]:
    """The nearest word of the pool's rows, where one is near enough.

    Of equally near ones that with the same first letter, then the commoner one.
    """
    choices: Counter[str] = Counter()
    for candidate in pool:
        choices.update(read_words(candidate.hit))
    listed = [word for word in choices if len(word) >= _MIN_LETTERS and word not in STOP_WORDS]
    found: dict[str, str] = {}
    for word in words:
        near = process.extract(
            word,
            listed,
            scorer=OSA.distance,
            score_cutoff=2 if len(word) >= _LONG else 1,
            limit=_MOST_CHOICES,
        )
        if near:
            found[word] = min(near, key=lambda one: (one[1], one[0][0] != word[0], -choices[one[0]], one[0]))[
                0
            ]
    return found


def respell(wanted: Sequence[Term], corrections: Mapping[str, str]) -> tuple[Term, ...]:
    """The terms with corrected words in place of wrong ones."""
    return tuple(
        term
        if term.word not in corrections
        else Term(corrections[term.word], stem(corrections[term.word]), term.start, term.end)
        for term in wanted
    )


def _may_be_wrong(term: Term) -> bool:
    return len(term.word) >= _MIN_LETTERS and term.word.isalpha() and not term.joined


@lru_cache(maxsize=1)
def _load_english() -> frozenset[str]:
    """Words that are right though this catalogue has them not: "couch" is no mistyped "pouch"."""
    lines = (files("symspellpy") / "frequency_dictionary_en_82_765.txt").read_text("utf-8-sig").splitlines()
    return frozenset(line.partition(" ")[0] for line in lines)
