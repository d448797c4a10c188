"""The properties of a table, by headwater's names."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from headwater.lake.options import TABLE_PROPERTY_KEYS

_LINE = re.compile(r"\s*(?P<key>(?:\\.|[^=:\\\s])+)\s*[=:]?\s*(?P<value>.*)")
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))")
_CONTROL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


@dataclass(frozen=True, slots=True)
class TableProperties:
    """`raw` holds all properties by Hudi's keys; the methods take the names of `TABLE_PROPERTY_KEYS`."""

    raw: Mapping[str, str]

    def read(self, name: str, default: str = "") -> str:
        """Return the value, or `default` if it is not set."""
        return self.raw.get(TABLE_PROPERTY_KEYS[name], "") or default

    def read_list(self, name: str) -> tuple[str, ...]:
        """Return the comma-separated values."""
        return tuple(word.strip() for word in self.read(name).split(",") if word.strip())

    def read_flag(self, name: str, *, default: bool = False) -> bool:
        """True if the value is `true`."""
        return self.read(name, str(default)).lower() == "true"

    def read_number(self, name: str, default: int) -> int:
        """Return the value as a number, or `default` if it is not one."""
        text = self.read(name)
        return int(text) if text.isdecimal() else default


def parse_properties(text: str) -> dict[str, str]:
    """Parse Java properties: `key=value` lines, comments, escapes, and lines continued by a backslash."""
    found = {}
    for line in re.sub(r"(?<!\\)((?:\\\\)*)\\\r?\n[ \t]*", r"\1", text).splitlines():
        if line.lstrip().startswith(("#", "!")):
            continue
        parts = _LINE.fullmatch(line)
        if parts:
            found[_unescape(parts["key"])] = _unescape(parts["value"])
    return dict(sorted(found.items()))


def _unescape(text: str) -> str:
    def replace(found: re.Match[str]) -> str:
        return chr(int(found[1], 16)) if found[1] else _CONTROL.get(found[2], found[2])

    return _ESCAPE.sub(replace, text)
