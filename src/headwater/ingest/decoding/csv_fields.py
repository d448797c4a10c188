"""Where a CSV record ends and where its fields do, by the rules of Spark's parser (univocity).

Fields are sliced, never rewritten: a re-ordered record means to Spark's parser what it meant before.
Python's own csv module has other rules for escapes and for stray quotes.
"""

import re
from dataclasses import dataclass
from functools import cached_property

from headwater.errors import ConfigError
from headwater.ingest.decoding.reader_options import ReaderOptions


@dataclass(frozen=True)
class CsvDialect:
    """How fields are told apart. An empty `quote` turns quoting off, an empty `comment` comments."""

    delimiter: str = ","
    quote: str = '"'
    escape: str = "\\"
    comment: str = ""
    skip_leading_blanks: bool = False

    @classmethod
    def from_options(cls, options: ReaderOptions) -> "CsvDialect":
        """The dialect that Spark's options sep, quote, escape, comment, ignoreLeadingWhiteSpace mean."""
        found = cls(
            delimiter=options.separator("sep", "delimiter", default=","),
            quote=options.text("quote", default='"').strip("\0"),
            escape=options.text("escape", default="\\").strip("\0"),
            comment=options.text("comment").strip("\0"),
            skip_leading_blanks=options.flag("ignoreLeadingWhiteSpace"),
        )
        for name in ("quote", "escape", "comment"):
            if len(getattr(found, name)) > 1:
                raise ConfigError(
                    f"reader option {name} is {getattr(found, name)!r}", hint="give one character"
                )
        return found

    def split(self, record: str) -> list[str]:
        """The record's fields as they stand, quotes included."""
        if not self.quote or self.quote not in record:
            return record.split(self.delimiter)
        fields, start = [], 0
        while True:
            end = self._find_field_end(record, start)
            fields.append(record[start:end])
            if not record.startswith(self.delimiter, end):
                return fields
            start = end + len(self.delimiter)

    def is_open(self, record: str) -> bool:
        """Whether the record's last field opens a quote and does not close it."""
        if not self.quote or self.quote not in record:
            return False
        start = 0
        while True:
            field_end, is_closed = self._scan_field(record, start)
            if not is_closed:
                return True
            if not record.startswith(self.delimiter, field_end):
                return False
            start = field_end + len(self.delimiter)

    def closes(self, line: str) -> bool:
        """Whether a line that begins inside a quoted field ends outside of any."""
        return self.quote in line and not self.is_open(self.quote + line)

    def unquote(self, field: str) -> str:
        """The text of a field: quotes and escapes taken off."""
        text = field.strip()
        if not self.quote or len(text) < 2 or text[0] != self.quote or text[-1] != self.quote:
            return text
        return text[1:-1].replace(self.escape + self.quote, self.quote) if self.escape else text[1:-1]

    def _find_field_end(self, record: str, start: int) -> int:
        return self._scan_field(record, start)[0]

    def _scan_field(self, record: str, start: int) -> tuple[int, bool]:
        """The position behind the field at `start`, and False when its quote is never closed."""
        blanks = self._leading_blanks.match(record, start) if self.skip_leading_blanks else None
        opening = blanks.end() if blanks else start
        if not record.startswith(self.quote, opening):
            return self._find_delimiter(record, start), True
        position = opening + 1
        while mark := self._quote_or_escape.search(record, position):
            position = mark.end()
            follower = record[position : position + 1]
            if mark[0] == self.escape and follower and follower in (self.quote, self.escape):
                position += 1
            elif mark[0] == self.quote and (end := self._field_end.match(record, position)):
                return end.start("end"), True
            elif mark[0] == self.quote and follower != self.quote:
                # A stray quote: from here on the field counts as unquoted (STOP_AT_DELIMITER).
                return self._find_delimiter(record, position), True
        return len(record), False

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
