"""The records of a CSV text: one per line, or several lines if a quoted field has line ends."""

import re
from collections.abc import Iterator, Sequence

from headwater.ingest.formats.csv_fields import CsvDialect
from headwater.ingest.formats.markers import MALFORMED
from headwater.ingest.formats.text_lines import JAVA_BLANKS, split_lines

_LINE_END = re.compile(r"(\r\n|\n|\r)")


def read_records(
    text: str, dialect: CsvDialect, separator: str = "", *, joins_lines: bool = True
) -> tuple[Sequence[int], list[str]]:
    """Return records that are neither blank nor comments, with the 1-based numbers of their first lines.

    A record with an unclosed quote, or by the strict rules with a stray one, is marked as malformed. Only its
    first line is lost: the lines below it are read as separate records.
    """
    if dialect.quote and dialect.quote in text:
        pairs = list(_iter_records(text, dialect, separator, joins_lines=joins_lines))
        return [n for n, _ in pairs], [record for _, record in pairs]
    lines = split_lines(text, separator)
    kept = [(n, line) for n, line in enumerate(lines, 1) if is_record(line, dialect)]
    if len(kept) == len(lines):
        return range(1, len(lines) + 1), lines
    return [n for n, _ in kept], [line for _, line in kept]


def is_record(line: str, dialect: CsvDialect) -> bool:
    """True if a line is neither blank nor a comment."""
    is_comment = bool(dialect.comment) and line.startswith(dialect.comment)
    return bool(line.strip(JAVA_BLANKS)) and not is_comment


def _iter_records(
    text: str, dialect: CsvDialect, separator: str, *, joins_lines: bool
) -> Iterator[tuple[int, str]]:
    lines, ends = _split(text, separator)
    at = 0
    while at < len(lines):
        line, last = lines[at], at
        if is_record(line, dialect):
            if not dialect.is_complete(line):
                last = _find_last(lines, at, dialect) if joins_lines else at
                line = _join(lines, ends, at, last)
                if not dialect.is_complete(line):
                    line, last = MALFORMED + lines[at], at
            yield at + 1, line
        at = last + 1


def _split(text: str, separator: str) -> tuple[list[str], list[str]]:
    """Return the lines without their ends, and the ends."""
    if separator:
        lines = text.split(separator)
        return lines, [separator] * len(lines)
    if "\r" not in text:
        lines = text.split("\n")
        return lines, ["\n"] * len(lines)
    pieces = _LINE_END.split(text)
    return pieces[::2], [*pieces[1::2], ""]


def _find_last(lines: Sequence[str], first: int, dialect: CsvDialect) -> int:
    """Return the line that closes the open quote of `first`; `first` if there is none."""
    if not dialect.is_open(lines[first]):
        return first
    return next((at for at in range(first + 1, len(lines)) if dialect.closes(lines[at])), first)


def _join(lines: Sequence[str], ends: Sequence[str], first: int, last: int) -> str:
    if first == last:
        return lines[first]
    return "".join(lines[at] + ends[at] for at in range(first, last)) + lines[last]
