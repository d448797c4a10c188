"""Finds the field of a JSON record that does not fit the columns. Pure."""

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from headwater.ingest.misfits.misfit import (
    FRACTIONS,
    INTEGERS,
    Misfit,
    is_in_range,
    is_number_type,
    shorten,
    show,
    to_number,
)

# Texts that Spark reads as numbers.
_NOT_FINITE = frozenset({"NaN", "INF", "+INF", "-INF", "Infinity", "+Infinity", "-Infinity"})


class _Fraction(str):
    """A number with a point or an exponent, as it is written."""

    __slots__ = ()


class _QuotedNumber(str):
    """A text in a column that takes numbers in quotes."""

    __slots__ = ()


def find_json_misfit(text: str, schema: Mapping[str, Any], quoted: Collection[str] = ()) -> Misfit | None:
    """Return what is wrong with the first field that does not fit; None if that is unknown.

    `schema` is a struct in the JSON form of Spark's types. The columns `quoted` take numbers in quotes, too.
    Only what fits in no case is reported.
    """
    if not text.lstrip().startswith("{"):
        return None
    try:
        record = json.loads(text, parse_float=_Fraction, parse_constant=_Fraction)
    except json.JSONDecodeError as error:
        is_cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
        return Misfit("its JSON ends too early") if is_cut else None
    except (ValueError, RecursionError):
        return None
    names = {name.lower() for name in quoted}
    record = {name: _mark(value) if name.lower() in names else value for name, value in record.items()}
    return next(_iter_misfits(record, schema, ""), None)


def _mark(value: Any) -> Any:
    return _QuotedNumber(value) if isinstance(value, str) and not isinstance(value, _Fraction) else value


def _iter_misfits(value: Any, kind: Any, place: str) -> Iterator[Misfit]:
    if value is None:
        return
    name = kind["type"] if isinstance(kind, Mapping) else str(kind)
    if name == "struct":
        yield from _iter_struct(value, kind, place)
    elif name == "array":
        if not isinstance(value, list):
            yield Misfit("and its column is an array", place, _show(value))
            return
        for at, one in enumerate(value):
            yield from _iter_misfits(one, kind["elementType"], f"{place}[{at}]")
    elif name == "map":
        if not isinstance(value, dict):
            yield Misfit("and its column is a map", place, _show(value))
            return
        for key, one in value.items():
            yield from _iter_misfits(one, kind["valueType"], f"{place}[{key!r}]")
    elif fault := _find_fault(value, name):
        yield Misfit(fault, place, _show(value))


def _iter_struct(value: Any, kind: Mapping[str, Any], place: str) -> Iterator[Misfit]:
    if not isinstance(value, dict):
        # A blob is a struct, and a text in records.
        if not isinstance(value, str):
            yield Misfit("and its column is a struct", place, _show(value))
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
    if is_number_type(name):
        return _find_number_fault(value, name)
    return ""


def _find_number_fault(value: Any, name: str) -> str:
    number = to_number(value)
    is_quoted = isinstance(value, str) and not isinstance(value, (_Fraction, _QuotedNumber))
    # Spark itself reads numbers in quotation marks into decimals only, and NaN into the others as well.
    if number is None or (is_quoted and not name.startswith("decimal(") and number.is_finite()):
        return f"and its column has numbers ({name})"
    if not number.is_finite():
        return "" if name in FRACTIONS and value in _NOT_FINITE else f"and its column has numbers ({name})"
    if name in INTEGERS and number != number.to_integral_value():
        return f"and its column has whole numbers ({name})"
    return "" if is_in_range(number, name) else f"which is out of the range of {name}"


def _show(value: Any) -> str:
    return shorten(str(value)) if isinstance(value, _Fraction) else show(value)
