"""JSON text to values and back, stricter than the standard library's defaults: no NaN, no Infinity."""

import json
import math
from typing import NoReturn

import orjson

from headwater.capture.notifications.outcome import UnusableRecordError

BYTE_ORDER_MARK = "\ufeff"


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _parse_float(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"the number {digits[:40]} is out of range")
    return number


# Built once: json.loads and json.dumps build these anew for each call with other than default options.
_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_parse_float)
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_ASCII_ENCODER = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"))


def parse_json(text: str) -> object:
    """Parse a whole JSON text; one leading byte order mark is ignored.

    Raises:
        UnusableRecordError: `malformed_json`, for whatever the parser did not like.
    """
    try:
        # Not orjson, which makes a float of an integer of more than 64 bits: `raw` would not be what came.
        value: object = _DECODER.decode(text.removeprefix(BYTE_ORDER_MARK))
    except RecursionError:
        raise UnusableRecordError("malformed_json", "nested too deeply") from None
    except ValueError as error:
        raise UnusableRecordError("malformed_json", f"not JSON: {error}") from None
    return value


def to_json(value: object) -> str:
    """Compact JSON text that can always be written as UTF-8.

    Raises:
        UnusableRecordError: `malformed_json`, when the value is nested too deeply to be written.
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
        raise UnusableRecordError("malformed_json", "cannot be written back as JSON") from None
    return text


def is_utf8(text: str) -> bool:
    """False for text with half of a surrogate pair in it: JSON can escape one, UTF-8 cannot hold it."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
