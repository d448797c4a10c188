"""Finds the field of a CSV record that does not fit the columns. Pure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from headwater.ingest.formats.csv_fields import CsvDialect
from headwater.ingest.formats.reader_options import ReaderOptions
from headwater.ingest.misfits.misfit import INTEGERS, Misfit, is_in_range, is_number_type, show

_WHOLE = re.compile(r"[-+]?[0-9]+")
_NUMBER = re.compile(r"[-+]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?")
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d{3}|\.\d{6})?(Z|[-+]\d\d:\d\d)?")
_FAULTS: Mapping[str, str] = {
    "boolean": "and its column is boolean",
    "date": "and its column has dates",
    "timestamp": "and its column has times",
    "timestamp_ntz": "and its column has times",
}


@dataclass(frozen=True, slots=True)
class CsvRules:
    """How a table reads the fields: `null_text` stands for null, and dates and times may have a format."""

    dialect: CsvDialect
    null_text: str = ""
    has_time_format: bool = False

    @classmethod
    def from_options(cls, options: ReaderOptions) -> "CsvRules":
        """Build the rules of a table's reader options."""
        has_format = bool(options.text("dateFormat") or options.text("timestampFormat"))
        return cls(CsvDialect.from_options(options), options.text("nullValue"), has_format)


def find_csv_misfit(text: str, columns: Sequence[tuple[str, str]], rules: CsvRules) -> Misfit | None:
    """Return what is wrong with a record that does not fit; None if that is unknown.

    `columns` are name and type in the order of the record's fields. A value is reported if all the others
    fit in any case.
    """
    if not rules.dialect.is_complete(text):
        return Misfit("it has a quote that is not closed, or not doubled")
    fields = rules.dialect.read(text)
    if len(fields) != len(columns):
        return Misfit(
            f"it has {_count(len(fields), 'field')}, and the table {_count(len(columns), 'column')}"
        )
    doubtful = [
        Misfit(_FAULTS.get(kind, f"and its column has numbers ({kind})"), name, show(field))
        for field, (name, kind) in zip(fields, columns, strict=True)
        if field not in ("", rules.null_text) and not _fits_surely(field, kind, rules)
    ]
    return doubtful[0] if len(doubtful) == 1 else None


def _fits_surely(text: str, kind: str, rules: CsvRules) -> bool:
    if kind in INTEGERS:
        return _WHOLE.fullmatch(text) is not None and is_in_range(Decimal(text), kind)
    if is_number_type(kind):
        return _NUMBER.fullmatch(text) is not None and is_in_range(Decimal(text), kind)
    if kind == "boolean":
        return text.lower() in ("true", "false")
    if kind == "date":
        return _is_iso(text, _DATE, rules)
    return not kind.startswith("timestamp") or _is_iso(text, _TIME, rules)


def _is_iso(text: str, pattern: re.Pattern[str], rules: CsvRules) -> bool:
    if rules.has_time_format or not pattern.fullmatch(text):
        return False
    try:
        datetime.fromisoformat(text.replace("Z", "+00:00"))
    except ValueError:
        return False
    return True


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"
