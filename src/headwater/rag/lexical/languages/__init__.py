"""The languages of texts and queries: one file each.

To add one, add its file and an entry here: the language must have a Snowball stemmer.
"""

from collections.abc import Iterable

from headwater.rag.lexical.languages.dutch import DUTCH
from headwater.rag.lexical.languages.english import ENGLISH
from headwater.rag.lexical.languages.french import FRENCH
from headwater.rag.lexical.languages.german import GERMAN
from headwater.rag.lexical.languages.italian import ITALIAN
from headwater.rag.lexical.languages.language import Language
from headwater.rag.lexical.languages.portuguese import PORTUGUESE
from headwater.rag.lexical.languages.spanish import SPANISH

__all__ = ["ENGLISH", "LANGUAGES", "Language", "detect", "get_language"]

LANGUAGES = (ENGLISH, GERMAN, FRENCH, SPANISH, ITALIAN, DUTCH, PORTUGUESE)
"""The first of equally likely ones is chosen, so English is that of a text without words of any."""

# Stop words elsewhere, but things and prepositions in English.
_ENGLISH_TOO = frozenset({
    "bin", "den", "die", "dove", "hat", "hay", "man", "men", "met", "non", "over", "par", "plus", "sea",
    "son", "van", "war",
})  # fmt: skip


def _list_marks(language: Language) -> frozenset[str]:
    """Return the words that show the language. A single letter is a unit, a size or part of a possessive."""
    marks = language.stop_words | language.negators | (_ENGLISH_TOO if language is ENGLISH else frozenset())
    return frozenset(word for word in marks if len(word) > 1)


_MARKS = [_list_marks(language) for language in LANGUAGES]
_PLACES: dict[str, tuple[int, ...]] = {
    word: tuple(at for at, marks in enumerate(_MARKS) if word in marks)
    for word in frozenset[str]().union(*_MARKS)
}
_BY_NAME = {language.name: language for language in LANGUAGES}


def get_language(name: str) -> Language:
    """Return the language of that name. Raises `KeyError` for another one."""
    return _BY_NAME[name]


def detect(words: Iterable[str]) -> Language:
    """Return the language with the most stop words and negations among the folded words; English for none."""
    counts = [0] * len(LANGUAGES)
    for word in words:
        for place in _PLACES.get(word, ()):
            counts[place] += 1
    return LANGUAGES[counts.index(max(counts))]
