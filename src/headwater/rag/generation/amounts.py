"""Finds amounts of money, numbers and measures in a text, in the spellings of several countries. Pure."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from headwater.rag.generation.vocabulary import load_groups
from headwater.rag.lexical import units

_NUMBER = r"\d+(?:[.,\u2019' ]\d{3})*(?:[.,]\d+)?"
_SIGNS = {sign: currency for currency, signs in load_groups("currencies").items() for sign in signs}
_SIGN = "|".join(
    re.escape(sign) if not sign.isalpha() else rf"\b{sign}\b"
    for sign in sorted(_SIGNS, key=len, reverse=True)
)
_MONEY = re.compile(
    rf"(?i)(?P<before>{_SIGN})\s*(?P<after_sign>{_NUMBER})|(?P<number>{_NUMBER})\s*(?P<after>{_SIGN})"
)
_UNIT = "|".join(sorted(units.SPELLINGS, key=lambda word: (-len(word), word)))
_PRICED = re.compile(
    r"(?i)\b(?:costs?|kostet|co\u00fbte|cuesta|costa|kost|priced? (?:at|is|of)|prices? (?:is|of|:)|"
    rf"sells? for|for only|only)\s+(?P<number>{_NUMBER})(?![\w%]| ?(?:{_UNIT})\b)"
)
_DIGITS = re.compile(r"(?P<number>\d+(?:[.,\u2019']\d+)*)(?:[ -]?(?P<unit>[^\W\d_]+|%|\u00b0))?")


_FURTHER_UNITS = {word: unit for unit, words in load_groups("units").items() for word in words}


class Amount(NamedTuple):
    """An amount of money: the text before it, its possible values, and its currency, if one is named."""

    before: str
    values: frozenset[float]
    currency: str | None


class Measure(NamedTuple):
    """A number with its possible values, and its unit, if it has one that is known."""

    values: frozenset[float]
    unit: str | None


def iter_amounts(text: str) -> Iterator[Amount]:
    """Yield the amounts of money in a text: with a currency, or after a word for a price."""
    for match in _MONEY.finditer(text):
        number, sign = match["after_sign"] or match["number"], match["before"] or match["after"]
        yield Amount(text[: match.start()], read_number(number), _SIGNS[sign.lower()])
    for match in _PRICED.finditer(text):
        yield Amount(text[: match.start()], read_number(match["number"]), None)


def iter_measures(text: str) -> Iterator[Measure]:
    """Yield the numbers of a text with their units."""
    for match in _DIGITS.finditer(text):
        unit = (match["unit"] or "").lower()
        yield Measure(read_number(match["number"]), read_unit(unit))


def is_currency(word: str) -> bool:
    """True if a folded word names a currency."""
    return word in _SIGNS


def read_unit(word: str) -> str | None:
    """Return the unit that a word stands for, in its short form; None if it is none."""
    return units.name_unit(word.lower()) or _FURTHER_UNITS.get(word.lower())


def read_number(digits: str) -> frozenset[float]:
    """Return the possible values of a number: `1,299` has two."""
    plain = re.sub("[\u2019' ]", "", digits).rstrip(".,")
    head, mark, tail = plain.rpartition("," if plain.rfind(",") > plain.rfind(".") else ".")
    if not mark:
        return frozenset({float(plain)})
    whole = re.sub(r"[.,]", "", head)
    readings = {float(f"{whole or 0}.{tail}")}
    if len(tail) == 3:
        readings.add(float(f"{whole}{tail}"))
    return frozenset(readings)
