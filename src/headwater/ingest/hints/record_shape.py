"""JSON over several lines, recognized by the first of its lines that is no record. Pure."""

import re

_ONE_A_LINE = "or write one document a line"
PRETTY = f"it looks like JSON documents over several lines; set `options: {{multiLine: true}}`, {_ONE_A_LINE}"
ARRAY = f"it looks like a JSON array over several lines; set `format: json_array`, {_ONE_A_LINE}"

# A line that was truncated ends anywhere; one that was broken on purpose ends where a value does, or begins.
_PRETTY_LINE = re.compile(r'\{|[{\[].*[,{\[]|"(?:[^"\\]|\\.)*"\s*:.*', re.DOTALL)
_ARRAY_LINE = re.compile(r"\[|\[\s*\{.*[,{\[]", re.DOTALL)


def describe_shape(text: str) -> str:
    """A sentence about the first line of an object of which no line is a record; empty for no idea."""
    line = text.strip()
    if _ARRAY_LINE.fullmatch(line):
        return ARRAY
    return PRETTY if _PRETTY_LINE.fullmatch(line) else ""
