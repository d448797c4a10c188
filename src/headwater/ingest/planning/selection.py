"""Selects the keys of a table, and parses the values in their paths. Pure."""

import re
from collections.abc import Callable, Sequence
from urllib.parse import unquote

from wcmatch import glob

from headwater.config.table import TableConfig

_GLOB_FLAGS = glob.GLOBSTAR | glob.BRACE | glob.DOTGLOB | glob.FORCEUNIX | glob.CASE

# In a glob, dots are path navigation; in a key they are ordinary names. The library's `$` also matches them
# before a line end.
_DOT_PART = re.compile(r"(?<![^/])\.{1,2}(?=/|\n?\Z)")

# Where a glob may match other text than itself: wildcards, braces and escapes; dot parts, as above; slashes,
# which the library merges.
_NOT_LITERAL = re.compile(r"[*?\[{\\]|(?<![^/])\.{1,2}(?=/|\n?\Z)|//|\Z")

KeySelector = Callable[[str], str | None]
"""Key below the source's prefix -> None if it belongs to the table, else the rule that excludes it."""


def build_selector(table: TableConfig) -> KeySelector:
    """Compile a table's filters. The first matching rule is the one reported."""
    globs = compile_globs(table.path)
    regex = re.compile(table.regex) if table.regex else None

    def find_excluding_rule(key: str) -> str | None:
        # Globs are relative: a leading slash is part of the name, as in S3.
        if not any(matches(pattern, key) for pattern in globs):
            return "path"
        if not key.startswith(table.prefix):
            return "prefix"
        if table.suffix and not key.endswith(tuple(table.suffix)):
            return "suffix"
        if regex and not regex.fullmatch(key):
            return "regex"
        if table.ignore_prefix and key.startswith(tuple(table.ignore_prefix)):
            return "ignore_prefix"
        if any(part in key for part in table.ignore_substring):
            return "ignore_substring"
        return None

    return find_excluding_rule


def compile_globs(paths: Sequence[str]) -> list[re.Pattern[str]]:
    """Compile globs for `matches`."""
    return [re.compile(pattern) for pattern in glob.translate(list(paths), flags=_GLOB_FLAGS)[0]]


def find_beginnings(paths: Sequence[str]) -> tuple[str, ...]:
    """Return texts of which one begins each key that a glob matches; one may be empty."""
    return tuple({_NOT_LITERAL.split(path, 1)[0] for path in paths})


def matches(pattern: re.Pattern[str], key: str) -> bool:
    """True if a compiled glob matches the key."""
    if pattern.fullmatch(key):
        return True
    # The library's wildcards never match the parts `.` and `..`, but other names of the same length. No glob
    # names this character: Unicode leaves it without a meaning.
    named = _DOT_PART.sub(lambda part: "\ue000" * len(part[0]), key)
    return named != key and pattern.fullmatch(named) is not None


def parse_partition_values(key: str, columns: tuple[str, ...]) -> dict[str, str | None]:
    """Return values of a key's `name=value` folders, percent-decoded as by Hive; None if absent."""
    found: dict[str, str] = {}
    for part in key.split("/")[:-1]:
        name, separator, value = part.partition("=")
        if separator and name not in found:
            found[name] = unquote(value)
    return {
        column: None if found.get(column) == "__HIVE_DEFAULT_PARTITION__" else found.get(column)
        for column in columns
    }
