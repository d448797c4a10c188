"""Which objects a table takes: patterns that match nothing, addresses where a name is wanted."""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    from headwater.config.table import TableConfig

_ADDRESS = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*):/+(?P<bucket>[^/]*)/*(?P<rest>.*)", re.DOTALL)
_PATTERNS = ("path", "prefix", "ignore_prefix")

KeyProblem = tuple[tuple[str, ...], str]


def check_bucket_name(bucket: str) -> str:
    """The name of a bucket as it is. Raises `ValueError` for an address or a path."""
    if bucket.startswith("arn:"):
        return bucket
    address = _ADDRESS.fullmatch(bucket.strip())
    if address is None:
        name, _, rest = bucket.strip().strip("/").partition("/")
    else:
        name, rest = address["bucket"], address["rest"]
    if name == bucket:
        return bucket
    prefix = f" and `prefix: {rest.rstrip('/')}/`" if rest else ""
    raise ValueError(f"{bucket!r} is not the name of a bucket; write `bucket: {name or 'NAME'}`{prefix}")


def iter_pattern_problems(table: "TableConfig") -> Iterator[KeyProblem]:
    """Patterns of a table that can match no key, whatever the source is."""
    for key, pattern in _iter_patterns(table):
        address = _ADDRESS.fullmatch(pattern)
        if address is not None:
            meant = f", such as {address['rest']!r}" if address["rest"] else ""
            yield (key,), f"{pattern!r} is an address; write keys relative to the source{meant}"
    if table.regex is not None:
        try:
            re.compile(table.regex)
        except re.error as error:
            yield ("regex",), f"{table.regex!r} is not a regular expression: {error}"


def iter_folder_problems(
    folder: "Path", tables: "Mapping[str, TableConfig]"
) -> Iterator[tuple[tuple[str, ...], str]]:
    """Patterns that can match no file of a folder: they are relative to it."""
    for name, table in tables.items():
        for key, pattern in _iter_patterns(table):
            if pattern.startswith("/"):
                start = f"{str(folder).rstrip('/')}/"
                inside = pattern.removeprefix(start) if pattern.startswith(start) else ""
                meant = f", such as {inside!r}" if inside else f" {str(folder)!r}"
                text = f"{pattern!r} begins with `/`; write it relative to the source folder{meant}"
                yield ("tables", name, key), text


def _iter_patterns(table: "TableConfig") -> Iterator[tuple[str, str]]:
    for key in _PATTERNS:
        given: str | tuple[str, ...] = getattr(table, key)
        yield from ((key, pattern) for pattern in ((given,) if isinstance(given, str) else given))
