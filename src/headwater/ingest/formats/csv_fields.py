"""Finds the ends of CSV records and fields by the rules of Spark's parser (univocity).

Fields are sliced, never rewritten: a re-ordered record has the same meaning to Spark's parser. Python's own
csv module has other rules for escapes and for stray quotes.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from headwater.errors import ConfigError
from headwater.ingest.formats.reader_options import ReaderOptions

FieldEnding = Literal["closed", "open", "odd"]


@dataclass(frozen=True)
class CsvDialect:
    """How fields are separated. An empty `quote` disables quoting, an empty `comment` disables comments.

    Strict: a quote inside a quoted field must be doubled. Otherwise Spark's rule for stray quotes applies.
    """

    delimiter: str = ","
    quote: str = '"'
    escape: str = '"'
    comment: str = ""
    skip_leading_blanks: bool = False
    is_strict: bool = False

    @classmethod
    def from_options(cls, options: ReaderOptions) -> "CsvDialect":
        """Build the dialect of Spark's options sep, quote, escape, comment, ignoreLeadingWhiteSpace.

        Without `escape`, quotes are doubled (RFC 4180); Spark's own default is a backslash.
        """
        quote = options.text("quote", default='"').strip("\0")
        escape = options.text("escape", default=quote).strip("\0")
        found = cls(
            delimiter=options.separator("sep", "delimiter", default=","),
            quote=quote,
            escape=escape,
            comment=options.text("comment").strip("\0"),
            skip_leading_blanks=options.flag("ignoreLeadingWhiteSpace"),
            is_strict=bool(quote) and escape == quote and not options.text("unescapedQuoteHandling"),
        )
        for name in ("quote", "escape", "comment"):
            if len(getattr(found, name)) > 1:
                raise ConfigError(
                    f"reader option {name} is {getattr(found, name)!r}", hint="set it to one character"
                )
        return found

    def split(self, record: str) -> list[str]:
        """Return the record's fields unchanged, including quotes."""
        if not self.quote or self.quote not in record:
            return record.split(self.delimiter)
        return [record[start:end] for start, end, _ in self._iter_fields(record)]

    def split_movable(self, record: str) -> list[str] | None:
        """Return the fields if each has the same meaning at any position.

        Returns None for a record with an unclosed quote, or one followed by an escape that would absorb the
        next delimiter.
        """
        if not self.quote or self.quote not in record:
            return record.split(self.delimiter)
        fields = list(self._iter_fields(record))
        if any(ending != "closed" for _, _, ending in fields):
            return None
        return [record[start:end] for start, end, _ in fields]

    def is_complete(self, record: str) -> bool:
        """True if every quoted field of the record ends, and at a delimiter if the dialect is strict."""
        if not self.quote or self.quote not in record or self._complete.fullmatch(record):
            return True
        return not self.is_strict and not self.is_open(record)

    def build_pattern(self, *, is_open: bool = False) -> str:
        """Build a Java regular expression for a whole line that is complete by the strict rules.

        With `is_open`, it matches a line whose last field opens a quote without closing it. Possessive: it
        never backtracks.
        """
        return self._build_pattern("+", is_open=is_open)

    @cached_property
    def _complete(self) -> re.Pattern[str]:
        return re.compile(self._build_pattern("", is_open=False), re.DOTALL)

    def _build_pattern(self, atomic: str, *, is_open: bool) -> str:
        q, d = re.escape(self.quote), re.escape(self.delimiter)
        blanks = rf"(?:(?!{d})[ \t])*{atomic}"
        rest = rf"[^{d}]*{atomic}" if len(self.delimiter) == 1 else rf"(?:(?!{d}).)*{atomic}"
        opening = blanks + q if self.skip_leading_blanks else q
        inside = rf"[^{q}]*{atomic}(?:{q}{q}[^{q}]*{atomic})*{atomic}"
        if self.escape != self.quote:
            e = re.escape(self.escape) if self.escape else ""
            inside = rf"(?:[^{q}{e}]|{e}{q}|{e}{e}|{e}(?![{q}{e}]))*{atomic}" if e else rf"[^{q}]*{atomic}"
        unquoted = rf"(?!{opening}){rest}"
        if is_open:
            return rf"(?s)^(?:(?:{opening}{inside}{q}{rest}|{unquoted}){d})*{atomic}{opening}{inside}$"
        field = rf"(?:{opening}{inside}{q}{blanks}|{unquoted})"
        return rf"{field}(?:{d}{field})*{atomic}"

    def is_open(self, record: str) -> bool:
        """True if the record's last field opens a quote without closing it."""
        if not self.quote or self.quote not in record:
            return False
        return any(ending == "open" for _, _, ending in self._iter_fields(record))

    def closes(self, line: str) -> bool:
        """True if a line that starts inside a quoted field ends outside of any."""
        return self.quote in line and not self.is_open(self.quote + line)

    def unquote(self, field: str) -> str:
        """Return the text of a field without quotes and escapes."""
        text = field.strip()
        if not self.quote or len(text) < 2 or text[0] != self.quote or text[-1] != self.quote:
            return text
        return text[1:-1].replace(self.escape + self.quote, self.quote) if self.escape else text[1:-1]

    def read(self, record: str) -> list[str]:
        """Return the texts of the record's fields."""
        return [self.unquote(field) for field in self.split(record)]

    def _iter_fields(self, record: str) -> Iterator[tuple[int, int, FieldEnding]]:
        start = 0
        while True:
            end, ending = self._scan_field(record, start)
            yield start, end, ending
            if not record.startswith(self.delimiter, end):
                return
            start = end + len(self.delimiter)

    def _scan_field(self, record: str, start: int) -> tuple[int, FieldEnding]:
        """Return the position after the field at `start`."""
        blanks = self._leading_blanks.match(record, start) if self.skip_leading_blanks else None
        opening = blanks.end() if blanks else start
        if not record.startswith(self.quote, opening):
            return self._find_delimiter(record, start), "closed"
        position = opening + 1
        while mark := self._quote_or_escape.search(record, position):
            position = mark.end()
            follower = record[position : position + 1]
            if mark[0] == self.escape and follower and follower in (self.quote, self.escape):
                position += 1
            elif mark[0] == self.quote and (found := self._field_end.match(record, position)):
                return found.start("end"), "closed"
            elif mark[0] == self.quote and follower != self.quote:
                # A stray quote: from here the field counts as unquoted (STOP_AT_DELIMITER).
                end = self._find_delimiter(record, position)
                is_odd = bool(self.escape) and self.escape in record[position:end]
                return end, "odd" if is_odd else "closed"
        return len(record), "open"

    def _find_delimiter(self, record: str, start: int) -> int:
        found = record.find(self.delimiter, start)
        return len(record) if found < 0 else found

    @cached_property
    def _quote_or_escape(self) -> re.Pattern[str]:
        return re.compile("[" + re.escape(self.quote) + re.escape(self.escape) + "]")

    @cached_property
    def _leading_blanks(self) -> re.Pattern[str]:
        return re.compile(rf"(?:(?!{re.escape(self.delimiter)})[ \t])*")

    @cached_property
    def _field_end(self) -> re.Pattern[str]:
        delimiter = re.escape(self.delimiter)
        return re.compile(rf"(?:(?!{delimiter})[ \t])*(?P<end>{delimiter}|\Z)")
