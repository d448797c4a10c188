"""Converts columns with an object's types to a table's types. Pure pyarrow."""

import json
from base64 import b64encode
from collections.abc import Sequence
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import types

from headwater.errors import ObjectSchemaError


def to_spark_schema(schema: pa.Schema) -> pa.Schema:
    """Return the nearest Spark types and unambiguous names.

    Of names that differ only in case, a later one gets its position as suffix.
    """
    return pa.schema(list(_to_spark_type(pa.struct(list(schema)))) if len(schema) else [])


def unify_columns(schemas: Sequence[pa.Schema]) -> pa.Schema:
    """Return all columns of at least one schema, with the first type seen, widened if a later one is wider.

    Types that have nothing in common do not change it.
    """
    fields: dict[str, pa.Field] = {}
    for field in (field for schema in schemas for field in schema):
        known = fields.setdefault(field.name.lower(), field)
        try:
            wider = pa.unify_schemas(
                [pa.schema([known]), pa.schema([field.with_name(known.name)])], promote_options="permissive"
            ).field(0)
        except pa.ArrowException:
            continue
        if _takes(wider.type, known.type) and _takes(wider.type, field.type):
            fields[field.name.lower()] = wider
    return pa.schema(list(fields.values()))


def _takes(target: pa.DataType, source: pa.DataType) -> bool:
    return bool(types.is_nested(target)) or source == target or _is_castable(source, target)


def conform_table(
    uri: str, table: pa.Table, target: pa.Schema, misfits: list[str] | None = None
) -> tuple[pa.RecordBatch, tuple[str, ...], tuple[str, ...]]:
    """Return the target's columns in order with exactly its types, then the dropped and null-filled names.

    Columns are found by name, in any case if the exact name is absent. Numbers are widened, and narrowed if
    every value fits. A column that does not fit raises ObjectSchemaError with its name and both types. With
    `misfits` its name is added to them instead, and it is filled with nulls.
    """
    exact, folded = _index_names(table.column_names)
    arrays, missing, used = [], [], set()
    for field in target:
        index = exact.get(field.name, folded.get(field.name.lower()))
        if index is None:
            arrays.append(pa.nulls(table.num_rows, field.type))
            missing.append(field.name)
            continue
        used.add(index)
        try:
            arrays.append(_conform(_combine(table.column(index)), field.type))
        except (pa.ArrowException, _IncompatibleError) as error:
            if misfits is not None:
                misfits.append(table.column_names[index])
                arrays.append(pa.nulls(table.num_rows, field.type))
                continue
            found = table.schema.field(index).type
            why = f": {error}" if str(error) else ""
            raise ObjectSchemaError(
                f"column {field.name} of {uri} has type {found}; the table's type is {field.type}{why}",
                hint="change the table's `schema` or `schema_hints`, or exclude such objects with `path`",
            ) from error
    dropped = tuple(name for index, name in enumerate(table.column_names) if index not in used)
    return pa.RecordBatch.from_arrays(arrays, schema=target.remove_metadata()), dropped, tuple(missing)


class _IncompatibleError(Exception):
    """Raised for types that are incompatible whatever the values."""


def _index_names(names: Sequence[str]) -> tuple[dict[str, int], dict[str, int]]:
    pairs = [*enumerate(_make_unique(names)), *enumerate(names)][::-1]
    # Exact names take precedence: of two that differ only in case, each has its own column.
    exact = {name: index for index, name in pairs} | _first_indexes(names)
    return exact, {name.lower(): index for index, name in pairs}


def _first_indexes(names: Sequence[str]) -> dict[str, int]:
    return {name: index for index, name in reversed(list(enumerate(names)))}


def _make_unique(names: Sequence[str]) -> list[str]:
    """Return the names with the position as suffix where they differ only in case."""
    taken = {name.lower() for name in names}
    seen: set[str] = set()
    found = []
    for index, name in enumerate(names):
        unique = name
        while unique.lower() in seen or (unique != name and unique.lower() in taken):
            unique = f"{unique}_{index}"
        seen.add(unique.lower())
        found.append(unique)
    return found


def _combine(column: pa.ChunkedArray) -> pa.Array:
    combined = column.combine_chunks()
    return pa.concat_arrays(combined.chunks) if isinstance(combined, pa.ChunkedArray) else combined


