"""Finds the field of a JSON record that does not fit the columns. Pure."""

import json
import math
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

_LONGEST_VALUE = 40
_INTEGERS: Mapping[str, int] = {"byte": 8, "short": 16, "integer": 32, "long": 64}
_FRACTIONS = frozenset({"float", "double"})


class _Fraction(str):
    """A number with a point or an exponent, as it is written."""

    __slots__ = ()


def find_misfit(text: str, schema: Mapping[str, Any]) -> str:
    """Return what is wrong with the first field that does not fit; empty if that is unknown.

    `schema` is a struct in the JSON form of Spark's types. Only what fits in no case is reported.
    """
    if not text.lstrip().startswith("{"):
        return ""
    try:
        record = json.loads(text, parse_float=_Fraction, parse_constant=_Fraction)
    except json.JSONDecodeError as error:
        is_cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
        return "its JSON ends too early" if is_cut else ""
    except (ValueError, RecursionError):
        return ""
    return next(_iter_misfits(record, schema, ""), "")


def _iter_misfits(value: Any, kind: Any, place: str) -> Iterator[str]:
    if value is None:
        return
    name = kind["type"] if isinstance(kind, Mapping) else str(kind)
    if name == "struct":
        yield from _iter_struct(value, kind, place)
    elif name == "array":
        if not isinstance(value, list):
            yield f"{place} is {_show(value)}, and its column is an array"
            return
        for at, one in enumerate(value):
            yield from _iter_misfits(one, kind["elementType"], f"{place}[{at}]")
    elif name == "map":
        if not isinstance(value, dict):
            yield f"{place} is {_show(value)}, and its column is a map"
            return
        for key, one in value.items():
            yield from _iter_misfits(one, kind["valueType"], f"{place}[{key!r}]")
    elif fault := _find_fault(value, name):
        yield f"{place} is {_show(value)}, {fault}"


def _iter_struct(value: Any, kind: Mapping[str, Any], place: str) -> Iterator[str]:
    if not isinstance(value, dict):
        # A blob is a struct, and a text in records.
        if not isinstance(value, str):
            yield f"{place} is {_show(value)}, and its column is a struct"
        return
    found = {name.lower(): (name, one) for name, one in value.items()}
    for field in kind["fields"]:
        if field["name"].lower() in found:
            name, one = found[field["name"].lower()]
            yield from _iter_misfits(one, field["type"], f"{place}.{name}" if place else name)


def _find_fault(value: Any, name: str) -> str:
    """Return why a value fits no column of this type; empty if it may fit."""
    if isinstance(value, (dict, list)):
        return "" if name == "string" else f"and its column is {name}"
    if name == "boolean":
        return "" if isinstance(value, bool) else "and its column is boolean"
    if name in _INTEGERS or name in _FRACTIONS or name.startswith("decimal("):
        return _find_number_fault(value, name)
    return ""


def _find_number_fault(value: Any, name: str) -> str:
    number = _to_number(value)
    is_quoted = isinstance(value, str) and not isinstance(value, _Fraction)
    # Spark reads numbers in quotation marks into decimals only, and NaN into the others as well.
    if number is None or (is_quoted and not name.startswith("decimal(") and number.is_finite()):
        return f"and its column has numbers ({name})"
    if not number.is_finite():
        return "" if name in _FRACTIONS else f"and its column has numbers ({name})"
    if name in _INTEGERS and number != number.to_integral_value():
        return f"and its column has whole numbers ({name})"
    return "" if _is_in_range(number, name) else f"which is out of the range of {name}"


def _is_in_range(number: Decimal, name: str) -> bool:
    if name in _INTEGERS:
        limit = 1 << (_INTEGERS[name] - 1)
        return -limit <= number < limit
    if name in _FRACTIONS:
        return not math.isinf(number)
    precision, scale = map(int, name[8:-1].split(","))
    return abs(number) < Decimal(10) ** (precision - scale)


def _to_number(value: Any) -> Decimal | None:
    """Return the number; None for other values, and for a text that is no number."""
    if isinstance(value, bool):
        return None
    try:
        return Decimal(str(value))
    except InvalidOperation:
        return None


def _show(value: Any) -> str:
    text = str(value) if isinstance(value, _Fraction) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}..."
