"""Checks and conversions of single fields for all formats. `null` and absent are the same."""

from collections.abc import Mapping
from urllib.parse import unquote_plus

from headwater.sources.notifications.json_text import is_utf8
from headwater.sources.notifications.outcome import UnusableRecordError

MAX_SIZE = 2**63 - 1  # what a table's long column holds
_NOTHING: Mapping[str, object] = {}


def quote(value: object) -> str:
    """Return `value` for messages: short, escaped, safe to write and to print."""
    return ascii(value[:80]) if isinstance(value, str) else f"a JSON {type(value).__name__}"


def read_object(parent: Mapping[str, object], name: str) -> Mapping[str, object]:
    """Return the object under `name`, or an empty one, so that its fields are missing."""
    value = parent.get(name)
    return value if isinstance(value, dict) else _NOTHING


def read_text(parent: Mapping[str, object], name: str) -> str:
    """Return the text under `name`.

    Raises:
        UnusableRecordError: `missing_field` if it is absent, empty or not text; `bad_encoding`.
    """
    value = parent.get(name)
    if not isinstance(value, str) or not value:
        state = "missing" if value is None else "empty" if value == "" else "not text"
        raise UnusableRecordError("missing_field", f"{name} is {state}")
    return ensure_utf8(value, name)


def read_optional_text(parent: Mapping[str, object], name: str) -> str | None:
    """Return the text under `name`; None if it is absent or empty.

    Raises:
        UnusableRecordError: `unknown_shape` if it is not text; `bad_encoding`.
    """
    value = parent.get(name)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise UnusableRecordError("unknown_shape", f"{name} is not text")
    return ensure_utf8(value, name)


def ensure_utf8(text: str, name: str) -> str:
    """Return `text`, or raise `UnusableRecordError` (`bad_encoding`) if UTF-8 cannot encode it."""
    if not text.isascii() and not is_utf8(text):
        raise UnusableRecordError("bad_encoding", f"{name} cannot be encoded as UTF-8")
    return text


def decode_form_key(key: str) -> str:
    """Decode the form encoding of a key, once; a `%` without two hex digits stays.

    Raises:
        UnusableRecordError: `bad_encoding` if the escapes are not UTF-8. Replacing them, as
            browsers do, would name another object.
    """
    try:
        return unquote_plus(key, errors="strict")
    except UnicodeDecodeError:
        raise UnusableRecordError("bad_encoding", "the escapes in the key are not UTF-8") from None


def read_size(parent: Mapping[str, object], name: str) -> int | None:
    """Return the size in bytes, sent as a number or as digits; None if it is absent or empty.

    Raises:
        UnusableRecordError: `unknown_shape` if it is anything else, negative or beyond 64 bits.
    """
    value = parent.get(name)
    if value is None or value == "":
        return None
    size = value
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) <= len(str(MAX_SIZE)):
        size = int(value)
    if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size <= MAX_SIZE:
        raise UnusableRecordError("unknown_shape", f"{name} is not a size in bytes")
    return size


def read_etag(parent: Mapping[str, object], name: str) -> str | None:
    """Return the ETag without the quotes that some senders add; a `-N` suffix stays."""
    etag = read_optional_text(parent, name)
    return (etag.strip('"') or None) if etag else None
