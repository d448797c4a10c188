"""The nearest known word to one that no row has. Pure.

A word is known if the lexical leg found it; the choices are words of rows with similar trigrams. So a word of
the newest row is known at once.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from rapidfuzz import process
from rapidfuzz.distance import OSA

from headwater.rag.lexical.analyzer import Term, add_other_stems, stem
from headwater.rag.lexical.english_words import load_english_words
from headwater.rag.lexical.languages import ENGLISH
from headwater.rag.retrieval.candidates import AllStems, Candidate

MAX_MISSPELT = 4
"""Maximum number of unknown words in a query that is corrected. More are another language or noise, and each
costs a search through all words."""

_MIN_LETTERS = 4
# From this length on, a word may have two wrong letters.
_LONG = 7


def find_unknown(wanted: Sequence[Term], found: Sequence[Candidate]) -> list[str]:
    """Return words of the query that occur in none of the rows and are not English words."""
    doubtful = [term for term in wanted if may_be_wrong(term)]
    if not doubtful:
        return []
    everything = AllStems(found)
    return [term.word for term in doubtful if not everything.has_any(term.stems)]


def correct(words: Sequence[str], pool: Sequence[Candidate]) -> dict[str, str]:
    """Return the nearest word of the pool's rows, where one is near enough; see `choose_nearest`."""
    choices: Counter[str] = Counter()
    for candidate in pool:
        choices.update(candidate.passage.list_words())
    listed = [word for word in choices if is_choice(word)]
    nearest = {word: choose_nearest(word, listed, choices) for word in words}
    return {word: near for word, near in nearest.items() if near is not None}


def is_choice(word: str) -> bool:
    """True if a misspelt word may stand for this one."""
    return len(word) >= _MIN_LETTERS and word.isalpha() and word not in ENGLISH.stop_words


def count_edits(word: str) -> int:
    """Return how many letters of the word may be wrong."""
    return 2 if len(word) >= _LONG else 1


def choose_nearest(word: str, choices: Sequence[str], counts: Mapping[str, int]) -> str | None:
    """Return the nearest word. Ties: same first letter, then the more common one; None when none is near."""
    near = list_nearest(word, choices)
    return min(near, key=lambda one: (one[0] != word[0], -counts[one], one)) if near else None


def list_nearest(word: str, choices: Sequence[str]) -> list[str]:
    """Return all near enough choices at the smallest distance."""
    near = process.extract(word, choices, scorer=OSA.distance, score_cutoff=count_edits(word), limit=None)
    # Nearest first.
    return [choice for choice, distance, _ in near if distance == near[0][1]]


def respell(wanted: Sequence[Term], corrections: Mapping[str, str]) -> tuple[Term, ...]:
    """Return the terms with corrections applied."""
    return tuple(
        term
        if term.word not in corrections
        else add_other_stems(Term(corrections[term.word], stem(corrections[term.word]), term.start, term.end))
        for term in wanted
    )


def may_be_wrong(term: Term) -> bool:
    """True if people type the term as a word, and it is not an English word."""
    return (
        len(term.word) >= _MIN_LETTERS
        and term.word.isalpha()
        and not term.joined
        # Correct even if the catalogue lacks it: "couch" is no misspelt "pouch".
        and term.word not in load_english_words()
    )
