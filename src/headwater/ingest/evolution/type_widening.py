"""The type of a column after objects introduce another one. Pure: types only, no session.

The rules follow the measured behaviour of Hudi 1.2 on both table types, see
docs/decisions/0006-schema-evolution.md. Whole numbers and floats widen, decimals grow. Hudi rejects dates
as timestamps and whole numbers as decimals. A decimal would silently round doubles.
"""

from pyspark.sql.types import (
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    NullType,
    ShortType,
    StringType,
    TimestampType,
)

_INTEGERS = (ByteType, ShortType, IntegerType, LongType)
_INTEGER_DIGITS: dict[type[DataType], int] = {ByteType: 3, ShortType: 5, IntegerType: 10, LongType: 19}
_FLOATS = (FloatType, DoubleType)
_MAX_DIGITS = 38


def widen_leaf(present: DataType, found: DataType, *, is_text: bool, is_key: bool = False) -> DataType | None:
    """Return the type that holds both, reachable from `present`; None if there is none.

    `is_text` means that values are text, which a string column stores unchanged. `is_key` allows whole
    numbers only: any other widening would change how a key is written. Structs, arrays and maps are not
    leaves: they must be equal here.
    """
    if present == found or isinstance(found, NullType):
        return present
    if is_text and isinstance(present, StringType):
        return present
    if isinstance(present, _INTEGERS) and isinstance(found, _INTEGERS):
        return max(present, found, key=lambda kind: _INTEGER_DIGITS[type(kind)])
    if is_key:
        return None
    return _widen_fraction(present, found)


def _widen_fraction(present: DataType, found: DataType) -> DataType | None:
    if isinstance(present, DecimalType):
        return _widen_decimal(present, found)
    is_number = isinstance(found, (*_INTEGERS, *_FLOATS))
    if isinstance(present, DoubleType) and isinstance(found, (*_INTEGERS, FloatType, DecimalType)):
        return present
    if isinstance(present, FloatType) and is_number:
        return DoubleType()
    if isinstance(present, _INTEGERS) and isinstance(found, _FLOATS):
        return DoubleType()
    if isinstance(present, TimestampType) and isinstance(found, DateType):
        return present
    return None


def _widen_decimal(present: DecimalType, found: DataType) -> DataType | None:
    if isinstance(found, DecimalType):
        digits, scale = found.precision - found.scale, found.scale
    elif isinstance(found, _INTEGERS):
        digits, scale = _INTEGER_DIGITS[type(found)], 0
    else:
        return None
    scale = max(scale, present.scale)
    precision = max(digits, present.precision - present.scale) + scale
    return DecimalType(precision, scale) if precision <= _MAX_DIGITS else None
