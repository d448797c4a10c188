"""Slices JSON values out of a text without changing them, so that numbers keep their digits."""

import json
import re
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from itertools import repeat
from json.decoder import scanstring  # type: ignore[attr-defined]  # the stubs lack it
from operator import contains
from typing import Any

from headwater.errors import ObjectUnreadableError
from headwater.ingest.formats.markers import MALFORMED, REPEATED_NAME, UNDECODABLE

_BLANKS = re.compile(r"[ \t\r\n]*")
# Only the ends of values matter here. Numbers are not converted (Python rejects very long ones), and Spark
# judges control characters in strings.
_DECODER = json.JSONDecoder(strict=False, parse_int=str, parse_float=str, parse_constant=str)


class RepeatedNameError(ValueError):
    """Raised if an object names a field twice: parsers differ in the value they use."""


def refuse_repeated_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build the dict, or raise RepeatedNameError; an `object_pairs_hook` for decoders."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise RepeatedNameError
    return found


_UNIQUE = json.JSONDecoder(strict=False, object_pairs_hook=refuse_repeated_names)


# A lone surrogate is no character: half an emoji, where a text was truncated.
LONE_SURROGATE = (
    r"\\u[dD][89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])"
    r"|(?<!\\u[dD][89abAB][0-9a-fA-F]{2})\\u[dD][c-fC-F][0-9a-fA-F]{2}"
)
"""A regular expression, also for Java, for texts that may have one; an escaped backslash may match, too."""

_LONE_SURROGATE = re.compile(LONE_SURROGATE)

COMMENT = r"(?:(?://|/\*|#).*)?"
"""A regular expression, also for Java, for an optional comment at the end of a record."""

_NO_MORE = re.compile(rf"\s*,?\s*{COMMENT}\Z", re.DOTALL)


class NumberText(str):
    """A number as written: digits are neither lost nor added."""

    __slots__ = ()


_EXACT = json.JSONDecoder(
    strict=False, parse_int=NumberText, parse_float=NumberText, parse_constant=NumberText
)


@dataclass(frozen=True, slots=True)
class Member:
    """A field's value, with numbers as written, and its text."""

    value: Any
    text: str


def split_object(text: str) -> dict[str, Member]:
    """Return the fields of a JSON object, with the texts of their values.

    Raises `RepeatedNameError`, and `ValueError` or `RecursionError` for any other text.
    """
    position = _skip_blanks(text, 0)
    _expect(text, position, "{")
    position = _skip_blanks(text, position + 1)
    found: dict[str, Member] = {}
    while text[position : position + 1] != "}":
        if found:
            _expect(text, position, ",")
            position = _skip_blanks(text, position + 1)
        _expect(text, position, '"')
        name, end = scanstring(text, position + 1, False)
        position = _skip_blanks(text, end)
        _expect(text, position, ":")
        start = _skip_blanks(text, position + 1)
        value, end = _EXACT.raw_decode(text, start)
        if name in found:
            raise RepeatedNameError
        found[name] = Member(value, text[start:end])
        position = _skip_blanks(text, end)
    if has_more(text, position + 1):
        raise ValueError("text after the object")
    return found


def _expect(text: str, position: int, sign: str) -> None:
    if text[position : position + 1] != sign:
        raise ValueError(f"expected {sign!r} at {position}")


def mark_lone_surrogates(texts: Sequence[str]) -> Sequence[str]:
    """Mark records with a lone surrogate, which Spark would replace with a question mark."""
    if not any(map(contains, texts, repeat("\\u"))):
        return texts
    marked = {at: UNDECODABLE + text for at, text in enumerate(texts) if _has_lone_surrogate(text)}
    return [marked.get(at, text) for at, text in enumerate(texts)] if marked else texts


def _has_lone_surrogate(text: str) -> bool:
    if "\\u" not in text or not _LONE_SURROGATE.search(text):
        return False
    try:
        json.dumps(json.loads(text, strict=False), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    except (ValueError, RecursionError):
        pass
    return False


def mark_ambiguous(texts: Sequence[str]) -> Sequence[str]:
    """Mark records in which an object names a field twice, or that have text after their document.

    Text that is not JSON is left to the parser.
    """
    marked = {at: marker + text for at, text in enumerate(texts) if (marker := _find_marker(text))}
    return [marked.get(at, text) for at, text in enumerate(texts)] if marked else texts


def _find_marker(text: str) -> str:
    body = text if text[:1] == "{" else text.lstrip()
    try:
        end = _UNIQUE.raw_decode(body)[1]
    except RepeatedNameError:
        return REPEATED_NAME
    except (ValueError, RecursionError):
        return ""
    return MALFORMED if has_more(body, end) else ""


def has_more(text: str, end: int) -> bool:
    """True if more than a comma or a comment follows the document that ends there.

    Spark's parser stops after the first document of a text and drops the rest without an error.
    """
    return end < len(text) and not _NO_MORE.match(text, end)


def find_value(text: str, name: str) -> object:
    """Return the value of a field of a record; None if there is no such field, or no record."""
    try:
        found = _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None
    return found.get(name) if isinstance(found, dict) else None


def iter_documents(uri: str, text: str) -> Iterator[str]:
    """Yield the top-level values of a text; arrays give their elements instead.

    Raises ObjectUnreadableError with line and column.
    """
    position = _skip_blanks(text, 0)
    while position < len(text):
        if text[position] == "[":
            position = yield from _iter_elements(uri, text, position)
        else:
            end = _find_end(uri, text, position)
            yield text[position:end]
            position = end
        position = _skip_blanks(text, position)


def _iter_elements(uri: str, text: str, start: int) -> Generator[str, None, int]:
    """Yield the elements of the array at `start`; return the position after it."""
    position = _skip_blanks(text, start + 1)
    if text[position : position + 1] == "]":
        return position + 1
    while True:
        end = _find_end(uri, text, position)
        yield text[position:end]
        position = _skip_blanks(text, end)
        separator = text[position : position + 1]
        if separator == "]":
            return position + 1
        if separator != ",":
            raise _unreadable(
                uri, text, position, "expected ',' or ']'" if separator else "the array is not closed"
            )
        position = _skip_blanks(text, position + 1)


def _find_end(uri: str, text: str, start: int) -> int:
    try:
        return _DECODER.raw_decode(text, start)[1]
    except json.JSONDecodeError as error:
        raise _unreadable(uri, text, error.pos, error.msg) from error
    except RecursionError as error:
        raise _unreadable(uri, text, start, "nested too deeply") from error


def _skip_blanks(text: str, position: int) -> int:
    found = _BLANKS.match(text, position)
    return found.end() if found else position


def _unreadable(uri: str, text: str, position: int, what: str) -> ObjectUnreadableError:
    line = text.count("\n", 0, position) + 1
    column = position - text.rfind("\n", 0, position)
    return ObjectUnreadableError(f"{uri} is not valid JSON at line {line}, column {column}: {what}")
