"""Converts JSON text to values and back, without NaN and Infinity, unlike the standard library."""

import json
import math
from typing import NoReturn

import orjson

from headwater.sources.notifications.outcome import UnusableRecordError

BYTE_ORDER_MARK = "\ufeff"


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _parse_float(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"the number {digits[:40]} is out of range")
    return number


# Built once: with non-default options, json.loads and json.dumps re-create these for each call.
_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_parse_float)
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_ASCII_ENCODER = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"))


def parse_json(text: str) -> object:
    """Parse a whole JSON text; one leading byte order mark is ignored.

    Raises:
        UnusableRecordError: `malformed_json`, for any parser error.
    """
    try:
        # Not orjson, which converts integers of more than 64 bits to float: `raw` would differ from the
        # message.
        value: object = _DECODER.decode(text.removeprefix(BYTE_ORDER_MARK))
    except RecursionError:
        raise UnusableRecordError("malformed_json", "nested too deeply") from None
    except ValueError as error:
        raise UnusableRecordError("malformed_json", f"not JSON: {error}") from None
    return value


def to_json(value: object) -> str:
    """Return compact JSON text that can always be written as UTF-8.

    Raises:
        UnusableRecordError: `malformed_json`, if the value is nested too deeply.
    """
    try:
        return orjson.dumps(value).decode()
    except (TypeError, ValueError):
        pass  # halves of surrogate pairs, integers of more than 64 bits
    try:
        text = _ENCODER.encode(value)
        if not text.isascii() and not is_utf8(text):
            text = _ASCII_ENCODER.encode(value)
    except (RecursionError, ValueError, TypeError):
        raise UnusableRecordError("malformed_json", "cannot be serialized as JSON") from None
    return text


def is_utf8(text: str) -> bool:
    """False for text with half of a surrogate pair: JSON can escape one, UTF-8 cannot encode it."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