def _conform(array: pa.Array, target: pa.DataType) -> pa.Array:
    source = array.type
    if source == target:
        return array
    if types.is_null(source):
        return pa.nulls(len(array), target)
    if (plain := _unwrap(array)) is not array:
        return _conform(plain, target)
    if types.is_struct(target):
        return _conform_struct(array, target)
    if types.is_list(target) and (types.is_list(source) or types.is_large_list(source)):
        return _conform_list(array, target)
    if types.is_map(target) and types.is_map(source):
        keys, items = _conform_keys(array.keys, target.key_type), _conform(array.items, target.item_type)
        return pa.MapArray.from_arrays(_mask_offsets(array), keys, items, type=target)
    if types.is_string(target) and (texts := _write_texts(array)) is not None:
        return texts
    if not _is_castable(source, target):
        raise _IncompatibleError
    # Nanoseconds are truncated: neither Spark nor Hudi has them. A cast would round times before 1970 up.
    if types.is_timestamp(source) and source.unit == "ns":
        array = pc.floor_temporal(array, unit="microsecond")
    return pc.cast(array, options=pc.CastOptions(target, allow_time_truncate=types.is_temporal(source)))


def _conform_keys(keys: pa.Array, target: pa.DataType) -> pa.Array:
    """Convert keys to text, because Hudi's maps have no others. Nested keys are JSON, binary ones base64."""
    if not types.is_string(target) or _is_text(keys.type) or types.is_dictionary(keys.type):
        return _conform(keys, target)
    if (texts := _write_texts(keys)) is not None:
        return texts
    if types.is_nested(keys.type):
        return _write_json(keys, (",", ":"))
    if _is_bytes(keys.type):
        return pa.array([b64encode(key).decode() for key in keys.to_pylist()], pa.string())
    return pc.cast(keys, pa.string())


def _unwrap(array: pa.Array) -> pa.Array:
    """Return the same values in a type that Spark supports; the array itself if it needs no unwrapping."""
    if types.is_dictionary(array.type):
        return array.dictionary_decode()
    if isinstance(array.type, pa.BaseExtensionType):
        return array.storage
    if types.is_run_end_encoded(array.type):
        return pc.run_end_decode(array)
    if types.is_fixed_size_list(array.type):
        return _to_lists(array)
    if types.is_list_view(array.type) or types.is_large_list_view(array.type):
        return pa.array(array.to_pylist(), pa.list_(array.type.value_type))
    return array


def _write_texts(array: pa.Array) -> pa.Array | None:
    """Return the texts of values whose type no table has; None for other types."""
    kind = array.type
    if types.is_time(kind) or (types.is_decimal(kind) and kind.precision > _MAX_DIGITS):
        return pc.cast(array, pa.string())
    if types.is_duration(kind):
        counts = pc.cast(array, pa.int64()).to_pylist()
        return pa.array([None if n is None else _write_duration(n, kind.unit) for n in counts], pa.string())
    is_empty = types.is_struct(kind) and not kind.num_fields
    if is_empty or types.is_union(kind) or types.is_interval(kind):
        return _write_json(array)
    return None


def _write_json(array: pa.Array, separators: tuple[str, str] = (", ", ": ")) -> pa.Array:
    found = [None if value is None else write_json(value, separators) for value in array.to_pylist()]
    return pa.array(found, pa.string())


def write_json(value: object, separators: tuple[str, str] = (", ", ": ")) -> str:
    """Return JSON of a value that no column type holds: bytes as base64, times and decimals as text."""
    return json.dumps(value, default=_write_value, separators=separators)


def _write_value(value: object) -> str:
    return b64encode(value).decode() if isinstance(value, bytes) else str(value)


def _write_duration(count: int, unit: str) -> str:
    """Return ISO 8601, in seconds: `PT-1.5S`."""
    seconds = Decimal(count).scaleb(-{"s": 0, "ms": 3, "us": 6, "ns": 9}[unit])
    return f"PT{seconds:f}S"


def _to_lists(array: pa.FixedSizeListArray) -> pa.ListArray:
    """Convert to lists of any size; null lists, which have values in the array, get none."""
    sizes = pc.multiply(pc.cast(array.is_valid(), pa.int32()), pa.scalar(array.type.list_size, pa.int32()))
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), pc.cumulative_sum(sizes)])
    return pa.ListArray.from_arrays(offsets, array.flatten(), mask=array.is_null())


