"""The position of a change as one text: texts compare like the values. Pure.

A number is `n`, 38 digits (shifted, so that negative ones are lower), and perhaps a fraction. Another value
is `t` and its text. A null is empty, and so lowest. Parts are joined by tabs, which are lower than any other
character of a part. `ingest/changes/sequence_columns.py` builds the same from typed columns.
"""

from collections.abc import Iterable
from datetime import date, datetime, timezone
from decimal import Decimal, InvalidOperation, localcontext
from math import floor

from headwater.ingest.formats.json_values import NumberText

SEPARATOR = "\t"
SHIFT = 10**37
DIGITS = 38
FRACTION_DIGITS = 9
NUMBER, TEXT = "n", "t"

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_PRECISION = DIGITS + FRACTION_DIGITS


class SequenceError(ValueError):
    """Raised for a value without an order: a list, an object, a flag, or a text with control characters."""


def join_sequence(values: Iterable[object]) -> str:
    """Return the text of the values; empty if all are null. Raises `SequenceError`."""
    parts = [_encode(value) for value in values]
    return SEPARATOR.join(parts) if any(parts) else ""


def _encode(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        raise SequenceError(f"{value} has no order")
    if isinstance(value, NumberText | int | float | Decimal):
        return _encode_number(value)
    if isinstance(value, datetime):
        moment = value if value.tzinfo else value.replace(tzinfo=timezone.utc)
        passed = moment - _EPOCH
        return _encode_number((passed.days * 86_400 + passed.seconds) * 1_000_000 + passed.microseconds)
    if isinstance(value, date):
        return _encode_number((value - _EPOCH.date()).days)
    if not isinstance(value, str) or any(character <= SEPARATOR for character in value):
        raise SequenceError(f"{str(value)[:100]!r} has no order")
    return TEXT + value


def _encode_number(value: str | int | float | Decimal) -> str:
    with localcontext() as context:
        context.prec = _PRECISION + 1
        try:
            number = Decimal(str(value))
            whole = floor(number)
            fraction = number - whole
        except (InvalidOperation, OverflowError, ValueError) as error:
            raise SequenceError(f"{value} has no order") from error
    if not -SHIFT < whole < 9 * SHIFT:
        raise SequenceError(f"{value} has too many digits to be ordered")
    digits = f"{NUMBER}{whole + SHIFT:0{DIGITS}d}"
    return f"{digits}.{int(fraction * 10**FRACTION_DIGITS):0{FRACTION_DIGITS}d}" if fraction else digits
