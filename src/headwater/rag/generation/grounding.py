"""Checks statements that a model words freely against the rows it was given, and drops unsupported ones.

A statement is kept completely or dropped. Rules, in order, each with the name of its count:

- `id`: it names an id that is not among the rows found.
- `uncited`: it names no row.
- `price`: it gives an amount of money that is not a price of the row it names, in the row's currency; or a
  bound that the price breaks.
- `order`: it is an order, an advert, or no prose.
- `attribute`: it has a number that neither the row has, with the same unit, nor the question. Or it gives a
  row the brand, colour or other value of another row. Or it claims what a true-or-false field of it denies.
- `word`: a word of it occurs neither in what may be quoted of the row, nor in the question, nor in a closed
  list.

Decision records 0009 and 0045 describe what this lets through.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from headwater.rag.field_value import FieldValue
from headwater.rag.generation.amounts import is_currency, iter_amounts, iter_measures, read_unit
from headwater.rag.generation.descriptions import Surroundings, is_plain_name, split_sentences
from headwater.rag.generation.languages import is_function_word
from headwater.rag.generation.product import Product, name_in_words
from headwater.rag.generation.sanitizing import clean_text
from headwater.rag.generation.statements import AnswerStatement
from headwater.rag.generation.vocabulary import load_words
from headwater.rag.lexical.analyzer import list_words, stem

Fault = Literal["id", "uncited", "fact", "order", "price", "attribute", "word"]

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
        self._asked = frozenset(value for measure in iter_measures(question) for value in measure.values)
        self._question = _stem_all(question)
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
        fault = self._find_fault(text, rows)
        return GroundingVerdict("" if fault else text, labels, fault)

    def _find_fault(self, text: str, rows: Sequence[Product]) -> Fault | None:
        around = Surroundings(
            frozenset(word for item in rows for word in list_words(f"{item.title} {item.label}")),
            tuple(price for item in rows for _, price in item.iter_prices()),
            next((item.currency for item in rows), None),
        )
        if not self._prices_hold(text, rows):
            return "price"
        # Their amounts were checked, with bounds of the question.
        if not all(is_plain_name(part, around, checks_amounts=False) for part in split_sentences(text)):
            return "order"
        if not (self._numbers_hold(text, rows) and self._values_hold(text, rows)):
            return "attribute"
        return None if self._words_hold(text, rows) else "word"

    def _words_hold(self, text: str, rows: Sequence[Product]) -> bool:
        known = self._question.union(*(_stem_all(words) for words in _iter_words(rows)))
        known = known.union(*(_stem_all(name_in_words(name)) for item in rows for name in item.fields))
        return all(
            word[0].isdigit()
            or stem(word) in known
            or word in load_words("neutral")
            or is_function_word(word)
            or read_unit(word) is not None
            or is_currency(word)
            for word in list_words(text)
        )

    def _prices_hold(self, text: str, rows: Sequence[Product]) -> bool:
        amounts = list(iter_amounts(text))
        prices = [price for item in rows for _, price in item.iter_prices()]
        # In a sentence about rows with different prices, an amount cannot be matched to a row.
        if amounts and len(rows) > 1 and len(set(prices)) > 1:
            return False
        currencies = {item.currency for item in rows}
        for before, readings, currency in amounts:
            if not prices or currency not in {None, *currencies}:
                return False
            if _BELOW.search(before) and self._asked & readings:
                if min(prices) > max(readings):
                    return False
            elif _ABOVE.search(before) and self._asked & readings:
                if max(prices) < min(readings):
                    return False
            elif not any(_is_near(price, value) for price in prices for value in readings):
                return False
        return True

    def _numbers_hold(self, text: str, rows: Sequence[Product]) -> bool:
        known = set(_iter_row_measures(rows))
        plain = {value for value, _ in known} | self._asked
        return all(
            any(
                (value, measure.unit) in known if measure.unit else value in plain for value in measure.values
            )
            for measure in iter_measures(text)
        )

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


def _iter_row_measures(rows: Sequence[Product]) -> Iterator[tuple[float, str | None]]:
    for item in rows:
        for name, value in item.fields.items():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                # `weight_kg` has its unit in its name.
                unit = read_unit(name_in_words(name).rpartition(" ")[2]) or item.currency
                for number in (float(value), round(float(value), 2), round(float(value), 1)):
                    yield number, unit
        for words in (item.label, *_iter_words([item])):
            for measure in iter_measures(words):
                for number in measure.values:
                    yield number, measure.unit


def _stem_all(text: str) -> frozenset[str]:
    return frozenset(map(stem, list_words(text)))


def _is_near(price: float, value: float) -> bool:
    return abs(price - value) <= _TOLERANCE
