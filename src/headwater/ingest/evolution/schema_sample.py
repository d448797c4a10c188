"""An executor's report of an object's columns that differ from the table's: text in its outcome."""

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa
from pyarrow import types

from headwater.ingest.formats.arrow_types import unify_columns


@dataclass(frozen=True, slots=True)
class SchemaSample:
    """Either the columns of an object with its own types, or records to infer them from.

    `names` are those of the records' fields, if the object names them and not each record (CSV).
    """

    columns: pa.Schema | None = None
    names: tuple[str, ...] | None = None
    records: tuple[str, ...] = ()

    def to_text(self) -> str:
        """Return the text for the outcome."""
        if self.columns is not None:
            return json.dumps({"columns": base64.b64encode(self.columns.serialize()).decode()})
        return json.dumps({"names": self.names, "records": self.records})


def parse_schema_sample(text: str) -> SchemaSample:
    """Parse the result of `SchemaSample.to_text`."""
    found = json.loads(text)
    if "columns" in found:
        return SchemaSample(pa.ipc.read_schema(pa.py_buffer(base64.b64decode(found["columns"]))))
    names = found["names"]
    return SchemaSample(None, None if names is None else tuple(names), tuple(found["records"]))


def merge_samples(first: SchemaSample | None, second: SchemaSample | None) -> SchemaSample | None:
    """Return the sample of an object of two parts.

    If the parts name their columns differently, it is that of the first: the next read samples the second.
    """
    if first is None or second is None:
        return first or second
    if first.columns is not None and second.columns is not None:
        return SchemaSample(unify_columns([first.columns, second.columns]))
    return replace(first, records=first.records + second.records) if first.names == second.names else first


def is_other(
    found: pa.Schema, known: pa.Schema, ignored: Sequence[str] = (), *, names_only: bool = False
) -> bool:
    """True if an object has columns that the table lacks or has with another type.

    A column that only the table has does not count. With `names_only` types do not count.
    """
    return _has_others([f for f in found if f.name not in ignored], list(known), names_only)


def _has_others(found: Sequence[pa.Field], known: Sequence[pa.Field], names_only: bool) -> bool:
    kinds = {field.name.lower(): field.type for field in known}
    return any(
        (kind := kinds.get(field.name.lower())) is None or _is_other_type(field.type, kind, names_only)
        for field in found
    )


def _is_other_type(found: pa.DataType, known: pa.DataType, names_only: bool) -> bool:
    if types.is_struct(found) and types.is_struct(known):
        return _has_others(list(found), list(known), names_only)
    if types.is_list(found) and types.is_list(known):
        return _is_other_type(found.value_type, known.value_type, names_only)
    if types.is_map(found) and types.is_map(known):
        return _is_other_type(found.item_type, known.item_type, names_only)
    if names_only or (types.is_timestamp(found) and types.is_timestamp(known)):
        return False
    return bool(found != known)
