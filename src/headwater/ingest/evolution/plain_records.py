"""Recognizes records with only known names, each once, without an object for each of their values."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import orjson
import pyarrow as pa
from pyarrow import json as arrow_json
from pyarrow import types

_MAX_BYTES = 64 * 1024 * 1024


class PlainRecords:
    """Reads records with Arrow, which fails for a name that is unknown or repeated.

    It also fails for a value of another kind than that of the first record, such as a text among numbers: a
    failure proves nothing.
    """

    def __init__(self, schema: pa.Schema, ignored: Collection[str]) -> None:
        self._schema = schema
        self._ignored = ignored
        self._options: arrow_json.ParseOptions | None = None
        self._is_of_use = not any(_has_map(field.type) for field in schema)

    def stop(self) -> None:
        """Recognize none from now on: records are plain, but of kinds that Arrow does not accept."""
        self._is_of_use = False

    def are_all(self, texts: Sequence[str]) -> bool:
        """True only if all texts are JSON objects that have known names only, each once, and nothing more."""
        if not self._is_of_use or not texts:
            return False
        joined, ends = "\n".join(texts), len(texts) - 1
        if not joined.startswith("{") or joined.count("\n{") != ends or joined.count("\n") != ends:
            return False  # else each line is a text, and has at least one object
        try:
            data = joined.encode()
            if len(data) > _MAX_BYTES:
                return False
            self._options = self._options or self._choose_options(texts[0])
            reading = arrow_json.ReadOptions(use_threads=False, block_size=len(data) + 1)
            rows = arrow_json.read_json(pa.BufferReader(data), reading, self._options).num_rows
        except (pa.ArrowException, UnicodeEncodeError, orjson.JSONDecodeError):
            return False  # proves nothing: the caller reads the records one by one
        return bool(rows == len(texts))

    def _choose_options(self, text: str) -> arrow_json.ParseOptions:
        first = orjson.loads(text)
        known = [
            pa.field(field.name, _choose_kind(field.type, first.get(field.name))) for field in self._schema
        ]
        names = {field.name for field in known}
        others = [
            pa.field(name, _choose_kind(pa.string(), first[name]))
            for name in self._ignored
            if name in first and name not in names
        ]
        return arrow_json.ParseOptions(
            explicit_schema=pa.schema([*known, *others]), unexpected_field_behavior="error"
        )


def _has_map(kind: pa.DataType) -> bool:
    if types.is_struct(kind):
        return any(_has_map(field.type) for field in kind)
    return types.is_map(kind) or (types.is_list(kind) and _has_map(kind.value_type))


def _choose_kind(kind: pa.DataType, value: Any) -> pa.DataType:
    """Return the type for a column whose first value is this one, or null."""
    if types.is_struct(kind):
        found: Mapping[str, Any] = value if isinstance(value, dict) else {}
        return pa.struct(
            [pa.field(field.name, _choose_kind(field.type, found.get(field.name))) for field in kind]
        )
    if types.is_list(kind):
        items = [item for item in value if item is not None] if isinstance(value, list) else []
        return pa.list_(_choose_kind(kind.value_type, items[0] if items else None))
    if isinstance(value, bool) or (value is None and types.is_boolean(kind)):
        return pa.bool_()
    is_number = types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)
    if isinstance(value, int | float) or (value is None and is_number):
        return pa.float64()
    return pa.string()
