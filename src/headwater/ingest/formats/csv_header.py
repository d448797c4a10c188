"""Detects whether the first record of a CSV object is a header, if option `header` is not set. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from headwater.ingest.formats.csv_fields import CsvDialect
from headwater.ingest.formats.reader_options import ReaderOptions

_TYPED = re.compile(
    r"[-+]?(\d+([.,]\d*)*|\.\d+)([eE][-+]?\d+)?%?"  # numbers
    r"|\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([T ].*)?|\d{1,2}:\d\d.*"  # dates and times
    r"|true|false|nan|[-+]?inf(inity)?",
    re.IGNORECASE,
)
_DELIMITERS = (";", "\t", "|", ",")
_UNNAMED = re.compile(r"_c\d+")


def has_header(
    dialect: CsvDialect, options: ReaderOptions, first_record: str, columns: Sequence[str]
) -> bool:
    """True if the first record of an object is its header: by the option, else by the names of `columns`.

    Without the option, a record is a header if its fields are names and at least half are columns' names.
    """
    if options.text("header"):
        return options.flag("header")
    known = {column.lower() for column in columns}
    names = [name.lower() for name in dialect.read(first_record)]
    found = sum(name in known for name in names)
    is_plain = len(set(names)) == len(names) and not any(map(_is_typed, names))
    return is_plain and found > 0 and len(names) <= 2 * found


def detect_header(dialect: CsvDialect, records: Sequence[str]) -> bool | None:
    """Whether the first of an object's records is a header; None if the records do not show it.

    It is a header if a column has text there and only numbers, dates or booleans below. It is not a header if
    it has such a value itself.
    """
    if not records:
        return None
    first, *rest = (dialect.read(record) for record in records)
    is_for = is_against = False
    for at, text in enumerate(first):
        below = [fields[at] for fields in rest if at < len(fields) and fields[at]]
        if _is_typed(text):
            is_against |= all(map(_is_typed, below))
        elif text and below:
            is_for |= all(map(_is_typed, below))
    return None if is_for == is_against else is_for


def find_other_delimiter(dialect: CsvDialect, records: Sequence[str]) -> str | None:
    """Return the object's likely delimiter if the dialect's own finds only one column in its first line."""
    if not records or len(dialect.split(records[0])) > 1:
        return None
    for delimiter in _DELIMITERS:
        other = replace(dialect, delimiter=delimiter)
        counts = {len(other.split(record)) for record in records}
        if len(counts) == 1 and counts != {1}:
            return delimiter
    return None


def is_unnamed(columns: Sequence[str]) -> bool:
    """True if columns have the names that Spark gives to those of objects without a header."""
    return bool(columns) and all(map(_UNNAMED.fullmatch, columns))


def with_header(options: Mapping[str, str], *, header: bool) -> dict[str, str]:
    """Return the options with `header` set."""
    return {**options, "header": "true" if header else "false"}


def _is_typed(text: str) -> bool:
    return _TYPED.fullmatch(text.strip()) is not None
