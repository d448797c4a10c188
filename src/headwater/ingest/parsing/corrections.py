"""Corrects values that Spark's parsers silently change.

- A number in a column of timestamps means seconds: milliseconds would be in the year 55840.
- A number that no double can hold is infinite; in a column of strings it is the text `"Infinity"`.
- A whole number with more digits than a double has is rounded: 9007199254740993 to 9007199254740992.
- A fraction with more digits than a decimal has is rounded: 1.5 to 2 in a `decimal(20,0)`.
- A time of day becomes a time on the day of the read, and a month its first day.
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
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from headwater.config.file_format import RECORD_ENCODINGS
from headwater.ingest.columns.schema import CORRUPT
from headwater.ingest.formats.csv_fields import CsvDialect
from headwater.ingest.formats.reader_options import ReaderOptions
from headwater.ingest.parsing.epochs import build_epoch
from headwater.ingest.parsing.leaves import has_kind, has_leaf

_NUMBER = r"^\s*[-+]?\d+(\.\d*)?([eE][-+]?\d+)?\s*$"
_WHOLE_NUMBER = r"^\s*[-+]?\d+\s*$"
_IDENTIFIER = r"^\s*(\+|-?0\d|-?[\d.]+([eE][-+]?\d+)?[dDfF]\s*$)"
_HUGE_NUMBER = r"\d[eE]\+?\d{2}|\d{39}"
_NO_DATE = r"(?:T?\d{1,2}:\d|\d{4,}-\d{1,2}\s*(?![-\d]))"
_DATE = r"[-+]?\d{4,}-\d{1,2}-\d{1,2}"
_MIDNIGHT = r"(?:[T ]00:00(?::00(?:\.0+)?)?Z?)?"
# Whole numbers with fewer digits are exact.
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
        self._takes_times_of_day = bool(ReaderOptions(options).text("timestampFormat"))
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
        """Return the struct of columns and corrupt text, of a record parsed by its schema and as text."""
        if not self._inspected:
            return _let(typed, lambda found: self._build(value, found, None))

        def correct(found: Column) -> Column:
            suspicious = found.getField(CORRUPT).isNotNull()
            if self._suspicion:
                suspicious = suspicious | value.rlike(self._suspicion)
            inspected = _let(F.when(suspicious, as_texts), lambda texts: self._build(value, found, texts))
            return F.when(suspicious, inspected).otherwise(self._build(value, found, None))

        return _let(typed, correct)

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
        if not self._may_be_infinite(kind):
            return found, misfit
        is_huge = F.coalesce(_is_infinite(found, kind), F.lit(False)) & value.rlike(_HUGE_NUMBER)
        if isinstance(kind, DoubleType | FloatType):
            found = F.when(~is_huge, found)
        return found, is_huge if misfit is None else misfit | is_huge

    def _correct_text(self, field: StructField, found: Column, text: Column) -> Column:
        """Return the value of a column whose text is checked; null for one that does not fit."""
        if field.name in self._times:
            corrected = F.when(text.rlike(_NUMBER), build_epoch(text, self._unit))
            if not self._takes_times_of_day:
                corrected = corrected.when(text.rlike(rf"^\s*{_NO_DATE}"), F.lit(None))
            return corrected.otherwise(found)
        if field.name in self._dates:
            return F.when(text.rlike(rf"^\s*{_DATE}{_MIDNIGHT}\s*$"), found)
        if field.name in self._numbers:
            is_number = ~text.rlike(_IDENTIFIER)
            found = F.when(is_number, found) if self._is_csv else _read_number(text, field.dataType)
        if isinstance(field.dataType, DecimalType):
            return _drop_cut(found, text, field.dataType)
        return _drop_rounded(found, text, field.dataType) if field.name in self._floats else found

    def _may_be_infinite(self, kind: DataType) -> bool:
        if self._is_binary:
            return False
        texts = () if self._is_csv else (StringType,)
        return has_kind(kind, (DoubleType, FloatType, *texts))

    def _build_suspicion(self, options: Mapping[str, str]) -> str:
        """Build a regular expression for texts that may need a correction although they fit the columns."""
        kinds = {type(field.dataType) for field in self._schema}
        digits = min((n for kind, n in _EXACT_DIGITS.items() if kind in kinds), default=0) + 1
        long = rf"-?\d{{{digits},}}+(?![\d.eE])"
        if not self._is_csv:
            times = (_name(self._times), rf'(?:-?\d|"\s*{_NO_DATE})')
            dates = (_name(self._dates), rf'"(?!{_DATE}")')
            cut = ((_name([name]), rf'"?{_fraction(scale)}') for name, scale in self._scales.items())
            pairs = (times, dates, (_name(self._floats), long), *cut)
            return "|".join(rf"(?:{names})\s*:\s*{start}" for names, start in pairs if names)
        dialect = CsvDialect.from_options(ReaderOptions(options))
        begin = rf"(?:^|{re.escape(dialect.delimiter)})[ \t]*{re.escape(dialect.quote)}?[ \t]*"
        starts = [r"-?0\d|\+|-?[\d.]+(?:[eE][-+]?\d+)?[dDfF]"] if self._numbers else []
        starts += [_fraction(min(self._scales.values()))] if self._scales else []
        starts += [_NO_DATE] if self._times else []
        starts += (
            [rf"{_DATE}[ \t]*[^\s{re.escape(dialect.delimiter + dialect.quote)}]"] if self._dates else []
        )
        starts += [long] if self._floats else []
        return rf"{begin}(?:{'|'.join(starts)})" if starts else ""


def _let(value: Column, build: Callable[[Column], Column]) -> Column:
    """Return `build` of a value that is computed once, however often `build` uses it."""
    return F.transform(F.array(value), build).getItem(0)


def _read_number(text: Column, kind: DataType) -> Column:
    is_whole = not isinstance(kind, DoubleType | FloatType)
    number = F.when(text.rlike(_WHOLE_NUMBER if is_whole else _NUMBER), text.cast(kind))
    return number if is_whole else F.when(F.abs(number) != float("inf"), number)


def _drop_rounded(found: Column, text: Column, kind: DataType) -> Column:
    """Return null for a whole number of which the float has other digits than the text."""
    digits = _EXACT_DIGITS[type(kind)]
    is_same = F.coalesce(text.cast(_MAX_DIGITS) == found.cast(_MAX_DIGITS), F.lit(False))
    return F.when(is_same | ~text.rlike(rf"^\s*[-+]?\d{{{digits + 1},}}\s*$"), found)


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
