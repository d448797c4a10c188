"""Texts and fields in a form that PostgreSQL stores: it rejects NUL and lone surrogates. Pure."""

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from headwater.rag.field_value import FieldValue

_MARK = "\ue000"
_REJECTED = re.compile("[\x00\ud800-\udfff\ue000]")
_ESCAPED = re.compile("\ue000([0-9a-f]{4})")
_MAX_INTEGER = 2**63


def escape_text(text: str) -> str:
    """Replace rejected characters, and the mark of a replacement, by mark and code."""
    return _REJECTED.sub(lambda found: f"{_MARK}{ord(found[0]):04x}", text)


def unescape_text(text: str) -> str:
    """Reverse `escape_text`."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text) if _MARK in text else text


def write_fields(fields: Mapping[str, FieldValue]) -> str:
    """Serialise fields as JSON, without nulls."""
    return json.dumps(_convert({name: value for name, value in fields.items() if value is not None}))


def parse_fields(text: str) -> dict[str, FieldValue]:
    """Parse the output of `write_fields`, as PostgreSQL returns it."""
    fields: dict[str, FieldValue] = json.loads(text, parse_int=_parse_integer)
    return _convert(fields, unescape_text) if _MARK in text else fields


def write_value(name: str, value: str | float | bool, *, in_list: bool) -> str:
    """Serialise the fields that contain a row's value, or a list with the value."""
    return json.dumps(_convert({name: [value] if in_list else value}))


def _convert(value: Any, convert: Callable[[str], str] = escape_text) -> Any:
    if isinstance(value, str):
        return convert(value)
    if isinstance(value, dict):
        return {convert(name): _convert(one, convert) for name, one in value.items()}
    return [_convert(one, convert) for one in value] if isinstance(value, (list, tuple)) else value


def _parse_integer(text: str) -> int | float:
    # jsonb returns 1e+20 as digits; fields have no integers of this size.
    number = int(text)
    return number if -_MAX_INTEGER <= number < _MAX_INTEGER else float(text)
