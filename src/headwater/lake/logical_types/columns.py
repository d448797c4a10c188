"""Converts Spark columns to columns that Hudi stores as VECTOR or BLOB.

`convert` runs early, so that every later stage sees the table's values. `store` runs at the write.
"""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DoubleType,
    FloatType,
    LongType,
    NumericType,
    StringType,
    StructField,
    StructType,
)

from headwater.config.hudi.column_types import ColumnType, VectorType, parse_column_type
from headwater.errors import ConfigError, TableMismatchError

HUDI_TYPE = "hudi_type"
"""The key of Hudi's type in a column's metadata. Most expressions drop metadata."""

_REFERENCE = StructType(
    [
        StructField("external_path", StringType()),
        StructField("offset", LongType()),
        StructField("length", LongType()),
        StructField("managed", BooleanType()),
    ]
)
_BLOB_FIELDS = ("type", "data", "reference")
_EXPECTED = {"vector": "an array of numbers", "blob": "binary"}
_INFINITY = float("inf")

Types = Mapping[str, ColumnType]


def find_declared(types: Types, name: str) -> ColumnType | None:
    """Find the declared type of a column; the name is case-insensitive."""
    return next((kind for declared, kind in types.items() if declared.lower() == name.lower()), None)


def check_convertible(table: str, schema: StructType, types: Types) -> None:
    """Raise `ConfigError` unless all declared columns exist with convertible types."""
    found = {field.name.lower(): field.dataType for field in schema}
    problems = []
    for name, kind in types.items():
        present = found.get(name.lower())
        if present is None:
            problems.append(f"no column {name!r}; the columns are {', '.join(schema.fieldNames())}")
        elif not _is_convertible(present, kind):
            problems.append(
                f"column {name!r} is {present.simpleString()}, and a {kind.name} is made of "
                f"{_EXPECTED[kind.name]}"
            )
    if problems:
        raise ConfigError(
            "\n".join(f"tables.{table}.columns: {problem}" for problem in problems),
            hint="convert it with a `transform`, or correct the name",
        )


def _is_convertible(present: DataType, kind: ColumnType) -> bool:
    if isinstance(kind, VectorType):
        return isinstance(present, ArrayType) and isinstance(present.elementType, NumericType)
    is_blob = isinstance(present, StructType) and tuple(present.fieldNames()) == _BLOB_FIELDS
    return is_blob or isinstance(present, BinaryType)


def convert(value: Column, present: DataType, kind: ColumnType) -> Column:
    """Convert a value of a type that `check_convertible` accepted to the stored type."""
    if isinstance(kind, VectorType):
        return value.cast(ArrayType(FloatType() if kind.element == "float" else DoubleType()))
    if isinstance(present, StructType):
        return value
    fields = (F.lit("INLINE"), value, F.lit(None).cast(_REFERENCE))
    named = (field.alias(name) for name, field in zip(_BLOB_FIELDS, fields, strict=True))
    return F.when(value.isNotNull(), F.struct(*named))


def convert_frame(frame: DataFrame, types: Types) -> DataFrame:
    """Convert the declared columns, which `check_convertible` accepted; others are unchanged."""
    kinds = {field.name: (field.dataType, find_declared(types, field.name)) for field in frame.schema}
    return frame.withColumns(
        {
            name: convert(F.col(f"`{name}`"), present, kind)
            for name, (present, kind) in kinds.items()
            if kind is not None
        }
    )


def build_read_type(kind: ColumnType) -> DataType:
    """Return the type for reading objects: numbers as wide as in the source, to avoid silent truncation."""
    return ArrayType(DoubleType()) if isinstance(kind, VectorType) else BinaryType()


def find_fault(value: Column, name: str, kind: ColumnType) -> Column:
    """Return a column with the fault of a converted value as text; null for valid and for null values."""
    if not isinstance(kind, VectorType):
        return F.lit(None).cast(StringType())
    count, wanted = F.size(value), F.lit(f" numbers in {name}; a {kind} has {kind.dimension}")
    is_odd = F.exists(value, lambda x: x.isNull() | F.isnan(x) | (F.abs(x) == F.lit(_INFINITY)))
    return (
        F.when(value.isNull(), F.lit(None).cast(StringType()))
        .when(count != kind.dimension, F.concat(F.lit("has "), count.cast(StringType()), wanted))
        .when(is_odd, F.lit(f"has a null, NaN or infinite number in {name}"))
    )


def count_faults(frame: DataFrame, types: Types) -> tuple[int, str] | None:
    """Count the rows with a faulty value in a converted column, and return the fault of one of them."""
    names = [(name, kind) for name, kind in types.items() if isinstance(kind, VectorType)]
    if not names:
        return None
    fault = F.coalesce(*(find_fault(F.col(f"`{name}`"), name, kind) for name, kind in names))
    count, example = frame.select(fault.alias("fault")).agg(F.count("fault"), F.min("fault")).collect()[0]
    return (count, example) if count else None


def store(frame: DataFrame, types: Types) -> DataFrame:
    """Return the frame in Hudi's form: types in the metadata, and vectors without nullable elements."""
    return frame.select(
        *(
            F.col(f"`{field.name}`") if kind is None else _store_column(field, kind)
            for field in frame.schema
            for kind in [find_declared(types, field.name)]
        )
    )


def _store_column(field: StructField, kind: ColumnType) -> Column:
    value = F.col(f"`{field.name}`")
    if isinstance(kind, VectorType) and isinstance(field.dataType, ArrayType) and field.dataType.containsNull:
        # `find_fault` ran before, so no element is null. Hudi reads nullability from Spark's schema.
        element = field.dataType.elementType
        value = F.transform(value, lambda item: F.coalesce(item, F.lit(float("nan")).cast(element)))
    return value.alias(field.name, metadata={HUDI_TYPE: kind.hudi_type})


def list_stored(stored: StructType, given: StructType) -> Types:
    """Return the table's logical types for the columns of `given` that can be converted."""
    types = {}
    for field in given:
        name = field.name.lower()
        found = next((other for other in stored if other.name.lower() == name), None)
        text = found.metadata.get(HUDI_TYPE) if found is not None else None
        kind = parse_hudi_type(text) if text else None
        if kind is not None and _is_convertible(field.dataType, kind):
            types[field.name] = kind
    return types


def parse_hudi_type(text: str) -> ColumnType | None:
    """Parse Hudi's notation of a type; None if headwater does not write it, such as VECTOR(3, INT8)."""
    try:
        return parse_column_type(text)
    except ValueError:
        return None


def check_stored(table: str, stored: StructType, types: Types) -> None:
    """Raise `TableMismatchError` if a stored column has another type than the declared one."""
    for field in stored:
        kind, present = find_declared(types, field.name), field.metadata.get(HUDI_TYPE)
        if kind is None or present == kind.hudi_type:
            continue
        there = str(present).lower() if present else field.dataType.simpleString()
        raise TableMismatchError(
            f"table {table}: column {field.name} is {there} in the table, but {kind} in `columns`",
            hint="Hudi cannot convert a column to or from its logical types: restore the previous `columns`, "
            "or configure a table with another name, which is built from scratch",
        )
