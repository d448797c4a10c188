"""`Misfit`, and what its kinds have in common. Pure."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

_LONGEST_VALUE = 40
INTEGERS: Mapping[str, int] = {"byte": 8, "short": 16, "integer": 32, "long": 64}
"""Bits of Spark's types of whole numbers."""
FRACTIONS = frozenset({"float", "double"})


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why a record does not fit. `place` is the field; without one, `fault` concerns the whole record."""

    fault: str
    place: str = ""
    value: str = ""

    def describe(self) -> str:
        """Return the fault with the field's value."""
        return f"{self.place} is {self.value}, {self.fault}" if self.place else self.fault

    def describe_without_value(self) -> str:
        """Return the fault for a text that outlives the record."""
        return f"{self.place} has another value, {self.fault}" if self.place else self.fault


def is_number_type(name: str) -> bool:
    """True for the names of Spark's types of numbers."""
    return name in INTEGERS or name in FRACTIONS or name.startswith("decimal(")


def is_in_range(number: Decimal, name: str) -> bool:
    """True if a finite number is in the range of a type of numbers."""
    if name in INTEGERS:
        limit = 1 << (INTEGERS[name] - 1)
        return -limit <= number < limit
    if name in FRACTIONS:
        return not math.isinf(number)
    precision, scale = map(int, name[8:-1].split(","))
    return abs(number) < Decimal(10) ** (precision - scale)


def to_number(value: object) -> Decimal | None:
    """Return the number; None for other values, and for a text that is no number."""
    if isinstance(value, bool):
        return None
    try:
        return Decimal(str(value))
    except InvalidOperation:
        return None


def show(value: Any) -> str:
    """Return the start of a value as JSON."""
    return shorten(json.dumps(value, ensure_ascii=False))


def shorten(text: str) -> str:
    """Return the start of a text."""
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."