def _conform_struct(array: pa.Array, target: pa.StructType) -> pa.Array:
    if not types.is_struct(array.type):
        raise _IncompatibleError
    exact, folded = _index_names([field.name for field in array.type])
    children = []
    for field in target:
        index = exact.get(field.name, folded.get(field.name.lower()))
        child = (
            pa.nulls(len(array), field.type) if index is None else _conform(array.field(index), field.type)
        )
        children.append(child)
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays(children, fields=list(target), mask=mask)


def _conform_list(array: pa.Array, target: pa.ListType) -> pa.Array:
    offsets = _mask_offsets(array)
    if types.is_large_list(array.type):
        offsets = pc.cast(offsets, pa.int32())
    return pa.ListArray.from_arrays(offsets, _conform(array.values, target.value_type), type=target)


def _mask_offsets(array: pa.Array) -> pa.Array:
    """Return offsets with null for null lists, as `from_arrays` expects."""
    if not array.null_count:
        return array.offsets
    is_valid = pa.concat_arrays([array.is_valid(), pa.array([True])])
    return pc.if_else(is_valid, array.offsets, pa.scalar(None, array.offsets.type))


def _is_castable(source: pa.DataType, target: pa.DataType) -> bool:
    if types.is_integer(target):
        # The cast itself checks narrowing value by value.
        allowed = types.is_integer(source) or types.is_time(source) or types.is_duration(source)
    elif types.is_floating(target):
        # The cast fails for a whole number that the float cannot hold exactly.
        allowed = types.is_integer(source) or (
            types.is_floating(source) and source.bit_width <= target.bit_width
        )
    elif types.is_decimal(target):
        allowed = types.is_decimal(source) or types.is_integer(source)
    elif types.is_timestamp(target):
        allowed = types.is_timestamp(source) or types.is_date(source)
    elif types.is_date(target):
        allowed = types.is_date(source)
    else:
        # Old writers omit the "text" annotation in Parquet; the cast fails for bytes that are not UTF-8.
        is_target = _is_text(target) or _is_bytes(target)
        allowed = is_target and (_is_text(source) or _is_bytes(source))
    return bool(allowed)


def _is_text(data_type: pa.DataType) -> bool:
    return bool(
        types.is_string(data_type) or types.is_large_string(data_type) or types.is_string_view(data_type)
    )


def _is_bytes(data_type: pa.DataType) -> bool:
    return bool(
        types.is_binary(data_type)
        or types.is_large_binary(data_type)
        or types.is_fixed_size_binary(data_type)
        or types.is_binary_view(data_type)
    )


_MAX_DIGITS = 38
_LISTS = (
    types.is_list,
    types.is_large_list,
    types.is_fixed_size_list,
    types.is_list_view,
    types.is_large_list_view,
)
_UNSIGNED = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
}


def _to_spark_type(data_type: pa.DataType) -> pa.DataType:
    if types.is_dictionary(data_type):
        return _to_spark_type(data_type.value_type)
    if isinstance(data_type, pa.BaseExtensionType):
        return _to_spark_type(data_type.storage_type)
    if types.is_run_end_encoded(data_type):
        return _to_spark_type(data_type.value_type)
    if types.is_struct(data_type) and data_type.num_fields:
        names = _make_unique([f.name for f in data_type])
        pairs = zip(names, data_type, strict=True)
        return pa.struct([pa.field(name, _to_spark_type(f.type)) for name, f in pairs])
    if any(is_kind(data_type) for is_kind in _LISTS):
        return pa.list_(_to_spark_type(data_type.value_type))
    if types.is_map(data_type):
        # Hudi stores only text keys.
        return pa.map_(pa.string(), _to_spark_type(data_type.item_type))
    return _to_spark_leaf(data_type)


def _to_spark_leaf(data_type: pa.DataType) -> pa.DataType:
    if types.is_timestamp(data_type):
        return pa.timestamp("us", tz="UTC" if data_type.tz else None)
    if types.is_date(data_type):
        return pa.date32()
    if types.is_decimal(data_type):
        # A negative scale means zeros at the end.
        digits, scale = data_type.precision - min(0, data_type.scale), max(0, data_type.scale)
        return pa.decimal128(digits, scale) if digits <= _MAX_DIGITS else pa.string()
    if _is_bytes(data_type):
        return pa.binary()
    if types.is_float16(data_type):
        return pa.float32()
    if types.is_boolean(data_type) or types.is_integer(data_type) or types.is_floating(data_type):
        return _UNSIGNED.get(data_type, data_type)
    # Texts, times of day, durations, and all other types.
    return pa.string()
