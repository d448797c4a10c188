"""Vectors as hudi-rs gives them become the numbers that were written."""

import json

import numpy as np
import pyarrow as pa
import pytest

from headwater.lake.logical_types.decoding import (
    decode_batch,
    describe_schema,
    find_logical_types,
    name_logical_type,
)


def avro_field(name, **kind):
    return {"name": name, "type": ["null", {"type": "fixed", "name": "f", **kind}], "default": None}


AVRO = json.dumps(
    {
        "type": "record",
        "name": "r",
        "fields": [
            {"name": "id", "type": "string"},
            avro_field("e", size=12, logicalType="vector", dimension=3, elementType="FLOAT"),
            avro_field("d", size=16, logicalType="vector", dimension=2, elementType="DOUBLE"),
            avro_field("key", size=16),
            {"name": "b", "type": ["null", {"type": "record", "fields": [], "logicalType": "blob"}]},
        ],
    }
)
TYPES = {"e": "VECTOR(3)", "d": "VECTOR(2, DOUBLE)", "b": "BLOB"}


def test_types_are_found_in_the_schema_that_hudi_keeps():
    assert find_logical_types(AVRO) == TYPES


@pytest.mark.parametrize(("kind", "size"), [(np.float32, 3), (np.float64, 2)])
def test_vectors_come_back_as_they_were_written(kind, size):
    numbers = np.random.default_rng(1).standard_normal((5, size)).astype(kind)
    raw = pa.array([None if at == 1 else row.tobytes() for at, row in enumerate(numbers)])
    raw = raw.cast(pa.binary(size * numbers.itemsize)) if raw.type != pa.binary(12) else raw
    name = "e" if kind == np.float32 else "d"
    batch = pa.record_batch({"id": list("abcde"), name: raw})
    schema = describe_schema(batch.schema, TYPES)
    # Slices begin in the middle of their buffers.
    for found, rows in ((batch, numbers), (batch.slice(2), numbers[2:])):
        decoded = decode_batch(found, schema)
        expected = [row.tolist() for row in rows]
        if len(found) == 5:
            expected[1] = None
        assert decoded.column(name).to_pylist() == expected
        assert decoded.schema.field(name).type == pa.list_(pa.from_numpy_dtype(kind))
        assert decoded.column("id").to_pylist() == found.column("id").to_pylist()
    assert name_logical_type(schema.field(name)) == TYPES[name].lower()
    assert name_logical_type(schema.field("id")) is None


def test_other_fixed_bytes_stay_bytes():
    batch = pa.record_batch({"key": pa.array([b"0123456789abcdef"], pa.binary(16))})
    assert decode_batch(batch, describe_schema(batch.schema, TYPES)).equals(batch)
