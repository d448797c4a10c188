"""Selects what may be quoted of a seller's text: sentences that describe a product in plain words.

The rule is positive. A sentence is quotable if all of this holds:

- it consists of words, numbers and the punctuation of prose, in a script of the question or Latin;
- it is readable: words of a supported language, not encoded, not spaced, not shouted;
- its names are those of its row, common words, or well-known standards and brands;
- its amounts of money are prices of its row;
- it neither gives an order nor advertises (`orders.py`).

A row with one order in its texts is not quoted at all: its seller does not describe a product.
Titles and short values follow the same rule, except that they are names themselves.
"""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from headwater.rag.disguises import is_disguised
from headwater.rag.generation.amounts import iter_amounts, iter_measures
from headwater.rag.generation.known_names import is_acronym, is_known_name
from headwater.rag.generation.languages import is_function_word, is_readable, list_function_words
from headwater.rag.generation.orders import find_purpose
from headwater.rag.generation.sanitizing import REMOVED
from headwater.rag.generation.vocabulary import load_words
from headwater.rag.lexical.analyzer import list_words, stem

Flaw = Literal["order", "advert", "symbol", "script", "disguise", "name", "language", "amount", "length"]
MAX_SENTENCE_CHARACTERS = 400
_BREAK = re.compile(
    r"(?<=[.!?\u2026])[\"')\]\u201d\u2019]*\s+|(?<=[\u3002\uff01\uff1f])|\n+|\s+[\u2022\u2023\u25aa\u25cf]\s+"
)
_NO_BREAK = re.compile(
    r"\b(?:approx|incl|max|min|no|nr|ca|z\.B|bzw|inkl|e\.g|i\.e|vol|dia|St|Dr)\.$", re.IGNORECASE
)
# Only what prose has: no brackets, braces, backslashes, underscores or arrows.
_PUNCTUATION = frozenset(
    " .,;:!?'\"()/%&+-$\u2019\u201d\u2033\u2032\u00b0\u2010\u2011\u2013\u2014\u2026\u00d7\u00ae\u2122"
    "\u20ac\u00a3\u00bf\u00a1\u00b1\u2248\u00b7\u03a9\u00b5\u03bc"
)
_INCHES = re.compile(r"(?<=[\d\u00bd\u00bc\u00be])\s?[\"\u201d\u2033]")
_APOSTROPHE = re.compile(r"(?<=\w)['\u2019](?=\w|\s|$)|\b['\u2019]n['\u2019]?\b")
_QUOTES = re.compile(r"[\"'\u2019\u201d\u201c\u201e\u2033\u2032\u00ab\u00bb]")
_WORD = re.compile(r"[^\W\d_]+(?:[-'\u2019][^\W\d_]+)*")
_TITLE_PART = re.compile(r"\s+[-\u2013\u2014|/]\s+|[,;:(]|[.!?]\s")
_MIN_NAME = 3
_MAX_LABEL_WORDS = 5
_REMEMBERED = 16_384
_MAX_VALUE_WORDS = 8


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a sentence may refer to: the folded words of its row's title and values and of the question, and
    the row's prices. `scripts` are those of the question."""

    names: frozenset[str] = frozenset()
    prices: tuple[float, ...] = ()
    currency: str | None = None
    scripts: frozenset[str] = frozenset()


def split_sentences(text: str) -> list[str]:
    """Return the sentences of a text, each with its end."""
    found: list[str] = []
    for part in _BREAK.split(text):
        if found and _NO_BREAK.search(found[-1]):
            found[-1] = f"{found[-1]} {part.strip()}"
        elif part.strip():
            found.append(part.strip())
    return found


def select_sentences(text: str, around: Surroundings) -> tuple[str, ...]:
    """Return the sentences that may be quoted; none if one of them is an order."""
    judged = [(sentence, find_flaw(sentence, around)) for sentence in split_sentences(text)]
    if any(flaw == "order" for _, flaw in judged):
        return ()
    return tuple(dict.fromkeys(sentence for sentence, flaw in judged if flaw is None))


@lru_cache(maxsize=_REMEMBERED)
def find_flaw(sentence: str, around: Surroundings) -> Flaw | None:
    """Return why a sentence must not be quoted, or None."""
    # First, since the time for all other rules grows with the length.
    if len(sentence) > MAX_SENTENCE_CHARACTERS:
        return "length"
    flaw = find_purpose(sentence) or _find_form_flaw(sentence, around)
    if flaw:
        return flaw
    # Other scripts are read only if the question is in them.
    if not _list_scripts(sentence) and not _is_understood(sentence, around):
        return "language"
    if any(_iter_unknown_names(sentence, around)):
        return "name"
    return None if _amounts_hold(sentence, around) else "amount"


def _is_understood(sentence: str, around: Surroundings) -> bool:
    words = [word for word in list_words(sentence) if not word[0].isdigit()]
    unnamed = [word for word in words if word not in around.names]
    if len(set(words)) > 1 and is_readable(unnamed):
        return True
    # "Istruzioni incluse" has no function word.
    return len(words) <= _MAX_LABEL_WORDS and is_descriptive(sentence, around)


def is_descriptive(sentence: str, around: Surroundings) -> bool:
    """True if a sentence has a measure, or a word of its row, or one for a material, part, property or use.

    A sentence of other words may be a message to whoever repeats it.
    """
    return _has_word(sentence, _list_descriptive_stems() | around.names) or _has_measure(sentence)


