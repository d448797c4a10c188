"""Checks a model's statements against the rows it was given, and drops claims that the rows do not support.

A statement is kept completely or dropped. Rules, in order, each with the name of its count:

- `id`: it names an id that is not among the rows found.
- `uncited`: it names no row.
- `price`: it gives an amount of money that is not a price of the row it names, or a bound that the price
  breaks.
- `attribute`: it has a number that is neither in the row nor in the question. Or it gives a row the brand,
  colour or other value of another row. Or it claims what a true-or-false field of the row denies.
- `off_topic`: a sentence of it is an order. Or it shares no word with the row's title and values or the
  question, too few with the row's text, and is not a plain sentence. A model that obeys a seller's text
  produces such sentences.

Decision record 0009 describes what this lets through.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from headwater.rag.field_value import FieldValue
from headwater.rag.generation.orders import is_order, split_sentences
from headwater.rag.generation.product import Product
from headwater.rag.generation.sanitizing import clean_text
from headwater.rag.generation.statements import AnswerStatement
from headwater.rag.lexical.analyzer import list_stems
from headwater.rag.lexical.languages import ENGLISH

Fault = Literal["id", "uncited", "price", "attribute", "off_topic"]

_NUMBER = r"\d+(?:[.,\u2019' ]\d{3})*(?:[.,]\d+)?"
_MONEY_SIGN = r"[$€£¥₹]|\b(?:usd|eur|gbp|chf|dollars?|euros?|pounds?|bucks|francs?)\b"
_MONEY = re.compile(rf"(?i)(?:{_MONEY_SIGN})\s*({_NUMBER})|({_NUMBER})\s*(?:{_MONEY_SIGN})")
_PRICED = re.compile(
    rf"(?i)\b(?:costs?|priced? (?:at|is|of)|prices? (?:is|of|:)|sells? for|for only|only)\s+({_NUMBER})\b"
)
_DIGITS = re.compile(r"\d+(?:[.,\u2019']\d+)*")
_BELOW = re.compile(
    r"(?i)\b(?:under|below|less than|cheaper than|up to|at most|within|not more than)\s+\W{0,2}$"
)
_ABOVE = re.compile(r"(?i)\b(?:over|above|more than|at least|from)\s+\W{0,2}$")
_MAKER = re.compile(
    r"\b(?:[Mm]ade by|[Mm]anufactured by|[Bb]rand(?:ed)?(?: is|:)?|[Bb]y|[Ff]rom)\s+([A-Z][\w&-]+)"
)
_DENIAL = re.compile(
    r"(?i)\b(?:not?|isn['\u2019]t|aren['\u2019]t|without|never|no longer|out of|lacks?|un)\W*"
    r"(?:(?:an?|any|really|very|fully|completely|currently|yet|being)\W+){0,2}$"
)
_COLOURS = frozenset(
    [
        "black",
        "white",
        "red",
        "blue",
        "green",
        "yellow",
        "orange",
        "purple",
        "violet",
        "pink",
        "brown",
        "grey",
        "gray",
        "silver",
        "gold",
        "beige",
        "turquoise",
    ]
)
_TOLERANCE = 0.005
_WORD = re.compile(r"[^\W\d_]+")
_MIN_FUNCTION_WORDS = 2
_MIN_SUPPORTED = 3
"""Minimum number of words of the row's text in a sentence that names nothing of the row."""


@dataclass(frozen=True, slots=True)
class GroundingVerdict:
    """The verdict on one statement.

    `text` is the allowed text, plain; `fault` is the reason why nothing is allowed. `labels` are the rows the
    statement is about; `unknown` counts the unknown ids in it.
    """

    text: str
    labels: tuple[str, ...]
    fault: Fault | None = None
    unknown: int = 0


