"""Checks a table's patterns: ones that match nothing, addresses instead of names."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from headwater.config.addresses import ADDRESS
from headwater.config.table.fields import TableFields

_PATTERNS = ("path", "prefix", "ignore_prefix")

KeyProblem = tuple[tuple[str, ...], str]


def iter_pattern_problems(table: TableFields) -> Iterator[KeyProblem]:
    """Yield a table's patterns that can match no key of any source."""
    for key, pattern in _iter_patterns(table):
        address = ADDRESS.fullmatch(pattern)
        if address is not None:
            meant = f", such as {address['rest']!r}" if address["rest"] else ""
            yield (key,), f"{pattern!r} is an address; write a key relative to the source{meant}"
    if table.regex is not None:
        try:
            re.compile(table.regex)
        except re.error as error:
            yield ("regex",), f"{table.regex!r} is not a regular expression: {error}"


def iter_folder_problems(
    folder: Path, tables: Mapping[str, TableFields]
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield patterns that can match no file of a folder: they are relative to it."""
    for name, table in tables.items():
        for key, pattern in _iter_patterns(table):
            if pattern.startswith("/"):
                start = f"{str(folder).rstrip('/')}/"
                inside = pattern.removeprefix(start) if pattern.startswith(start) else ""
                meant = f", such as {inside!r}" if inside else f" {str(folder)!r}"
                text = f"{pattern!r} is absolute; write it relative to the source folder{meant}"
                yield ("tables", name, key), text


def _iter_patterns(table: TableFields) -> Iterator[tuple[str, str]]:
    for key in _PATTERNS:
        given: str | tuple[str, ...] = getattr(table, key)
        yield from ((key, pattern) for pattern in ((given,) if isinstance(given, str) else given))
