"""Corrects values that Spark's parsers silently change.

- A number in a column of timestamps means seconds: milliseconds would be in the year 55840.
- A number that no double can hold is infinite; in a column of strings it is the text `"Infinity"`.
- A whole number with more digits than a double has is rounded: 9007199254740993 to 9007199254740992.
- A fraction with more digits than a decimal has is rounded: 1.5 to 2 in a `decimal(20,0)`.
- A time of day becomes a time on the day of the read, and a month or a year its first day.
- Text after a date in a column of dates is dropped, such as a time, and `2024` is its first of January.
- `01234` in a column of numbers is 1234. A column of numbers inferred from some records may get identifiers
  later.

Such a value is corrected or is null, and its record then counts as one that does not fit its columns.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from headwater.config.file_format import RECORD_ENCODINGS
from headwater.ingest.columns.schema import CORRUPT
from headwater.ingest.formats.csv_fields import CsvDialect
from headwater.ingest.formats.reader_options import ReaderOptions
from headwater.ingest.parsing.epochs import EARLIEST, LATEST, build_epoch
from headwater.ingest.parsing.leaves import has_kind, has_leaf

_NUMBER = r"^\s*[-+]?\d+(\.\d*)?([eE][-+]?\d+)?\s*$"
_WHOLE_NUMBER = r"^\s*[-+]?\d+\s*$"
_IDENTIFIER = r"^\s*(\+|-?0\d|-?[\d.]+([eE][-+]?\d+)?[dDfF]\s*$)"
_HUGE_NUMBER = r"\d[eE]\+?\d{2}|\d{39}"
_NO_DATE = r"(?:T?\d{1,2}:\d|\d{4,}-\d{1,2}\s*(?![-\d]))"
_DATE = r"[-+]?\d{4,}-\d{1,2}-\d{1,2}"
_MIDNIGHT = r"(?:[T ]00:00(?::00(?:\.0+)?)?Z?)?"
# Whole numbers with no more digits are exact.
_EXACT_DIGITS: Mapping[type[DataType], int] = {DoubleType: 15, FloatType: 7}
_MAX_DIGITS = "decimal(38,0)"


class Corrections:
    """Corrections for the records of one format with one schema.

    `numbers` are columns whose texts are checked. In CSV they are those with inferred types, which reject
    identifiers. In JSON and XML they are those with hinted types, which accept numbers in quotes.
    `text_schema` has the checked columns as text; only records that may need it are parsed with it.
    """

    def __init__(
        self, file_format: str, schema: StructType, options: Mapping[str, str], numbers: Collection[str]
    ) -> None:
        self._schema = schema
        self._times = {field.name for field in schema if isinstance(field.dataType, TimestampType)}
        self._numbers = set(numbers)
        self._is_csv = file_format == "csv"
        # Their texts are headwater's own: an infinite value was one in the record, too.
        self._is_binary = file_format in RECORD_ENCODINGS
        self._unit = ReaderOptions(options).text("epochUnit", default="auto").lower()
        self._time_format = ReaderOptions(options).text("timestampFormat")
        self._zone = ReaderOptions(options).text("timeZone", default="UTC")
        has_format = bool(ReaderOptions(options).text("dateFormat"))
        self._dates = {f.name for f in schema if isinstance(f.dataType, DateType) and not has_format}
        self._floats = {f.name for f in schema if isinstance(f.dataType, DoubleType | FloatType)}
        self._scales = {f.name: f.dataType.scale for f in schema if isinstance(f.dataType, DecimalType)}
        self._inspected = texts = (
            self._times | self._numbers | self._floats | self._dates | self._scales.keys()
        )
        self.text_schema = StructType(
            [StructField(f.name, StringType() if f.name in texts else f.dataType) for f in schema]
        )
        self._has_infinite = any(self._may_be_infinite(field.dataType) for field in schema)
        self._suspicion = self._build_suspicion(options)

    @property
    def are_needed(self) -> bool:
        """True if a column may need a correction."""
        return bool(self._inspected or self._has_infinite)

    def apply(self, value: Column, typed: Column, as_texts: Column) -> Column:
        """Return the struct of columns and corrupt text, of a record parsed by its schema and as text.

        `typed` should be a column of the frame: it is referenced many times, and few records need more than a
        comparison of its numbers.
        """
        suspicious = self._find_suspicious(value, typed)
        if not self._inspected:
            return F.when(suspicious, self._build(value, typed, None)).otherwise(typed)
        inspected = _let(as_texts, lambda texts: self._build(value, typed, texts))
        return F.when(suspicious, inspected).otherwise(typed)

    def _find_suspicious(self, value: Column, typed: Column) -> Column:
        """True for a record that a correction may change, cheapest checks first; never null."""
        found = F.lit(False)
        if self._inspected:
            found = typed.getField(CORRUPT).isNotNull()
        for field in self._schema:
            if field.name in self._floats:
                first_inexact = float(10 ** _EXACT_DIGITS[type(field.dataType)])
                is_inexact = F.abs(typed.getField(field.name)) >= first_inexact
                found = found | F.coalesce(is_inexact, F.lit(False))
            elif self._may_be_infinite(field.dataType):
                found = found | _is_infinite(typed.getField(field.name), field.dataType)
            elif field.name in self._dates or (field.name in self._times and not self._time_format):
                found = found | self._may_be_partial(typed.getField(field.name), field.dataType)
        return found | value.rlike(self._suspicion) if self._suspicion else found

    def _may_be_partial(self, found: Column, kind: DataType) -> Column:
        """True if the text may be only a year, or a year and a month: Spark adds the first day."""
        if isinstance(kind, DateType):
            return F.coalesce(F.dayofmonth(found) == 1, F.lit(False))
        local = F.from_utc_timestamp(found, self._zone)
        # Outside these years, which are others' to reject, Spark may fail to compute the first of January.
        is_usual = F.unix_micros(found).between(EARLIEST, LATEST)
        is_first = F.when(is_usual, F.date_trunc("year", local) == local).otherwise(found.isNotNull())
        return F.coalesce(is_first, F.lit(False))

    def _build(self, value: Column, typed: Column, texts: Column | None) -> Column:
        """Build the record; with `texts`, other columns come from there, as they fit by the corrupt text."""
        fields, faults = [], []
        for field in self._schema:
            found, fault = self._correct(field, value, typed, texts)
            fields.append(found.alias(field.name))
            faults += [fault] if fault is not None else []
        corrupt = (typed if texts is None else texts).getField(CORRUPT)
        for fault in faults:
            corrupt = F.coalesce(corrupt, F.when(fault, value))
        return F.struct(*fields, corrupt.alias(CORRUPT))

    def _correct(
        self, field: StructField, value: Column, typed: Column, texts: Column | None
    ) -> tuple[Column, Column | None]:
        """Return the value of a column, and whether it does not fit (None: it does)."""
        name, kind, found = field.name, field.dataType, typed.getField(field.name)
        misfit: Column | None = None
        if texts is not None and name in self._inspected:
            found = self._correct_text(field, found, texts.getField(name))
            misfit = texts.getField(name).isNotNull() & found.isNull()
        elif texts is not None:
            found = texts.getField(name)
        if name in self._floats or not self._may_be_infinite(kind):
            return found, misfit
        is_huge = _is_infinite(found, kind) & value.rlike(_HUGE_NUMBER)
        return found, is_huge if misfit is None else misfit | is_huge

    def _correct_text(self, field: StructField, found: Column, text: Column) -> Column:
        """Return the value of a column whose text is checked; null for one that does not fit."""
        if field.name in self._times:
            return self._correct_time(found, text)
        if field.name in self._dates:
            return F.when(text.rlike(rf"^\s*{_DATE}{_MIDNIGHT}\s*$"), found)
        if field.name in self._numbers:
            is_number = ~text.rlike(_IDENTIFIER)
            read = _read_number(text, field.dataType)
            found = F.when(is_number, found) if self._is_csv else F.coalesce(found, read)
        if isinstance(field.dataType, DecimalType):
            return _drop_cut(found, text, field.dataType)
        return _drop_rounded(found, text, field.dataType) if field.name in self._floats else found

    def _correct_time(self, found: Column, text: Column) -> Column:
        """Return the time of a count since 1970, or what Spark has found; null for part of a time.

        Spark reads digits in quotes, or in CSV, by `timestampFormat` or as a year. It finds seconds for a
        number in JSON, with an overflow for most other units.
        """
        is_number, count = text.rlike(_NUMBER), build_epoch(text, self._unit)
        is_seconds = F.unix_micros(found) == text.cast("long") * F.lit(1_000_000)
        is_count = is_number & (found.isNull() | F.coalesce(is_seconds, F.lit(False)))
        if self._time_format:
            formatted = F.try_to_timestamp(text, F.lit(self._time_format))
            local = F.to_utc_timestamp(formatted, self._zone)
            return F.when(is_count, F.coalesce(local, count)).otherwise(found)
        if self._unit != "auto":
            is_count = is_number
        is_part = is_number | text.rlike(rf"^\s*{_NO_DATE}")
        return F.when(is_count, count).when(~is_part, found)

    def _may_be_infinite(self, kind: DataType) -> bool:
        if self._is_binary:
            return False
        texts = () if self._is_csv else (StringType,)
        return has_kind(kind, (DoubleType, FloatType, *texts))

    def _build_suspicion(self, options: Mapping[str, str]) -> str:
        """Build a regular expression for texts that may need a correction although they fit the columns."""
        if not self._is_csv:
            times = (_name(self._times), rf'(?:-?\d|"\s*{_NO_DATE})')
            dates = (_name(self._dates), rf'"(?!{_DATE}")')
            cut = ((_name([name]), rf'"?{_fraction(scale)}') for name, scale in self._scales.items())
            pairs = (times, dates, *cut)
            return "|".join(rf"(?:{names})\s*:\s*{start}" for names, start in pairs if names)
        dialect = CsvDialect.from_options(ReaderOptions(options))
        begin = rf"(?:^|{re.escape(dialect.delimiter)})[ \t]*{re.escape(dialect.quote)}?[ \t]*"
        starts = [r"-?0\d|\+|-?[\d.]+(?:[eE][-+]?\d+)?[dDfF]"] if self._numbers else []
        starts += [_fraction(min(self._scales.values()))] if self._scales else []
        starts += [_NO_DATE] if self._times else []
        starts += (
            [rf"{_DATE}[ \t]*[^\s{re.escape(dialect.delimiter + dialect.quote)}]"] if self._dates else []
        )
        return rf"{begin}(?:{'|'.join(starts)})" if starts else ""


def _let(value: Column, build: Callable[[Column], Column]) -> Column:
    """Return `build` of a value that is computed once, however often `build` uses it."""
    return F.transform(F.array(value), build).getItem(0)


def _read_number(text: Column, kind: DataType) -> Column:
    is_whole = isinstance(kind, IntegralType)
    return F.when(text.rlike(_WHOLE_NUMBER if is_whole else _NUMBER), text.cast(kind))


def _drop_rounded(found: Column, text: Column, kind: DataType) -> Column:
    """Return null for a number that is infinite as a float, or whole and has other digits than the text.

    The text of an infinite number has digits in CSV, and quotes in JSON.
    """
    digits = _EXACT_DIGITS[type(kind)]
    is_same = F.coalesce(text.cast(_MAX_DIGITS) == found.cast(_MAX_DIGITS), F.lit(False))
    is_huge = (F.abs(found) == float("inf")) & text.rlike(r'[\d"]')
    return F.when(~is_huge & (is_same | ~text.rlike(rf"^\s*[-+]?\d{{{digits + 1},}}\s*$")), found)


def _drop_cut(found: Column, text: Column, kind: DecimalType) -> Column:
    """Return null for a number with a digit after the decimal's last one.

    Checks exponents by a decimal with as many whole digits and all further ones after the point.
    """
    wide = text.cast(f"decimal(38,{38 - kind.precision + kind.scale})")
    is_same = F.coalesce(wide == found, F.lit(True))
    return F.when(is_same & ~text.rlike(rf"^[^eE]*\.\d{{{kind.scale}}}\d*[1-9]\d*\s*$"), found)


def _fraction(scale: int) -> str:
    return rf"[-+]?\d*(?:\.\d{{{scale + 1}}}|\.?\d*[eE]-)"


def _is_infinite(value: Column, kind: DataType) -> Column:
    is_number = has_leaf(value, kind, (DoubleType, FloatType), lambda leaf: F.abs(leaf) == float("inf"))
    return is_number | has_leaf(value, kind, (StringType,), lambda leaf: leaf.contains('Infinity"'))


def _name(columns: Collection[str]) -> str:
    return "|".join(re.escape(json.dumps(name, ensure_ascii=False)) for name in sorted(columns))
