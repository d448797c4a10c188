"""Decodes VECTOR columns, which hudi-rs returns as bytes, to lists of numbers. Pure pyarrow."""

import json
from collections.abc import Mapping

import pyarrow as pa

HUDI_TYPE = b"hudi_type"
_BLOB_FIELDS = ["type", "data", "reference"]
_ELEMENTS = {"FLOAT": pa.float32(), "DOUBLE": pa.float64(), "INT8": pa.int8()}


def may_have_types(schema: pa.Schema) -> bool:
    """True if the schema may hide logical types, so that Hudi's own schema, an extra read, is needed."""
    return any(
        pa.types.is_fixed_size_binary(field.type)
        or (pa.types.is_struct(field.type) and [inner.name for inner in field.type] == _BLOB_FIELDS)
        for field in schema
    )


def find_logical_types(avro_schema: str) -> Mapping[str, str]:
    """Return Hudi's logical types by column from a table's Avro schema in JSON, in Hudi's notation."""
    found = {}
    for field in json.loads(avro_schema).get("fields", ()):
        kinds = field["type"] if isinstance(field["type"], list) else [field["type"]]
        for kind in (kind for kind in kinds if isinstance(kind, dict)):
            if kind.get("logicalType") == "vector":
                element = kind.get("elementType", "FLOAT")
                more = "" if element == "FLOAT" else f", {element}"
                found[field["name"]] = f"VECTOR({kind['dimension']}{more})"
            elif kind.get("logicalType") == "blob":
                found[field["name"]] = "BLOB"
    return found


def describe_schema(schema: pa.Schema, types: Mapping[str, str]) -> pa.Schema:
    """Return the schema of the decoded columns, with Hudi's type in the field metadata."""
    return pa.schema([_describe_field(field, types.get(field.name)) for field in schema])


def _describe_field(field: pa.Field, hudi_type: str | None) -> pa.Field:
    if hudi_type is None:
        return field
    element = _find_element(hudi_type)
    kind = pa.list_(element) if element and pa.types.is_fixed_size_binary(field.type) else field.type
    return pa.field(field.name, kind, field.nullable, {HUDI_TYPE: hudi_type.encode()})


def _find_element(hudi_type: str) -> pa.DataType | None:
    if not hudi_type.startswith("VECTOR("):
        return None
    _, comma, element = hudi_type.rstrip(")").partition(",")
    return _ELEMENTS[element.strip() if comma else "FLOAT"]


def name_logical_type(field: pa.Field) -> str | None:
    """Return the logical type of a field of `describe_schema`, such as `vector(384)`, or None."""
    text = (field.metadata or {}).get(HUDI_TYPE)
    return text.decode().lower() if text else None


def decode_batch(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Decode the vectors of a batch to the types in `schema`, which comes from `describe_schema`."""
    encoded = [
        at
        for at, field in enumerate(batch.schema)
        if pa.types.is_fixed_size_binary(field.type) and pa.types.is_list(schema.field(field.name).type)
    ]
    for at in encoded:
        field = schema.field(batch.schema.field(at).name)
        batch = batch.set_column(at, field, _decode(batch.column(at), field.type))
    return batch


def _decode(array: pa.Array, target: pa.ListType) -> pa.Array:
    """Reinterpret the bytes: Hudi writes packed little-endian numbers, like Arrow."""
    size = array.type.byte_width // (target.value_type.bit_width // 8)
    count = (array.offset + len(array)) * size
    numbers = pa.Array.from_buffers(target.value_type, count, [None, array.buffers()[1]])
    lists = pa.FixedSizeListArray.from_arrays(
        numbers.slice(array.offset * size), size, mask=array.is_null() if array.null_count else None
    )
    return lists.cast(target)
