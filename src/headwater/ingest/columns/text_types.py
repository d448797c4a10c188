"""Types for text columns that preserve every value as written. Pure: types and texts only."""

import re
from collections.abc import Iterable, Sequence

from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    DoubleType,
    FloatType,
    MapType,
    NumericType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)

# Java's parser also accepts `1d`, `0x1p3` and `+49`, which may be identifiers.
_NUMBER = re.compile(r"-?(0|[1-9]\d*)?(\.\d*)?([eE][-+]?\d+)?|[-+]?(nan|inf|infinity)", re.IGNORECASE)
_WHOLE = re.compile(r"-?\d+")
_MAX_DIGITS = 38
# Spark parses a time of day as a time on the day of the read, and a month as its first day.
_NO_DATE = re.compile(r"T?\d{1,2}:\d.*|\d{4,}-\d{1,2}", re.IGNORECASE)


def keep_texts(types: Sequence[DataType], records: Iterable[Sequence[str]]) -> list[DataType]:
    """Return the inferred types of a CSV object's columns; string if a value would not round-trip.

    `01234` would lose its zero, `10:00` would become a time of today, `2024-01` a first of January.
    """
    kept = list(types)
    for fields in records:
        for at, (text, kind) in enumerate(zip(fields, kept, strict=False)):
            if text and not _is_kept(text.strip(), kind):
                kept[at] = StringType()
    return kept


def _is_kept(text: str, kind: DataType) -> bool:
    if isinstance(kind, TimestampType | TimestampNTZType | DateType):
        return not _NO_DATE.fullmatch(text)
    if not isinstance(kind, NumericType) or not re.search(r"\d", text):
        return True
    if isinstance(kind, DoubleType | FloatType) and _WHOLE.fullmatch(text) and len(text) > _MAX_DIGITS:
        return False
    return _NUMBER.fullmatch(text) is not None


def fold_names(schema: StructType) -> StructType:
    """Merge columns, also nested ones, whose names differ only in case; keep the first spelling.

    If their types differ, the column is a string: Spark has read each from other records.
    """
    fields: dict[str, StructField] = {}
    for field in schema:
        found = StructField(field.name, _fold_type(field.dataType), field.nullable, field.metadata)
        known = fields.setdefault(field.name.lower(), found)
        if known.dataType != found.dataType:
            fields[field.name.lower()] = StructField(known.name, StringType(), True, known.metadata)
    return StructType(list(fields.values()))


def _fold_type(kind: DataType) -> DataType:
    if isinstance(kind, StructType):
        return fold_names(kind)
    if isinstance(kind, ArrayType):
        return ArrayType(_fold_type(kind.elementType), kind.containsNull)
    if isinstance(kind, MapType):
        return MapType(kind.keyType, _fold_type(kind.valueType), kind.valueContainsNull)
    return kind
