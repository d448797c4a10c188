"""Detects CSV with another separator than the table expects. Pure."""

from collections.abc import Sequence

_SIGNS = (";", "\t", "|")
_LINES = 20


def find_separator(names: Sequence[str], records: Sequence[str]) -> str | None:
    """Return the actual separator if one column holds all fields; None if the separator is right.

    `names` are those of the header, or the fields of the first record of an object without one. A single
    field counts as several if it contains a separator equally often in each record.
    """
    if len(names) != 1 or "," in names[0] or not records:
        return None
    for sign in _SIGNS:
        count = names[0].count(sign)
        if count and all(record.count(sign) == count for record in records[:_LINES]):
            return sign
    return None


def describe_separator(sign: str) -> str:
    """Describe the separator and the option to set."""
    shown = {"\t": "a tab"}.get(sign, f"`{sign}`")
    option = {"\t": '"\\t"'}.get(sign, f"'{sign}'")
    return f"its fields are separated by {shown}; set `options: {{sep: {option}}}`"
