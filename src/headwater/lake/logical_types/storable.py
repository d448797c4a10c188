"""Converts types that Hudi cannot store, and their values, to types that it can store."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    CharType,
    DataType,
    DayTimeIntervalType,
    MapType,
    NullType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
    VarcharType,
    YearMonthIntervalType,
)

_TEXTS = (
    NullType,
    CharType,
    VarcharType,
    DayTimeIntervalType,
    YearMonthIntervalType,
)


def find_storable(kind: DataType) -> DataType:
    """Return the type itself, nullable inside, or the nearest one that Hudi can store.

    Empty structs, intervals, the null type and strings with a length become strings, and so do map keys.
    Timestamps without a zone become instants in UTC, because hudi-rs cannot read them otherwise.
    """
    if isinstance(kind, StructType):
        fields = [StructField(f.name, find_storable(f.dataType), True, f.metadata) for f in kind]
        return StructType(fields) if fields else StringType()
    if isinstance(kind, ArrayType):
        return ArrayType(find_storable(kind.elementType), containsNull=True)
    if isinstance(kind, MapType):
        return MapType(StringType(), find_storable(kind.valueType), valueContainsNull=True)
    if isinstance(kind, TimestampNTZType):
        return TimestampType()
    return StringType() if isinstance(kind, _TEXTS) else kind


def is_storable(kind: DataType) -> bool:
    """True if Hudi can store values of the type."""
    if isinstance(kind, StructType):
        return bool(kind.fields) and all(is_storable(field.dataType) for field in kind)
    if isinstance(kind, ArrayType):
        return is_storable(kind.elementType)
    if isinstance(kind, MapType):
        return isinstance(kind.keyType, StringType) and is_storable(kind.valueType)
    return not isinstance(kind, (*_TEXTS, TimestampNTZType))


def store_frame(frame: DataFrame) -> DataFrame:
    """Convert the columns that Hudi cannot store; others are unchanged."""
    odd = [field for field in frame.schema if not is_storable(field.dataType)]
    return frame.withColumns({f.name: to_storable(F.col(f"`{f.name}`"), f.dataType) for f in odd})


def to_storable(value: Column, kind: DataType) -> Column:
    """Convert a value of any type to `find_storable(kind)`.

    Intervals become ISO 8601, such as `PT90061.5S` and `P14M`. Nested map keys become JSON, binary ones
    base64.
    """
    if is_storable(kind):
        return value
    if isinstance(kind, StructType) and kind.fields:
        fields = [to_storable(value.getField(f.name), f.dataType).alias(f.name) for f in kind]
        return F.when(value.isNotNull(), F.struct(*fields))
    if isinstance(kind, ArrayType):
        return F.transform(value, lambda item: to_storable(item, kind.elementType))
    if isinstance(kind, MapType):
        converted = F.transform_values(value, lambda _, item: to_storable(item, kind.valueType))
        return F.transform_keys(converted, lambda key, _: _to_text(key, kind.keyType))
    return value.cast(TimestampType()) if isinstance(kind, TimestampNTZType) else _to_text(value, kind)


def keep_zoneless(frame: DataFrame, stored: StructType) -> DataFrame:
    """Keep timestamps without a zone for tables of earlier releases, which store them so."""
    zoneless = {f.name.lower(): f.dataType for f in stored if isinstance(f.dataType, TimestampNTZType)}
    casts = {
        f.name: F.col(f"`{f.name}`").cast(zoneless[f.name.lower()])
        for f in frame.schema
        if f.name.lower() in zoneless
    }
    return frame.withColumns(casts)


def _to_text(value: Column, kind: DataType) -> Column:
    if isinstance(kind, DayTimeIntervalType):
        micros = F.unix_micros(F.lit(0).cast(TimestampType()) + value)
        seconds = (micros.cast("decimal(20,0)") / F.lit(1_000_000).cast("decimal(7,0)")).cast("decimal(20,6)")
        return F.concat(F.lit("PT"), seconds.cast("string"), F.lit("S"))
    if isinstance(kind, YearMonthIntervalType):
        months = F.extract(F.lit("YEAR"), value) * 12 + F.extract(F.lit("MONTH"), value)
        return F.concat(F.lit("P"), months.cast("string"), F.lit("M"))
    if isinstance(kind, StructType) and not kind.fields:
        return F.when(value.isNotNull(), F.lit("{}"))
    if isinstance(kind, StructType | ArrayType | MapType):
        return F.to_json(to_storable(value, kind))
    return F.base64(value) if isinstance(kind, BinaryType) else value.cast(StringType())
