"""`Passage`: a chunk as searches return it, with the stems that ranking compares with a query. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from headwater.rag.field_value import FieldValue
from headwater.rag.lexical.analyzer import list_stems, list_words
from headwater.rag.lexical.languages import Language, get_language
from headwater.rag.lexical.passage_stems import PassageStems, parse_stems, read_stems
from headwater.rag.lexical.sparse import is_keyword, list_keywords

# Common names of a price field, alone or as part of a longer name: sale_price, priceEur.
_PRICE_NAME = re.compile(r"(?:^|[_.])(?:price|cost|amount|eur|usd|gbp)(?:[_.]|$)")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_PRICE_TEXT = re.compile(r"^\D{0,4}(\d+(?:\.\d+)?)\D{0,4}$")
_REMEMBERED = 32_768


@dataclass(frozen=True, slots=True)
class PassageWords:
    """Stems of a passage's text, and of its short fields by name and combined; its price."""

    text: PassageStems
    keywords: Mapping[str, frozenset[str]]
    keyword_stems: frozenset[str]
    price: float | None

    def list_stems(self) -> frozenset[str]:
        """Return all stems of the text and of the short fields."""
        return self.keyword_stems.union(
            self.text.name.split(), self.text.related.split(), self.text.body.split()
        )


@dataclass(frozen=True, eq=False)
class Passage:
    """A found chunk. Equal only to itself: a store may return the same object while the chunk is unchanged.

    `stems` are those of the text, from `write_stems`; empty when the point has none.
    """

    chunk_id: str
    row_key: str
    chunk_number: int
    text: str
    fields: Mapping[str, FieldValue]
    instant: str
    stems: str = ""

    @cached_property
    def words(self) -> PassageWords:
        """Stems and price, which ranking compares; computed once."""
        stems = parse_stems(self.stems) if self.stems else read_stems(self.text)
        keywords = read_keywords(self.fields, get_language(stems.language))
        return PassageWords(
            stems,
            keywords,
            frozenset[str]().union(*keywords.values()),
            read_price(self.fields),
        )

    def list_words(self) -> frozenset[str]:
        """Return the folded words of the text and of the short fields."""
        words = set(list_words(self.text))
        for keyword in list_keywords(self.fields):
            words.update(list_words(keyword))
        return frozenset(word for word in words if word.isalpha())


def read_keywords(fields: Mapping[str, FieldValue], language: Language) -> dict[str, frozenset[str]]:
    """Return the stems of the short texts among the fields."""
    found: dict[str, frozenset[str]] = {}
    for name, value in fields.items():
        if isinstance(value, str):
            if is_keyword(value):
                found[name] = _read_keyword(value, language)
        elif isinstance(value, list):
            found[name] = frozenset().union(
                *(_read_keyword(one, language) for one in value if is_keyword(one))
            )
    return found


def read_price(fields: Mapping[str, FieldValue]) -> float | None:
    """Return the first number in a field with a price name."""
    for name, value in fields.items():
        if _is_price(name):
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                return float(value)
            match = _PRICE_TEXT.match(value) if isinstance(value, str) else None
            if match is not None:
                return float(match.group(1))
    return None


@lru_cache(maxsize=1_024)
def _is_price(name: str) -> bool:
    return _PRICE_NAME.search(_CAMEL.sub("_", name).lower()) is not None


@lru_cache(maxsize=_REMEMBERED)
def _read_keyword(text: str, language: Language) -> frozenset[str]:
    return frozenset(list_stems(text, language))
