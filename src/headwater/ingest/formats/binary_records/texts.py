"""Writes decoded records as JSON, from which Spark parses exactly their values."""

import json
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone

import pyarrow as pa
from pyarrow import types

from headwater.errors import ObjectSchemaError
from headwater.ingest.formats.arrow_types import conform_table, to_spark_schema
from headwater.ingest.formats.binary_records.faults import RecordFaultError

_Write = Callable[[object], object]


class RecordWriter:
    """Writes records with these columns, by the names and in the types of a table."""

    def __init__(self, columns: pa.Schema) -> None:
        self._given = columns
        self._stored = to_spark_schema(columns)
        self._writes = [_choose(field.type) for field in self._stored]

    def write(self, records: Sequence[Mapping[str, object]]) -> list[str]:
        """Return the texts. Raises RecordFaultError if a value of any record has no place in its column."""
        try:
            arrays = [pa.array([record.get(f.name) for record in records], f.type) for f in self._given]
            table = pa.table(arrays, schema=self._given)
            stored, _, _ = conform_table("the record", table, self._stored)
            lists = [
                [None if value is None else write(value) for value in column.to_pylist()]
                for column, write in zip(stored.columns, self._writes, strict=True)
            ]
        except (pa.ArrowException, ObjectSchemaError, ValueError, TypeError, OverflowError) as error:
            raise RecordFaultError(f"{type(error).__name__}: {error}") from error
        names = self._stored.names
        return [json.dumps(dict(zip(names, values, strict=True))) for values in zip(*lists, strict=True)]


def _choose(kind: pa.DataType) -> _Write:
    """Return what makes JSON of a value, which is not null."""
    if types.is_struct(kind):
        inner = {field.name: _or_none(_choose(field.type)) for field in kind}
        return lambda value: {name: inner[name](item) for name, item in value.items()}  # type: ignore[attr-defined]
    if types.is_list(kind):
        item = _or_none(_choose(kind.value_type))
        return lambda value: list(map(item, value))  # type: ignore[call-overload]
    if types.is_map(kind):
        held = _or_none(_choose(kind.item_type))
        return lambda value: {key: held(item) for key, item in value}  # type: ignore[attr-defined]
    if types.is_binary(kind):
        return lambda value: b64encode(value).decode()  # type: ignore[arg-type]
    if types.is_timestamp(kind):
        return _write_time
    return str if types.is_decimal(kind) or types.is_date(kind) else lambda value: value


def _or_none(write: _Write) -> _Write:
    return lambda value: None if value is None else write(value)


def _write_time(value: object) -> object:
    assert isinstance(value, datetime)  # noqa: S101 - a column of timestamps
    # A time without a zone is an instant in UTC, as in Avro containers.
    return (value if value.tzinfo else value.replace(tzinfo=timezone.utc)).isoformat()
