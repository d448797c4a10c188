"""Detects the language of a text by its function words, among those whose orders are known. Pure."""

from collections.abc import Sequence
from functools import lru_cache

from headwater.rag.generation.vocabulary import load_groups
from headwater.rag.lexical.analyzer import list_words
from headwater.rag.lexical.english_words import load_english_words
from headwater.rag.lexical.languages import ENGLISH, LANGUAGES

DEFAULT = ENGLISH.code
_WORDS = {language.code: language.function_words | language.prose_words for language in LANGUAGES}
_ALL = frozenset[str]().union(*_WORDS.values())
_MIN_HITS = 2
_MIN_ENGLISH = 0.5


@lru_cache(maxsize=4_096)
def detect_language(text: str) -> str:
    """Return the supported language with most function words in the text; English if none is ahead."""
    hits = _count(list_words(text))
    best = max(hits, key=lambda name: (hits[name], name == DEFAULT))
    return best if hits[best] else DEFAULT


def list_function_words(words: Sequence[str]) -> list[str]:
    """Return the languages that have most function words among the words; none without any."""
    hits = _count(words)
    best = max(hits.values())
    return [name for name, count in hits.items() if count == best] if best else []


def is_function_word(word: str) -> bool:
    """True if a folded word is a function word of a supported language."""
    return word in _ALL


def is_readable(words: Sequence[str]) -> bool:
    """True if the folded words may be a sentence of a supported language."""
    if not words:
        return True
    hits = max(_count(words).values())
    others = max(
        sum(word in known for word in words) for known in load_groups("other_function_words").values()
    )
    english = sum(word in load_english_words() or len(word) == 1 for word in words) / len(words)
    if english >= _MIN_ENGLISH and (hits >= others or english > 0.75):
        return True
    if others > hits:
        return False
    return hits > others or hits >= _MIN_HITS


def _count(words: Sequence[str]) -> dict[str, int]:
    return {name: sum(word in known for word in words) for name, known in _WORDS.items()}
