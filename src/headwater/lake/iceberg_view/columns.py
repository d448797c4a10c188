"""The columns of a view: their Iceberg types and field ids, and which files fit them. Pure."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import count

import pyarrow as pa
from pyarrow.parquet import FileMetaData
from pyiceberg.io.pyarrow import parquet_path_to_id_mapping
from pyiceberg.schema import Schema, index_by_id, index_by_name
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    DoubleType,
    FixedType,
    FloatType,
    IcebergType,
    IntegerType,
    ListType,
    LongType,
    MapType,
    NestedField,
    PrimitiveType,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
    TimeType,
)

from headwater.config.own_columns import is_own_column
from headwater.errors import IcebergViewError

_SIMPLE: tuple[tuple[Callable[[pa.DataType], bool], Callable[[], IcebergType]], ...] = (
    (pa.types.is_boolean, BooleanType),
    (pa.types.is_int8, IntegerType),
    (pa.types.is_int16, IntegerType),
    (pa.types.is_int32, IntegerType),
    (pa.types.is_int64, LongType),
    (pa.types.is_float32, FloatType),
    (pa.types.is_float64, DoubleType),
    (pa.types.is_string, StringType),
    (pa.types.is_large_string, StringType),
    (pa.types.is_binary, BinaryType),
    (pa.types.is_large_binary, BinaryType),
    (pa.types.is_date32, DateType),
)
_WIDENED = {(IntegerType, LongType), (FloatType, DoubleType)}
_OLD_LIST_ELEMENTS = frozenset({"array", "bag"})


@dataclass(frozen=True, slots=True)
class UnreadableColumn:
    """A column of a file that readers of Iceberg could not read, or would read as other values."""

    column: str
    reason: str
    is_old_list: bool = False


def is_shown(column: str) -> bool:
    """True if a view shows the top-level column: none of Hudi and headwater, as in the Python API."""
    return not is_own_column(column)


def build_schema(columns: pa.Schema, previous: Schema | None, last_id: int) -> Schema:
    """Build the schema of a view. Columns of the previous one keep their ids; others get ids after `last_id`.

    Raises `IcebergViewError` for a type that Iceberg does not have.
    """
    known = index_by_name(previous) if previous is not None else {}
    fresh = count(last_id + 1)

    def number(path: str) -> int:
        return known[path] if path in known else next(fresh)

    fields = [_build_field(column, column.name, number) for column in columns if is_shown(column.name)]
    return Schema(*fields, schema_id=0 if previous is None else previous.schema_id)


def build_name_mapping(columns: pa.Schema, schema: Schema, last_id: int) -> str:
    """Return the ids of columns by name, for files that have no ids, as JSON.

    pyiceberg rejects files with columns that have no id. Those that the view does not show therefore have
    ids after `last_id`, which no schema uses.
    """
    hidden = [
        NestedField(field_id=number, name=column.name, field_type=StringType(), required=False)
        for number, column in enumerate((one for one in columns if not is_shown(one.name)), last_id + 1)
    ]
    return Schema(*schema.fields, *hidden).name_mapping.model_dump_json()


def is_evolution(previous: Schema, schema: Schema) -> bool:
    """True if readers with the new schema read files of the previous one: columns were added or widened."""
    fields, before = index_by_id(schema), index_by_id(previous)
    return all(
        number in fields and _fits(before[number].field_type, fields[number].field_type) for number in before
    )


def find_unreadable(schema: Schema, hidden: Collection[str], footer: FileMetaData) -> UnreadableColumn | None:
    """Return a column of a Parquet file that does not fit the schema, or None. `hidden` are other columns."""
    paths = parquet_path_to_id_mapping(schema)
    for at in range(footer.num_columns):
        path = footer.schema.column(at).path
        if path in paths or path in hidden:
            continue
        column, *parts = path.split(".")
        is_old = bool(_OLD_LIST_ELEMENTS.intersection(parts))
        reason = "lists have the two-level structure of older releases" if is_old else "no such column"
        return UnreadableColumn(column, reason, is_old)
    found = pa.schema([field for field in footer.schema.to_arrow_schema() if field.name not in hidden])
    stored = build_schema(found, schema, schema.highest_field_id)
    fields = index_by_id(schema)
    for number, field in index_by_id(stored).items():
        wanted = fields.get(number)
        if wanted is None or not _fits(field.field_type, wanted.field_type):
            name = stored.find_column_name(number) or field.name
            return UnreadableColumn(
                name, f"the file has {field.field_type}, the table {wanted and wanted.field_type}"
            )
    return None


def _fits(stored: IcebergType, read: IcebergType) -> bool:
    """True if readers of Iceberg read a stored type as another one.

    `promote` of pyiceberg also admits another scale of a decimal, and strings as binary.
    """
    if not isinstance(stored, PrimitiveType):
        # Parts have ids of their own, and are compared by themselves.
        return type(stored) is type(read)
    if isinstance(stored, DecimalType) and isinstance(read, DecimalType):
        return stored.scale == read.scale and stored.precision <= read.precision
    return stored == read or (type(stored), type(read)) in _WIDENED


_Number = Callable[[str], int]


def _build_field(column: pa.Field, path: str, number: _Number) -> NestedField:
    # Hudi writes any column as nullable once it has evolved: no reader may rely on the opposite.
    return NestedField(
        field_id=number(path),
        name=column.name,
        field_type=_convert(column.type, path, number),
        required=False,
    )


def _convert(kind: pa.DataType, path: str, number: _Number) -> IcebergType:
    for is_kind, build in _SIMPLE:
        if is_kind(kind):
            return build()
    if pa.types.is_decimal128(kind):
        return DecimalType(kind.precision, kind.scale)
    if pa.types.is_timestamp(kind) and kind.unit in ("us", "ms"):
        return TimestamptzType() if kind.tz else TimestampType()
    if pa.types.is_time64(kind) and kind.unit == "us":
        return TimeType()
    if pa.types.is_fixed_size_binary(kind):
        return FixedType(kind.byte_width)
    nested = _convert_nested(kind, path, number)
    if nested is None:
        raise IcebergViewError(
            f"column {path}: Iceberg has no type for {kind}",
            hint="change the type with a transform, or remove `iceberg` from the table",
        )
    return nested


def _convert_nested(kind: pa.DataType, path: str, number: _Number) -> IcebergType | None:
    if pa.types.is_struct(kind):
        return StructType(*(_build_field(part, f"{path}.{part.name}", number) for part in kind))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        inner = f"{path}.element"
        return ListType(
            element_id=number(inner),
            element_type=_convert(kind.value_type, inner, number),
            element_required=False,
        )
    if pa.types.is_map(kind):
        key, value = f"{path}.key", f"{path}.value"
        return MapType(
            key_id=number(key),
            key_type=_convert(kind.key_type, key, number),
            value_id=number(value),
            value_type=_convert(kind.item_type, value, number),
            value_required=False,
        )
    return None