def is_about(sentence: str, question: str) -> bool:
    """True if a sentence has a word of the question, or a measure."""
    return _has_word(sentence, _list_stems(question)) or _has_measure(sentence)


def _has_word(sentence: str, known: frozenset[str]) -> bool:
    words = (word for word in list_words(sentence) if not is_function_word(word))
    return any(stem(word) in known or word in known for word in words)


def _has_measure(sentence: str) -> bool:
    if any(measure.unit for measure in iter_measures(sentence)):
        return True
    return any(word.isupper() and len(word) > 2 and is_acronym(word) for word in _WORD.findall(sentence))


@lru_cache(maxsize=256)
def _list_stems(text: str) -> frozenset[str]:
    return frozenset(stem(word) for word in list_words(text) if not is_function_word(word))


@lru_cache(maxsize=1)
def _list_descriptive_stems() -> frozenset[str]:
    return frozenset(map(stem, load_words("descriptive")))


@lru_cache(maxsize=_REMEMBERED)
def is_plain_name(text: str, around: Surroundings, *, checks_amounts: bool = True) -> bool:
    """True if a title or a short value may be shown as it is."""
    return (
        any(character.isalnum() for character in text)
        and find_purpose(text) is None
        and _find_form_flaw(text, around) is None
        and (not checks_amounts or _amounts_hold(text, around))
    )


def is_plain_value(text: str, around: Surroundings) -> bool:
    """True if a value of a field may be shown as it is: a short name."""
    return len(text.split()) <= _MAX_VALUE_WORDS and is_plain_name(text, around)


def select_name(title: str, around: Surroundings, *, is_trusted: bool) -> str:
    """Return the title, or the longest beginning of it that is a plain name; empty if there is none.

    In a row with an order, shouted and unknown words are not names either.
    """
    ends = [len(title), *(match.start() for match in reversed(list(_TITLE_PART.finditer(title))))]
    for end in ends:
        part = title[:end].strip()
        if is_plain_name(part, around) and (is_trusted or not any(_iter_unknown_names(part, around))):
            return part
    return ""


def list_question_scripts(question: str) -> frozenset[str]:
    """Return the scripts of the question's letters, besides Latin."""
    return frozenset(_list_scripts(question))


def _find_form_flaw(text: str, around: Surroundings) -> Flaw | None:
    if REMOVED in text or not _is_prose(text):
        return "symbol"
    if not all(_is_known_script(word, around.scripts) for word in re.findall(r"[^\W\d_]+", text)):
        return "script"
    unnamed = " ".join(word for word in text.split() if not _is_named(word, around))
    return "disguise" if is_disguised(unnamed) else None


def _is_prose(text: str) -> bool:
    if not all(character.isalnum() or character in _PUNCTUATION for character in text):
        return False
    # Quotation marks set off words that are not the seller's own; inches and apostrophes stay.
    return not _QUOTES.search(_APOSTROPHE.sub("", _INCHES.sub("", text)))


def _is_known_script(word: str, scripts: frozenset[str]) -> bool:
    if word.isascii():
        return True
    if all(_is_latin(character) for character in word):
        return True
    # Greek letters alone are units: ohm, micro.
    found = {_name_script(character) for character in word}
    return (len(word) == 1 and word in "\u03a9\u00b5\u03bc") or (found <= scripts and "LATIN" not in found)


def _is_latin(character: str) -> bool:
    # Not the phonetic and other extensions, which contain look-alikes of all letters.
    return character.isascii() or "\u00c0" <= character <= "\u017f" or character in "\u0218\u0219\u021a\u021b"


def _list_scripts(text: str) -> set[str]:
    return {_name_script(one) for one in text if one.isalpha() and not _is_latin(one)}


def _name_script(character: str) -> str:
    name = unicodedata.name(character, "").partition(" ")[0]
    # Japanese is written in three scripts.
    return "CJK" if name in {"HIRAGANA", "KATAKANA", "CJK", "KATAKANA-HIRAGANA"} else name


def _is_named(word: str, around: Surroundings) -> bool:
    return bool(around.names) and all(part in around.names for part in list_words(word))


def _iter_unknown_names(sentence: str, around: Surroundings) -> Iterator[str]:
    """Yield words in capitals, and capitalised words inside a sentence, that name nothing known."""
    is_german = "de" in list_function_words(list_words(sentence))
    for match in _WORD.finditer(sentence):
        for word in re.split(r"[-'\u2019]", match[0]):
            if len(word) < _MIN_NAME or word.islower() or _is_named(word, around):
                continue
            is_first = not re.search(r"[^\W_]", sentence[: match.start()]) or re.search(
                r"[.:!?]\W*$", sentence[: match.start()]
            )
            if word.isupper():
                if not is_acronym(word):
                    yield word
            elif not word[1:].islower():
                if not is_known_name(word):
                    yield word
            elif not is_first and not is_german and not is_known_name(word):
                yield word


def _amounts_hold(sentence: str, around: Surroundings) -> bool:
    return all(
        any(abs(price - value) < 0.005 for price in around.prices for value in amount.values)
        and amount.currency in {None, around.currency}
        for amount in iter_amounts(sentence)
    )


def list_named_words(texts: Sequence[str]) -> frozenset[str]:
    """Return the folded words of the texts, for `Surroundings.names`."""
    return frozenset(word for text in texts for word in list_words(text))
