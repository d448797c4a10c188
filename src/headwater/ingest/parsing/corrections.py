"""What Spark's parsers make of a text without a word, and no table should have.

- A number in a column of timestamps is seconds to them: milliseconds would be in the year 55840.
- A number that no double can hold is infinite.
- `01234` in a column of numbers is 1234. A column of numbers that was found by looking at some records may
  get identifiers later.

Such a value is corrected or is null, and its record is then one that does not fit its columns.
"""

import json
import re
from collections.abc import Callable, Collection, Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    DataType,
    DoubleType,
    FloatType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from headwater.ingest.decoding.csv_fields import CsvDialect
from headwater.ingest.decoding.reader_options import ReaderOptions
from headwater.ingest.parsing.epochs import build_epoch
from headwater.ingest.parsing.leaves import has_kind, has_leaf
from headwater.ingest.reading.schema import CORRUPT

_NUMBER = r"^\s*[-+]?\d+(\.\d*)?([eE][-+]?\d+)?\s*$"
_WHOLE_NUMBER = r"^\s*[-+]?\d+\s*$"
_IDENTIFIER = r"^\s*(\+|-?0\d)"
_HUGE_NUMBER = r"\d[eE]\+?\d{2}|\d{39}"


class Corrections:
    """Of the records of one format with one schema.

    `numbers` are columns whose texts are looked at: in CSV those whose types nobody has given, which take no
    identifiers; in JSON and XML those whose types were given as hints, which take numbers in quotes.
    `text_schema` has the columns that are looked at as texts; only records that may need it are parsed by it.
    """

    def __init__(
        self, file_format: str, schema: StructType, options: Mapping[str, str], numbers: Collection[str]
    ) -> None:
        self._schema = schema
        self._times = {field.name for field in schema if isinstance(field.dataType, TimestampType)}
        self._numbers = set(numbers)
        self._is_csv = file_format == "csv"
        self._unit = ReaderOptions(options).text("epochUnit", default="auto").lower()
        texts = self._times | self._numbers
        self.text_schema = StructType(
            [StructField(f.name, StringType() if f.name in texts else f.dataType) for f in schema]
        )
        self._has_floats = any(_may_be_infinite(field.dataType) for field in schema)
        self._suspicion = _build_suspicion(file_format, options, self._times, has_numbers=bool(self._numbers))

    @property
    def are_needed(self) -> bool:
        """Whether there is any column that may need one."""
        return bool(self._times or self._numbers or self._has_floats)

    def apply(self, value: Column, typed: Column, as_texts: Column) -> Column:
        """The struct of the columns and the corrupt text, of a record parsed by its schema and as texts."""
        if not (self._times or self._numbers):
            return _let(typed, lambda found: self._build(value, found, None))

        def correct(found: Column) -> Column:
            suspicious = found.getField(CORRUPT).isNotNull()
            if self._suspicion:
                suspicious = suspicious | value.rlike(self._suspicion)
            looked_at = _let(F.when(suspicious, as_texts), lambda texts: self._build(value, found, texts))
            return F.when(suspicious, looked_at).otherwise(self._build(value, found, None))

        return _let(typed, correct)

    def _build(self, value: Column, typed: Column, texts: Column | None) -> Column:
        """With `texts`, other columns are taken from there: the corrupt text says that these fit."""
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
        """The value of a column, and whether it does not fit (None: it does)."""
        name, found = field.name, typed.getField(field.name)
        if texts is not None and name in self._times | self._numbers:
            text = texts.getField(name)
            if name in self._times:
                is_number = text.rlike(_NUMBER)
                found = F.when(is_number, build_epoch(text, self._unit)).otherwise(found)
            elif self._is_csv:
                found = F.when(~text.rlike(_IDENTIFIER), found)
            else:
                found = _read_number(text, field.dataType)
            return found, text.isNotNull() & found.isNull()
        if texts is not None:
            found = texts.getField(name)
        if not _may_be_infinite(field.dataType):
            return found, None
        is_infinite = F.coalesce(_is_infinite(found, field.dataType), F.lit(False))
        fault = is_infinite & value.rlike(_HUGE_NUMBER)
        if isinstance(field.dataType, DoubleType | FloatType):
            found = F.when(~fault, found)
        return found, fault


def _let(value: Column, build: Callable[[Column], Column]) -> Column:
    """What `build` makes of a value that is computed once, however often `build` uses it."""
    return F.transform(F.array(value), build).getItem(0)


def _read_number(text: Column, kind: DataType) -> Column:
    is_whole = not isinstance(kind, DoubleType | FloatType)
    number = F.when(text.rlike(_WHOLE_NUMBER if is_whole else _NUMBER), text.cast(kind))
    return number if is_whole else F.when(F.abs(number) != float("inf"), number)


def _is_infinite(value: Column, kind: DataType) -> Column:
    return has_leaf(value, kind, (DoubleType, FloatType), lambda leaf: F.abs(leaf) == float("inf"))


def _build_suspicion(
    file_format: str, options: Mapping[str, str], times: Collection[str], *, has_numbers: bool
) -> str:
    """A regular expression for texts that may need a correction though they fit the columns."""
    if file_format == "csv":
        dialect = CsvDialect.from_options(ReaderOptions(options))
        start = rf"(?:^|{re.escape(dialect.delimiter)})[ \t]*{re.escape(dialect.quote)}?[ \t]*"
        return rf"{start}(?:-?0\d|\+)" if has_numbers else ""
    names = "|".join(re.escape(json.dumps(name, ensure_ascii=False)) for name in sorted(times))
    return rf"(?:{names})\s*:\s*-?\d" if times else ""


def _may_be_infinite(kind: DataType) -> bool:
    return has_kind(kind, (DoubleType, FloatType))
