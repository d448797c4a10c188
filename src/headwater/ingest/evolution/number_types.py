"""Widens columns to the numbers that did not fit them. Pure.

A wider type helps only one kind of misfit: a number in a numeric column.
"""

import json
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal

from pyspark.sql.types import (
    ArrayType,
    DataType,
    DecimalType,
    DoubleType,
    LongType,
    MapType,
    NumericType,
    StructField,
    StructType,
)

_NUMBER = re.compile(r"[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?")
_WHOLE = re.compile(r"[-+]?\d+")
_MAX_DIGITS = 38


class _Number(str):
    """A number as written."""

    __slots__ = ()


_DECODER = json.JSONDecoder(strict=False, parse_int=_Number, parse_float=_Number)


def find_numbers_in_json(
    texts: Iterable[str], schema: StructType, *, quoted: bool = False
) -> list[StructType]:
    """Return for each record text its numeric columns, with types for its numbers; none if it is not JSON.

    With `quoted`, strings that are numbers count: XML has no other values.
    """
    found: list[StructType] = []
    for text in texts:
        try:
            value = _DECODER.decode(text)
        except (ValueError, RecursionError):
            continue
        kind = _find_type(value, schema, quoted=quoted)
        if isinstance(kind, StructType):
            found.append(kind)
    return found


def find_numbers_in_fields(records: Iterable[Sequence[str]], schema: StructType) -> list[StructType]:
    """Return the same for records given as text fields in column order; skip other records."""
    found: list[StructType] = []
    for fields in records:
        if len(fields) != len(schema):
            continue
        kinds = [
            (field, _type_number(text, field.dataType)) for field, text in zip(schema, fields, strict=True)
        ]
        if columns := [StructField(field.name, kind) for field, kind in kinds if kind is not None]:
            found.append(StructType(columns))
    return found


def _find_type(value: object, present: DataType, *, quoted: bool) -> DataType | None:
    if isinstance(present, StructType):
        return _find_struct(value, present, quoted=quoted) if isinstance(value, dict) else None
    if isinstance(present, ArrayType) and isinstance(value, list):
        return _first_array(value, present, quoted=quoted)
    if isinstance(present, MapType) and isinstance(value, dict):
        kinds = [_find_type(item, present.valueType, quoted=quoted) for item in value.values()]
        known = [kind for kind in kinds if kind is not None]
        return MapType(present.keyType, _widest(known)) if known else None
    is_number = isinstance(value, _Number) or (quoted and isinstance(value, str))
    return _type_number(str(value), present) if is_number else None


def _find_struct(value: dict[str, object], present: StructType, *, quoted: bool) -> StructType | None:
    kinds = [
        StructField(field.name, kind)
        for field in present
        if (kind := _find_type(value.get(field.name), field.dataType, quoted=quoted)) is not None
    ]
    return StructType(kinds) if kinds else None


def _first_array(value: list[object], present: ArrayType, *, quoted: bool) -> DataType | None:
    kinds = [_find_type(item, present.elementType, quoted=quoted) for item in value]
    known = [kind for kind in kinds if kind is not None]
    return ArrayType(_widest(known)) if known else None


def _widest(kinds: Sequence[DataType]) -> DataType:
    # Of structs the first is sufficient: the others are found when the records are read again.
    return next((kind for kind in kinds if not isinstance(kind, LongType)), kinds[0])


def _type_number(text: str, present: DataType) -> DataType | None:
    """Return the narrowest type for a number and the column's type; None if it is not a number."""
    if not isinstance(present, NumericType):
        return None
    text = text.strip()
    if not _NUMBER.fullmatch(text):
        return None
    if isinstance(present, DecimalType):
        return _type_decimal(text)
    if not _WHOLE.fullmatch(text):
        return DoubleType()
    return LongType() if -(2**63) <= int(text) < 2**63 else _type_decimal(text)


def _type_decimal(text: str) -> DataType | None:
    _, digits, exponent = Decimal(text).as_tuple()
    assert isinstance(exponent, int)  # noqa: S101 - neither NaN nor infinity
    scale = max(0, -exponent)
    precision = max(len(digits) + max(0, exponent), scale)
    return DecimalType(precision, scale) if precision <= _MAX_DIGITS else None
