"""Detects JSON that spans several lines by its first line that is not a record. Pure."""

import re

_ONE_A_LINE = "or write one document per line"
PRETTY = (
    f"it looks like JSON documents that span several lines; set `options: {{multiLine: true}}`, {_ONE_A_LINE}"
)
ARRAY = f"it looks like a JSON array that spans several lines; set `format: json_array`, {_ONE_A_LINE}"

# A truncated line ends anywhere; a deliberately broken one ends where a value ends or starts.
_PRETTY_LINE = re.compile(r'\{|[{\[].*[,{\[]|"(?:[^"\\]|\\.)*"\s*:.*', re.DOTALL)
_ARRAY_LINE = re.compile(r"\[|\[\s*\{.*[,{\[]", re.DOTALL)


def describe_shape(text: str) -> str:
    """Describe the first line of an object of which no line is a record; empty if the shape is unknown."""
    line = text.strip()
    if _ARRAY_LINE.fullmatch(line):
        return ARRAY
    return PRETTY if _PRETTY_LINE.fullmatch(line) else ""
