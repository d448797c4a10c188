"""Texts as sparse vectors: BM25 weights of words, and trigrams of words for misspelt queries. Pure.

The store applies the IDF of its own points. So nothing here depends on the catalogue, and a text's vectors
are independent of other texts.
"""

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from headwater.rag.field_value import FieldValue
from headwater.rag.lexical.analyzer import ANALYZER_VERSION, detect_language, list_stems, list_words
from headwater.rag.lexical.languages import ENGLISH
from headwater.rag.lexical.passage_stems import split_title, write_stems
from headwater.rag.lexical.sparse_vector import SparseVector

WORDS = "words"
TRIGRAMS = "trigrams"
SPARSE_NAMES = (WORDS, TRIGRAMS)

# A longer field text is prose or an address: users do not search for its words.
_MAX_KEYWORD_CHARACTERS = 48
_MAX_SPELLED_WORDS = 64
_MIN_SPELLED_LETTERS = 4


@dataclass(frozen=True, slots=True)
class Bm25:
    """Weights of a text's parts, and BM25's constants. `lengths` are typical word counts: being fixed, they
    keep a text's vector independent of other texts."""

    title: float = 2.0
    body: float = 1.0
    keywords: float = 1.0
    k1: float = 1.2
    b: float = 0.4
    title_length: float = 8.0
    body_length: float = 60.0


@dataclass(frozen=True, slots=True)
class SparseEncoder:
    """Encodes texts and queries as sparse vectors.

    `encode_passage` depends on the text and on `list_keywords(fields)`. If neither has changed, a point keeps
    its sparse vectors. Prices and other numbers are excluded.
    """

    bm25: Bm25 = Bm25()

    @property
    def fingerprint(self) -> str:
        """Fingerprint everything that changes vectors or stems."""
        return f"analyzer{ANALYZER_VERSION}:{self.bm25}"

    def encode_passage(
        self, text: str, fields: Mapping[str, FieldValue] | None = None
    ) -> dict[str, SparseVector]:
        """Return vectors by name. The first of several lines is the title."""
        title, body = split_title(text)
        keywords = list_keywords(fields or {})
        language = detect_language(text)
        bm25 = self.bm25
        weights: dict[str, float] = {}
        _add_part(weights, list_stems(title, language), bm25.title, bm25.b, bm25.title_length)
        _add_part(weights, list_stems(body, language), bm25.body, bm25.b, bm25.body_length)
        for keyword in keywords:
            _add_part(weights, list_stems(keyword, language), bm25.keywords)
        words = {term: tf * (bm25.k1 + 1) / (tf + bm25.k1) for term, tf in weights.items()}
        spelled = dict.fromkeys(
            word for part in (title, *keywords, body) for word in list_words(part) if _is_spelled(word)
        )
        return {WORDS: build_vector(words), TRIGRAMS: _encode_letters(list(spelled)[:_MAX_SPELLED_WORDS])}

    def encode_stems(self, text: str) -> str:
        """Return the stems that ranking compares; see `parse_stems`."""
        return write_stems(text)

    def encode_query(self, terms: Mapping[str, float]) -> SparseVector:
        """Return stems and weights as a query on `words`."""
        return build_vector(terms)

    def encode_spelling(self, words: Iterable[str]) -> SparseVector:
        """Return folded words as a query on `trigrams`."""
        return _encode_letters(words)


def list_keywords(fields: Mapping[str, FieldValue]) -> list[str]:
    """Return the short texts among the fields: brand, colour, category, tags. Sorted by field name."""
    found: list[str] = []
    for _, value in sorted(fields.items()):
        values = value if isinstance(value, list) else [value]
        found += [one for one in values if isinstance(one, str) and is_keyword(one)]
    return found


def is_keyword(value: str) -> bool:
    """True if the value is short, and neither an address nor a machine code."""
    return 0 < len(value) <= _MAX_KEYWORD_CHARACTERS and "://" not in value and "@" not in value


def _is_spelled(word: str) -> bool:
    return len(word) >= _MIN_SPELLED_LETTERS and word.isalpha() and word not in ENGLISH.stop_words


def _add_part(
    weights: dict[str, float], stems: Sequence[str], weight: float, b: float = 0.0, usual: float = 1.0
) -> None:
    """Add a part's words; `b` is the weight of its length normalisation."""
    norm = 1 - b + b * len(stems) / usual
    for term in stems:
        weights[term] = weights.get(term, 0.0) + weight / norm


def _encode_letters(words: Iterable[str]) -> SparseVector:
    numbers = tuple({number for word in words for number in list_letters(word)})
    return SparseVector(numbers, (1.0,) * len(numbers))


@lru_cache(maxsize=65_536)
def list_letters(word: str) -> tuple[int, ...]:
    """Return the trigram ids of a folded word, including its start and end."""
    padded = f"_{word}_"
    return tuple(_number(padded[start : start + 3]) for start in range(len(padded) - 2))


@lru_cache(maxsize=131_072)
def _number(term: str) -> int:
    return zlib.crc32(term.encode("utf-8", "surrogatepass"))


def build_vector(weights: Mapping[str, float]) -> SparseVector:
    """Return terms and weights by term id."""
    found: dict[int, float] = {}
    for term, weight in weights.items():
        number = _number(term)
        found[number] = found.get(number, 0.0) + weight
    return SparseVector(tuple(found), tuple(found.values()))