class Grounding:
    """Checks the statements of one answer."""

    def __init__(self, products: Sequence[Product], question: str) -> None:
        self._by_name = {name: item for item in products for name in (item.row.row_key, item.label)}
        self._asked = set(_iter_numbers(question))
        self._question = frozenset(list_stems(question))
        self._values = _collect_values(products)

    def check(self, statement: AnswerStatement) -> GroundingVerdict:
        """Return the part of the statement that is allowed."""
        # Also remove the model's own links and markup.
        text = clean_text(statement.text)
        unknown = sum(name not in self._by_name for name in statement.cited)
        rows = list(
            {
                self._by_name[name].label: self._by_name[name]
                for name in statement.cited
                if name in self._by_name
            }.values()
        )
        labels = tuple(item.label for item in rows)
        if unknown:
            return GroundingVerdict("", labels, "id", unknown)
        if not rows or not text:
            return GroundingVerdict("", labels, "uncited")
        if not self._prices_hold(text, rows):
            return GroundingVerdict("", labels, "price")
        if not (self._numbers_hold(text, rows) and self._values_hold(text, rows)):
            return GroundingVerdict("", labels, "attribute")
        if not all(self._is_on_topic(sentence, rows) for sentence in split_sentences(text)):
            return GroundingVerdict("", labels, "off_topic")
        return GroundingVerdict(text, labels)

    def _is_on_topic(self, sentence: str, rows: Sequence[Product]) -> bool:
        if is_order(sentence):
            return False
        spoken = set(list_stems(sentence))
        named = self._question.union(*(list_stems(_name(item)) for item in rows))
        described = frozenset[str]().union(*(list_stems(item.text) for item in rows))
        if spoken & named or len(spoken & described) >= _MIN_SUPPORTED:
            return True
        return bool(spoken) and _is_plain(sentence)

    def _prices_hold(self, text: str, rows: Sequence[Product]) -> bool:
        amounts = list(_iter_amounts(text))
        prices = [price for item in rows for _, price in item.iter_prices()]
        # In a sentence about rows with different prices, an amount cannot be matched to a row.
        if amounts and len(rows) > 1 and len(set(prices)) > 1:
            return False
        for before, readings in amounts:
            if prices and _BELOW.search(before) and self._asked & readings:
                if min(prices) > max(readings):
                    return False
            elif prices and _ABOVE.search(before) and self._asked & readings:
                if max(prices) < min(readings):
                    return False
            elif prices:
                if not any(_is_near(price, value) for price in prices for value in readings):
                    return False
            elif not readings & set(_iter_row_numbers(rows)):
                return False
        return True

    def _numbers_hold(self, text: str, rows: Sequence[Product]) -> bool:
        known = {*_iter_row_numbers(rows), *self._asked}
        return all(readings & known for _, readings in _iter_readings(_DIGITS, text))

    def _values_hold(self, text: str, rows: Sequence[Product]) -> bool:
        own = " ".join(_iter_words(rows)).casefold()
        spoken = text.casefold()
        for name, values in self._values.items():
            if not any(name in item.fields for item in rows):
                continue
            # Matches `colour: red` and `red`: a value of other rows that this row does not have.
            other_values = (value for value in values if not _has_words(own, value))
            if any(_has_words(spoken, value) for value in other_values):
                return False
        if any(not _has_words(own, maker.casefold()) for maker in _MAKER.findall(text)):
            return False
        return all(_flags_hold(spoken, item.fields) for item in rows)


def _is_plain(sentence: str) -> bool:
    """True for a whole sentence without a name: two function words, and no capital after the first letter."""
    words = _WORD.findall(sentence)
    function_words = sum(word.casefold() in ENGLISH.stop_words for word in words)
    return function_words >= _MIN_FUNCTION_WORDS and "".join(words)[1:].islower()


def _name(item: Product) -> str:
    """Return the words that name a row: its title, its label, and its fields with their names."""
    values = (
        word for value in item.fields.values() for word in (value if isinstance(value, list) else [value])
    )
    return " ".join([item.title, item.label, *item.fields, *map(str, values)])


def _collect_values(products: Sequence[Product]) -> Mapping[str, set[str]]:
    """Collect the short values of text fields over all rows; for colours, all that exist anywhere."""
    found: dict[str, set[str]] = {}
    for item in products:
        for name, value in item.fields.items():
            if value == item.title:
                continue
            for word in value if isinstance(value, list) else [value]:
                if isinstance(word, str) and 2 < len(word) <= 40 and len(word.split()) <= 3:
                    found.setdefault(name, set()).add(word.casefold())
            if re.fullmatch(r"(?i)colou?rs?", name):
                found.setdefault(name, set()).update(_COLOURS)
    return found


def _flags_hold(spoken: str, fields: Mapping[str, FieldValue]) -> bool:
    for name, value in fields.items():
        if not isinstance(value, bool):
            continue
        words = re.sub(r"^(?:is|has)[_ ]", "", name.casefold()).replace("_", "[ -]?")
        for match in re.finditer(rf"(?<!\w){words}(?!\w)", spoken):
            is_denied = bool(_DENIAL.search(spoken[: match.start()]))
            if value == is_denied:
                return False
        if value and words.endswith("stock") and re.search(r"out of stock|sold out", spoken):
            return False
    return True


def _has_words(text: str, words: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(words)}(?!\w)", text) is not None


def _iter_words(rows: Sequence[Product]) -> Iterator[str]:
    for item in rows:
        yield from (item.title, item.text)
        for value in item.fields.values():
            yield from map(str, value if isinstance(value, list) else [value])


def _iter_row_numbers(rows: Sequence[Product]) -> Iterator[float]:
    for item in rows:
        yield from _iter_numbers(item.label)
        for value in item.fields.values():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                yield from (float(value), round(float(value), 2), round(float(value), 1))
    for words in _iter_words(rows):
        yield from _iter_numbers(words)


def _iter_numbers(text: str) -> Iterator[float]:
    for _, readings in _iter_readings(_DIGITS, text):
        yield from readings


def _iter_amounts(text: str) -> Iterator[tuple[str, set[float]]]:
    yield from _iter_readings(_MONEY, text)
    yield from _iter_readings(_PRICED, text)


def _iter_readings(pattern: re.Pattern[str], text: str) -> Iterator[tuple[str, set[float]]]:
    """Yield the text before each number, and its possible values: `1,299` has two."""
    for match in pattern.finditer(text):
        digits = next((group for group in match.groups() if group), None) if match.groups() else match[0]
        yield text[: match.start()], set(_read_number(digits or match[0]))


def _read_number(digits: str) -> Iterator[float]:
    plain = re.sub("[\u2019' ]", "", digits).rstrip(".,")
    head, mark, tail = plain.rpartition("," if plain.rfind(",") > plain.rfind(".") else ".")
    if not mark:
        yield float(plain)
        return
    whole = re.sub(r"[.,]", "", head)
    yield float(f"{whole or 0}.{tail}")
    if len(tail) == 3:
        yield float(f"{whole}{tail}")


def _is_near(price: float, value: float) -> bool:
    return abs(price - value) <= _TOLERANCE
