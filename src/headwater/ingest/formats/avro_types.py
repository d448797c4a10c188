"""Maps Avro schemas to Arrow types, and converts values that pyarrow does not accept from fastavro."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pyarrow as pa
from fastavro.types import Schema

from headwater.ingest.formats.arrow_types import write_json

Convert = Callable[[object], object]

_PRIMITIVES = {
    "null": pa.null(),
    "boolean": pa.bool_(),
    "int": pa.int32(),
    "long": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "bytes": pa.binary(),
    "string": pa.string(),
    "fixed": pa.binary(),
    "enum": pa.string(),
}
_LOGICAL = {
    ("int", "date"): pa.date32(),
    ("int", "time-millis"): pa.time32("ms"),
    ("long", "time-micros"): pa.time64("us"),
    ("long", "timestamp-millis"): pa.timestamp("ms", tz="UTC"),
    ("long", "timestamp-micros"): pa.timestamp("us", tz="UTC"),
    ("long", "timestamp-nanos"): pa.timestamp("ns", tz="UTC"),
    ("long", "local-timestamp-nanos"): pa.timestamp("ns"),
    ("long", "local-timestamp-millis"): pa.timestamp("ms"),
    ("long", "local-timestamp-micros"): pa.timestamp("us"),
}
# A union of two numeric types becomes the type that holds both exactly.
_WIDER = {
    frozenset({pa.int32(), pa.int64()}): pa.int64(),
    frozenset({pa.int32(), pa.float32()}): pa.float64(),
    frozenset({pa.int32(), pa.float64()}): pa.float64(),
    frozenset({pa.float32(), pa.float64()}): pa.float64(),
}
_MAX_DIGITS = 38


class UnsupportedAvroError(Exception):
    """Raised for a valid Avro schema whose type no table column can have."""


@dataclass(frozen=True, slots=True)
class AvroColumn:
    """An Arrow type, and a conversion of values (None: not needed)."""

    data_type: pa.DataType
    convert: Convert | None = None


def map_schema(schema: Schema, named: Mapping[str, Schema], path: tuple[str, ...] = ()) -> AvroColumn:
    """Return the column of a parsed schema. `named` resolves names; `path` are the records around it."""
    if isinstance(schema, list):
        return _map_union(schema, named, path)
    if isinstance(schema, str):
        if schema in _PRIMITIVES:
            return AvroColumn(_PRIMITIVES[schema])
        if schema in path:
            raise UnsupportedAvroError(f"record {schema} contains itself")
        return map_schema(named[schema], named, path)
    kind = schema["type"]
    if kind in ("record", "error"):
        return _map_record(schema, named, path)
    if kind == "array":
        return _map_array(map_schema(schema["items"], named, path))
    if kind == "map":
        return _map_map(map_schema(schema["values"], named, path))
    if isinstance(kind, dict | list):
        return map_schema(kind, named, path)
    return _map_leaf(kind, schema)


def _map_leaf(kind: str, schema: Mapping[str, object]) -> AvroColumn:
    logical = schema.get("logicalType")
    if logical == "decimal" and kind in ("bytes", "fixed"):
        precision, scale = schema.get("precision"), schema.get("scale", 0)
        if isinstance(precision, int) and isinstance(scale, int) and precision <= _MAX_DIGITS:
            return AvroColumn(pa.decimal128(precision, scale))
        return AvroColumn(pa.string(), _none_or(lambda value: f"{value:f}"))
    if logical == "uuid" and kind == "string":
        return AvroColumn(pa.string(), _none_or(str))
    return AvroColumn(_LOGICAL.get((kind, str(logical)), _PRIMITIVES[kind]))


def _map_union(branches: list[Schema], named: Mapping[str, Schema], path: tuple[str, ...]) -> AvroColumn:
    columns = [map_schema(branch, named, path) for branch in branches if branch != "null"]
    if not columns:
        return AvroColumn(pa.null())
    if len(columns) == 1:
        return columns[0]
    wider = _WIDER.get(frozenset(column.data_type for column in columns))
    return AvroColumn(wider) if wider is not None else AvroColumn(pa.string(), _none_or(write_json))


def _map_record(
    schema: Mapping[str, object], named: Mapping[str, Schema], path: tuple[str, ...]
) -> AvroColumn:
    inside = (*path, str(schema["name"]))
    fields = schema["fields"]
    assert isinstance(fields, list)  # noqa: S101 - fastavro has parsed it
    columns = {field["name"]: map_schema(field["type"], named, inside) for field in fields}
    converts = {name: column.convert for name, column in columns.items() if column.convert}
    data_type = pa.struct([(name, column.data_type) for name, column in columns.items()])
    if not converts:
        return AvroColumn(data_type)

    def convert(value: object) -> object:
        if not isinstance(value, dict):
            return value
        return value | {name: change(value[name]) for name, change in converts.items()}

    return AvroColumn(data_type, convert)


def _map_array(item: AvroColumn) -> AvroColumn:
    change = item.convert
    if change is None:
        return AvroColumn(pa.list_(item.data_type))
    return AvroColumn(
        pa.list_(item.data_type), lambda v: [change(x) for x in v] if isinstance(v, list) else v
    )


def _map_map(item: AvroColumn) -> AvroColumn:
    change = item.convert or (lambda value: value)
    return AvroColumn(
        pa.map_(pa.string(), item.data_type),
        lambda v: [(key, change(x)) for key, x in v.items()] if isinstance(v, dict) else v,
    )


def _none_or(change: Convert) -> Convert:
    return lambda value: None if value is None else change(value)
