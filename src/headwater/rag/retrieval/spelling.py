"""The nearest word to one that no row has. Pure.

Whether a word is known is what the words leg has found, and the words to choose from are those of rows whose
words have the same letters. So a word that came with the newest row is known at once.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files

from rapidfuzz import process
from rapidfuzz.distance import OSA

from headwater.rag.lexical.analyzer import Term, stem
from headwater.rag.lexical.english import STOP_WORDS
from headwater.rag.retrieval.candidates import Candidate

_MIN_LETTERS = 4
# From this length on two wrong letters may be in a word.
_LONG = 7


def find_unknown(wanted: Sequence[Term], found: Sequence[Candidate]) -> list[str]:
    """Words of the query that none of the rows has, and that English has neither."""
    return [
        term.word
        for term in wanted
        if may_be_wrong(term) and not any(candidate.has(term.stem) for candidate in found)
    ]


def correct(words: Sequence[str], pool: Sequence[Candidate]) -> dict[str, str]:
    """The nearest word of the pool's rows, where one is near enough; see `choose_nearest`."""
    choices: Counter[str] = Counter()
    for candidate in pool:
        choices.update(candidate.passage.list_words())
    listed = [word for word in choices if is_choice(word)]
    nearest = {word: choose_nearest(word, listed, choices) for word in words}
    return {word: near for word, near in nearest.items() if near is not None}


def is_choice(word: str) -> bool:
    """Whether a mistyped word may have been meant to be this one."""
    return len(word) >= _MIN_LETTERS and word.isalpha() and word not in STOP_WORDS


def count_edits(word: str) -> int:
    """How many letters of it may be wrong."""
    return 2 if len(word) >= _LONG else 1


def choose_nearest(word: str, choices: Sequence[str], counts: Mapping[str, int]) -> str | None:
    """Of equally near ones that with the same first letter, then the commoner one; None when none is near."""
    near = list_nearest(word, choices)
    return min(near, key=lambda one: (one[0] != word[0], -counts[one], one)) if near else None


def list_nearest(word: str, choices: Sequence[str]) -> list[str]:
    """All choices that are near enough, and as near as the nearest."""
    near = process.extract(word, choices, scorer=OSA.distance, score_cutoff=count_edits(word), limit=None)
    # Nearest first.
    return [choice for choice, distance, _ in near if distance == near[0][1]]


def respell(wanted: Sequence[Term], corrections: Mapping[str, str]) -> tuple[Term, ...]:
    """The terms with corrected words in place of wrong ones."""
    return tuple(
        term
        if term.word not in corrections
        else Term(corrections[term.word], stem(corrections[term.word]), term.start, term.end)
        for term in wanted
    )


def may_be_wrong(term: Term) -> bool:
    """Whether it is a word as people type them, and not one that English has."""
    return (
        len(term.word) >= _MIN_LETTERS
        and term.word.isalpha()
        and not term.joined
        and term.word not in _load_english()
    )


@lru_cache(maxsize=1)
def _load_english() -> frozenset[str]:
    """Words that are right though this catalogue has them not: "couch" is no mistyped "pouch"."""
    lines = (files("symspellpy") / "frequency_dictionary_en_82_765.txt").read_text("utf-8-sig").splitlines()
    return frozenset(line.partition(" ")[0] for line in lines)
