"""Texts as sparse vectors: BM25's weights of words, and letters of words for mistyped queries. Pure.

The store multiplies with the IDF of its own points, so nothing here is of the catalogue, and a text has the
same vectors whatever else is indexed.
"""

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from headwater.rag.lexical.analyzer import ANALYZER_VERSION, analyze, fold, list_stems
from headwater.rag.lexical.english import STOP_WORDS
from headwater.rag.vector_stores.protocol import FieldValue, SparseVector

WORDS = "words"
TRIGRAMS = "trigrams"
SPARSE_NAMES = (WORDS, TRIGRAMS)

# A field's text that is longer is prose, or an address: not what somebody asks for by its word.
_MAX_KEYWORD_CHARACTERS = 48
_MAX_SPELLED_WORDS = 64
_MIN_SPELLED_LETTERS = 4


@dataclass(frozen=True, slots=True)
class Bm25:
    """Weights of a text's parts, and BM25's constants. `lengths` are usual numbers of words: with fixed ones
    a text's vector never changes because of other texts."""

    title: float = 2.0
    body: float = 1.0
    keywords: float = 1.0
    k1: float = 1.2
    b: float = 0.4
    title_length: float = 8.0
    body_length: float = 60.0


@dataclass(frozen=True, slots=True)
class SparseEncoder:
    """`encode_passage` hangs on the text and on `list_keywords(fields)`: when neither changed, a point keeps
    its sparse vectors. Prices and other numbers are not among them."""

    bm25: Bm25 = Bm25()

    @property
    def fingerprint(self) -> str:
        """Of everything that changes vectors."""
        return f"analyzer{ANALYZER_VERSION}:{self.bm25}"

    def encode_passage(
        self, text: str, fields: Mapping[str, FieldValue] | None = None
    ) -> dict[str, SparseVector]:
        """Vectors by name. The first line of several is the title."""
        title, body = split_title(text)
        keywords = list_keywords(fields or {})
        weights: Counter[str] = Counter()
        self._add(weights, list_stems(title), self.bm25.title, self.bm25.title_length)
        self._add(weights, list_stems(body), self.bm25.body, self.bm25.body_length)
        for keyword in keywords:
            self._add(weights, list_stems(keyword), self.bm25.keywords, 0)
        k1 = self.bm25.k1
        words = {term: tf * (k1 + 1) / (tf + k1) for term, tf in weights.items()}
        spelled = list(dict.fromkeys(_list_spelled(" ".join((title, *keywords, body)))))
        return {WORDS: build_vector(words), TRIGRAMS: _encode_letters(spelled[:_MAX_SPELLED_WORDS])}

    def encode_query(self, terms: Mapping[str, float]) -> SparseVector:
        """Stems and their weights as a query on `words`."""
        return build_vector(terms)

    def encode_spelling(self, words: Iterable[str]) -> SparseVector:
        """Folded words as a query on `trigrams`."""
        return _encode_letters(words)

    def _add(self, weights: "Counter[str]", stems: Sequence[str], weight: float, usual: float) -> None:
        if not stems:
            return
        b = self.bm25.b if usual else 0
        norm = 1 - b + b * len(stems) / (usual or 1)
        for term, count in Counter(stems).items():
            weights[term] += weight * count / norm  # type: ignore[assignment]


def split_title(text: str) -> tuple[str, str]:
    """The first line and the rest; a single line is all body."""
    title, line, body = text.partition("\n")
    return (title, body) if line else ("", text)


def list_keywords(fields: Mapping[str, FieldValue]) -> list[str]:
    """Short texts among the fields: brand, colour, category, tags. Sorted by their fields' names."""
    found: list[str] = []
    for _, value in sorted(fields.items()):
        values = value if isinstance(value, list) else [value]
        found += [one for one in values if isinstance(one, str) and is_keyword(one)]
    return found


def is_keyword(value: str) -> bool:
    """Whether it is short, and no address or code for machines."""
    return 0 < len(value) <= _MAX_KEYWORD_CHARACTERS and "://" not in value and "@" not in value


def _list_spelled(text: str) -> list[str]:
    return [
        term.word
        for term in analyze(text)
        if len(term.word) >= _MIN_SPELLED_LETTERS and term.word.isalpha() and term.word not in STOP_WORDS
    ]


def _encode_letters(words: Iterable[str]) -> SparseVector:
    grams: dict[str, float] = {}
    for word in words:
        padded = f"_{fold(word)}_"
        for start in range(len(padded) - 2):
            grams[padded[start : start + 3]] = 1.0
    return build_vector(grams)


def build_vector(weights: Mapping[str, float]) -> SparseVector:
    """Terms and weights by the terms' numbers."""
    found: dict[int, float] = {}
    for term, weight in weights.items():
        number = zlib.crc32(term.encode("utf-8", "surrogatepass"))
        found[number] = found.get(number, 0.0) + weight
    return SparseVector(tuple(found), tuple(found.values()))
